// All runs: what needs a person first, then what is at work, then what has ended. Counts are filters.

import { h, fill, button } from "./dom.js";
import { get, post } from "./api.js";
import { listen } from "./stream.js";
import { say, trying } from "./dialogs.js";
import { age, cost, count, exact, took } from "./format.js";
import { use } from "./keys.js";
import { ROW, look } from "./model.js";
import { go } from "./place.js";
import { stateCell, stateOf, mark } from "./states.js";
import { callWords } from "./actions.js";
import { firstLine } from "./run.js";

const STRIP = 18;
const DAY_S = 86400;
const GROUPS = [["needs", "Needs you", (run) => run.needs], ["working", "Working", (run) => !run.needs && run.is_at_work], ["ended", "Ended", (run) => !run.needs && !run.is_at_work]];
const HIGH = { model: 6, handover: 5, tool: 11, command: 11, end: 7, error: 15, approval: 14, question: 14, answer: 8, start: 4 };

export class RunsScreen {
  constructor() {
    this.node = h("main", { class: "screen runs" });
    this.runs = new Map();
    this.strips = new Map();
    this.now = new Map();
    this.filter = "";
    this.group = null;
    this.span = "all";
    this.selected = 0;
    this.marked = null;
  }

  async open() {
    this.search = h("input", { type: "search", placeholder: "Filter: word, state:failure agent:tester cost:>1", "aria-label": "Filter", oninput: () => ((this.filter = this.search.value), this.paint()) });
    this.counts = h("div", { class: "counts" });
    this.list = h("div", { class: "panel run-list", role: "grid", "aria-label": "Runs" });
    const spans = h("select", { "aria-label": "Time", onchange: (event) => ((this.span = event.target.value), this.paint()) }, [["all", "any time"], ["3600", "last hour"], ["86400", "24 hours"], ["604800", "7 days"]].map(([value, label]) => h("option", { value }, label)));
    fill(this.node, h("header", { class: "runs-head" }, this.counts, h("label", { class: "search" }, this.search, h("kbd", null, "/")), spans), this.list);
    this.keys();
    this.unlisten = listen((event) => this.heard(event));
    await this.load();
    this.ticking = setInterval(() => this.tick(), 1000);
  }

  close() {
    this.unlisten?.();
    clearInterval(this.ticking);
  }

  async load() {
    const { runs, damaged } = await get("runs");
    this.damaged = damaged;
    this.runs = new Map(runs.map((run) => [run.run, run]));
    this.paint();
    performance.mark("rawko-rows");
    for (const run of this.shown().slice(0, 40)) await this.loadStrip(run.run).catch(() => {});
  }

  async loadStrip(run) {
    if (this.strips.has(run)) return;
    const { rows } = await get(`runs/${run}/steps?last=60`);
    this.strips.set(run, rows);
    this.paintStrip(run);
  }

  paintStrip(run) {
    const spot = this.list.querySelector(`[data-run="${CSS.escape(run)}"] .spark`);
    if (!spot) return;
    const rows = (this.strips.get(run) ?? []).filter((row) => !["plumbing", "snapshot"].includes(row[ROW.kind])).slice(-STRIP);
    fill(spot, rows.map((row) => h("i", { class: look(row), style: { height: (row[ROW.isError] ? 15 : HIGH[row[ROW.kind]] ?? 8) + "px" } })));
    const agent = this.list.querySelector(`[data-run="${CSS.escape(run)}"] .agent`);
    const last = [...rows].reverse().find((row) => row[ROW.agent]);
    if (agent && last) fill(agent, last[ROW.agent]);
    const doing = this.list.querySelector(`[data-run="${CSS.escape(run)}"] .doing`);
    const view = this.runs.get(run);
    if (doing && view?.is_at_work && last) fill(doing, last[ROW.words], " · ", age(Date.now() / 1000 - (view.started + last[ROW.seconds])));
  }

  // ---------------------------------------------------------------- filter

  shown() {
    const now = Date.now() / 1000;
    const words = this.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const group = GROUPS.find(([id]) => id === this.group);
    return [...this.runs.values()].filter((run) => (!group || group[2](run)) && (this.span === "all" || now - (run.ended ?? now) < Number(this.span)) && words.every((word) => fits(run, word)));
  }

  paint() {
    const all = [...this.runs.values()];
    const now = Date.now() / 1000;
    const today = all.filter((run) => now - (run.ended ?? 0) < DAY_S);
    const spent = today.filter((run) => run.cost_usd !== null);
    const counted = (id, number, words, kind = "") => h("button", { type: "button", class: "count " + kind, "aria-pressed": String(this.group === id), onclick: () => ((this.group = this.group === id ? null : id), this.paint()) }, h("b", null, number), " ", words);
    fill(
      this.counts,
      counted("needs", all.filter(GROUPS[0][2]).length, "need you", "approval"),
      counted("working", all.filter(GROUPS[1][2]).length, "working", "working"),
      counted("ended", all.filter(GROUPS[2][2]).length, "ended"),
      h("span", { class: "count" }, h("b", null, spent.length ? cost(spent.reduce((sum, run) => sum + run.cost_usd, 0), 2) : "–"), " today"),
      h("span", { class: "count" }, h("b", null, count(today.reduce((sum, run) => sum + tokensOf(run), 0))), " tokens"),
    );
    if (!all.length) return this.empty();
    const shown = this.shown();
    this.order = [];
    const sections = GROUPS.map(([id, title, test]) => {
      const runs = shown.filter(test);
      if (id === "needs") runs.sort((a, b) => (a.ended ?? 0) - (b.ended ?? 0));
      if (!runs.length) return null;
      this.order.push(...runs);
      return [h("div", { class: "group", role: "row" }, mark({ needs: "approval", working: "working", ended: "success" }[id]), h("b", null, title), h("span", { class: "badge" }, String(runs.length)), id === "needs" ? h("span", { class: "muted" }, "longest first") : id === "ended" ? h("span", { class: "muted" }, ended(runs)) : null), runs.map((run) => this.row(run))];
    });
    const heads = ["state", "task", "agent", "last steps", "age", "duration", "steps", "tokens", "cost", "files", ""];
    fill(this.list, h("div", { class: "run-row headings", role: "row" }, heads.map((text) => h("span", { role: "columnheader" }, text))), sections, shown.length ? null : h("p", { class: "empty" }, "No run fits the filter."), (this.damaged ?? []).map((text) => h("p", { class: "warning" }, "not listed: ", text)));
    for (const run of this.strips.keys()) this.paintStrip(run);
    this.select(this.selected, false);
    document.title = all.some(GROUPS[0][2]) ? `(${all.filter(GROUPS[0][2]).length}) rawko` : "rawko";
    return null;
  }

  row(run) {
    const { needs } = run;
    const isMarked = this.marked === run.run;
    return h(
      "div",
      { class: needs ? "run-row tall" : "run-row", role: "row", data: { run: run.run }, onclick: (event) => event.target.closest("button, a") || go("/runs/" + run.run) },
      h("span", { role: "gridcell" }, stateCell(run)),
      h("span", { class: "task", role: "gridcell" }, h("a", { href: "#/runs/" + run.run, class: "name" }, isMarked ? "◆ " : "", firstLine(run.task)), needs ? h("span", { class: "sub" }, needs.call ? callWords(needs.call) : `“${firstLine(needs.text)}”`) : null),
      h("span", { class: "agent", role: "gridcell" }, run.agent ?? ""),
      h("span", { class: "spark", role: "gridcell", "aria-label": "last steps" }),
      h("span", { role: "gridcell", class: "age" }, age(run.started === null ? null : Date.now() / 1000 - run.started)),
      h("span", { role: "gridcell" }, took(run.duration_s) || "–"),
      h("span", { role: "gridcell" }, exact(run.steps)),
      h("span", { role: "gridcell" }, count(tokensOf(run))),
      h("span", { role: "gridcell" }, cost(run.cost_usd)),
      h("span", { role: "gridcell" }, run.files.length || "–"),
      h("span", { class: "end", role: "gridcell" }, needs?.kind === "approval" ? h("span", { class: "buttons" }, button("Approve", "A", () => this.approve(run)), button("Review", "↵", () => go("/runs/" + run.run))) : needs ? button("Answer", "↵", () => go("/runs/" + run.run)) : h("span", { class: "doing muted" }, run.run.slice(-7))),
    );
  }

  empty() {
    return fill(this.list, h("div", { class: "gone" }, h("h1", null, "No runs in this folder yet"), h("p", null, "Begin one here: ", h("code", null, 'rawko run "Write fizzbuzz with a test"')), h("p", null, "Or see what a run looks like, without a model or a key: ", h("code", null, "make demo"))));
  }

  async approve(run) {
    await trying(async () => {
      const told = await post(`runs/${run.run}/approve`, { text: "once", asked: run.needs.number });
      say(told.words, !told.is_taken);
    });
  }

  // ---------------------------------------------------------------- news and keys

  heard(event) {
    if (event.type === "reset") return void this.load();
    if (event.type === "run") {
      this.runs.set(event.run, event.view);
      this.paint();
      this.loadStrip(event.run).catch(() => {});
    }
    if (event.type === "gone" && this.runs.delete(event.run)) this.paint();
    if (event.type === "steps" && this.strips.has(event.run)) {
      const rows = this.strips.get(event.run);
      rows.push(...event.rows);
      this.strips.set(event.run, rows.slice(-200));
      this.paintStrip(event.run);
    }
    return null;
  }

  tick() {
    const now = Date.now() / 1000;
    for (const [id, run] of this.runs) {
      const spot = this.list.querySelector(`[data-run="${CSS.escape(id)}"] .age`);
      if (spot && run.started !== null) spot.textContent = age(now - run.started);
      if (run.is_at_work) this.paintStrip(id);
    }
  }

  select(place, isByHand = true) {
    const rows = [...this.list.querySelectorAll(".run-row[data-run]")];
    this.selected = Math.min(Math.max(place, 0), Math.max(rows.length - 1, 0));
    rows.forEach((row, n) => row.classList.toggle("selected", n === this.selected));
    if (isByHand) rows[this.selected]?.scrollIntoView({ block: "nearest" });
  }

  current() {
    return this.order?.[this.selected];
  }

  keys() {
    const open = () => this.current() && go("/runs/" + this.current().run);
    use([
      [["J", "↓"], "move", () => this.select(this.selected + 1)],
      [["K", "↑"], "move up", () => this.select(this.selected - 1)],
      [["↵"], "open", open],
      [["A"], "approve", () => this.current()?.needs?.kind === "approval" && this.approve(this.current()), true],
      [["V"], "mark", () => ((this.marked = this.current()?.run ?? null), this.paint())],
      [["C"], "compare with marked", () => this.current() && go(`/compare/${this.marked ?? ""}/${this.current().run}`.replace("//", "/"))],
      [["/"], "filter", () => this.search.focus()],
      [["N"], "next that needs you", () => go("/runs/" + ([...this.runs.values()].find(GROUPS[0][2])?.run ?? ""))],
    ]);
  }
}

function tokensOf(run) {
  const { input_tokens: a, output_tokens: b, cache_read_tokens: c, cache_write_tokens: d } = run.usage;
  return a + b + c + d;
}

function ended(runs) {
  const found = new Map();
  for (const run of runs) found.set(run.outcome, (found.get(run.outcome) ?? 0) + 1);
  return [...found].map(([name, number]) => `${number} ${name}`).join(", ");
}

// One word of the filter: plain text, or `state:`, `agent:`, `cost:>N`, `tokens:>N`, `steps:>N`.
function fits(run, word) {
  const [, name, sign, text] = /^(state|agent|cost|tokens|steps):([<>]?)(.*)$/.exec(word) ?? [];
  if (!name) return `${run.task} ${run.run} ${run.outcome}`.toLowerCase().includes(word);
  if (name === "state") return `${stateOf(run)} ${run.outcome}`.includes(text);
  if (name === "agent") return `${run.agent ?? ""} ${run.needs?.agent ?? ""}`.toLowerCase().includes(text);
  const value = { cost: run.cost_usd, tokens: tokensOf(run), steps: run.steps }[name];
  return value !== null && (sign === "<" ? value < Number(text) : value > Number(text));
}
