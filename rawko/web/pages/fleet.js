// All runs of a fleet: what needs a person first, then what is dead, at work, queued, ended; queues and workers above.
// The list holds the first rows of each state and asks for more; what changes comes over the stream, row by row.

import { h, fill, button } from "./dom.js";
import { get, post } from "./api.js";
import { listen } from "./stream.js";
import { askPerson, say, trying } from "./dialogs.js";
import { askBudget } from "./budget.js";
import { age, cost, count, exact } from "./format.js";
import { use } from "./keys.js";
import { go } from "./place.js";
import { mark, stateCell } from "./states.js";

export const showsFleet = document.documentElement.dataset.shows === "fleet";
const SECTIONS = [["waiting", "Needs you", "approval", "longest first"], ["dead", "Dead letters", "dead", "latest first"], ["running", "Running", "working", ""], ["queued", "Queued", "queued", "longest first"], ["ended", "Ended", "success", "latest first"]];
const UP = new Set(["waiting", "queued"]);
const TYPING_MS = 250;
const AGAIN_MS = 2000;

export class FleetScreen {
  constructor() {
    this.node = h("main", { class: "screen runs fleet" });
    this.rows = new Map(SECTIONS.map(([id]) => [id, []]));
    this.isAll = new Map();
    this.counts = {};
    this.asked = { tenant: "", queue: "", text: "" };
    this.state = null;
    this.selected = null;
    this.kept = new Map();
    this.ahead = 0;
    this.overview = { tallies: [], queues: [], workers: [] };
  }

  async open() {
    this.away = h("p", { class: "warning", role: "status", hidden: true });
    this.search = h("input", { type: "search", placeholder: "Filter: words of task, run, worker, reason", "aria-label": "Filter", oninput: () => this.typed() });
    this.tenants = h("select", { "aria-label": "Tenant", onchange: (event) => this.pick("tenant", event.target.value) });
    this.queues = h("select", { "aria-label": "Queue", onchange: (event) => this.pick("queue", event.target.value) });
    this.countBar = h("div", { class: "counts" });
    this.bar = h("section", { class: "panel queues", "aria-label": "Queues and workers" });
    this.list = h("div", { class: "panel run-list", role: "grid", "aria-label": "Runs of the fleet" });
    this.watcher = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && this.more(this.state), { root: this.list, rootMargin: "400px" });
    fill(this.node, this.away, h("header", { class: "runs-head" }, this.countBar, h("label", { class: "search" }, this.search, h("kbd", null, "/")), this.tenants, this.queues), this.bar, this.list);
    this.keys();
    this.unlisten = listen((event) => this.heard(event));
    this.ticking = setInterval(() => this.tick(), 1000);
    await this.load();
  }

  close() {
    this.unlisten?.();
    this.watcher?.disconnect();
    clearInterval(this.ticking);
    clearTimeout(this.typing);
    clearTimeout(this.again);
    this.isClosed = true;
  }

  // ---------------------------------------------------------------- loading

  query(more = {}) {
    return new URLSearchParams(Object.entries({ ...this.asked, ...more }).filter(([, value]) => value)).toString();
  }

  async load() {
    clearTimeout(this.again);
    const asked = this.query();
    try {
      const told = await get("fleet?" + asked);
      if (this.isClosed || asked !== this.query()) return;
      this.isAway("");
      this.ahead = told.now - Date.now() / 1000;
      this.counts = told.counts;
      for (const [id] of SECTIONS) {
        this.rows.set(id, told.rows[id]);
        this.isAll.set(id, told.rows[id].length >= (told.counts[id] ?? 0));
      }
      this.overview = told;
      this.paintAll();
      performance.mark("rawko-rows");
    } catch (error) {
      if (error.status !== 503) throw error;
      this.isAway(error.message);
      this.again = setTimeout(() => this.load().catch(() => {}), AGAIN_MS);
    }
  }

  async more(state) {
    if (this.isLoading || !state || this.isAll.get(state)) return;
    this.isLoading = true;
    const rows = this.rows.get(state);
    const asked = this.query();
    try {
      const found = await get("fleet/tasks?" + this.query({ state, after: rows[rows.length - 1]?.place }));
      if (asked !== this.query()) return;
      const known = new Set(rows.map((row) => row.run));
      rows.push(...found.rows.filter((row) => !known.has(row.run)));
      this.isAll.set(state, found.is_all);
      this.paint();
    } catch (error) {
      say(error.message, true);
    } finally {
      this.isLoading = false;
    }
  }

  isAway(message) {
    this.away.hidden = !message;
    fill(this.away, message ? ["The fleet's database does not answer; this page goes on when it does. ", h("span", { class: "muted" }, message)] : null);
    this.list.classList.toggle("old", Boolean(message));
  }

  typed() {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => this.pick("text", this.search.value.trim()), TYPING_MS);
  }

  pick(name, value) {
    this.asked[name] = value;
    this.load().catch((error) => say(error.message, true));
  }

  // ---------------------------------------------------------------- news

  heard(event) {
    if (event.type === "reset" || event.type === "tasks") return void this.load().catch(() => {});
    if (event.type === "fleet") {
      this.isAway(event.is_away ? event.message : "");
      if (!event.is_away) this.load().catch(() => {});
    }
    if (event.type === "overview") {
      this.overview = event;
      if (!this.asked.text) this.counts = this.summed();
      this.paintSoon();
    }
    if (event.type === "task") this.take(event.row);
    return null;
  }

  // The counts of the tallies, as far as tenant and queue are chosen.
  summed() {
    const found = {};
    for (const one of this.overview.tallies) if (this.isMeant(one)) found[one.state] = (found[one.state] ?? 0) + one.count;
    return found;
  }

  isMeant({ tenant, queue }) {
    return (!this.asked.tenant || tenant === this.asked.tenant) && (!this.asked.queue || queue === this.asked.queue);
  }

  take(row) {
    const text = `${row.task} ${row.run} ${row.worker ?? ""} ${row.reason ?? ""}`.toLowerCase();
    const fits = this.isMeant(row) && this.asked.text.toLowerCase().split(/\s+/).every((word) => text.includes(word));
    for (const [id, rows] of this.rows) {
      const at = rows.findIndex((one) => one.run === row.run);
      if (at < 0) continue;
      rows.splice(at, 1);
      if (this.asked.text && (id !== row.state || !fits)) this.counts[id] = Math.max((this.counts[id] ?? 1) - 1, 0);
      if (this.asked.text && id !== row.state && fits) this.counts[row.state] = (this.counts[row.state] ?? 0) + 1;
    }
    if (fits) {
      const rows = this.rows.get(row.state);
      const sign = UP.has(row.state) ? 1 : -1;
      const at = rows.findIndex((one) => sign * (one.changed - row.changed) > 0);
      if (at >= 0) rows.splice(at, 0, row);
      else if (this.isAll.get(row.state) || !rows.length) rows.push(row);
    }
    this.paintSoon();
  }

  paintSoon() {
    this.painting ??= setTimeout(() => {
      this.painting = null;
      if (!this.isClosed) this.paintAll();
    }, 120);
  }

  // ---------------------------------------------------------------- painting

  paintAll() {
    this.paintHead();
    this.paintQueues();
    this.paint();
  }

  paintHead() {
    const counted = ([id, title, look]) => h("button", { type: "button", class: `count ${look}`, "aria-pressed": String(this.state === id), onclick: () => this.show(id) }, h("b", null, exact(this.counts[id] ?? 0)), " ", { waiting: "need you", dead: "dead" }[id] ?? title.toLowerCase());
    const meant = this.overview.tallies.filter((one) => this.isMeant(one));
    const spent = meant.reduce((sum, one) => sum + one.cost_usd, 0);
    const tokens = meant.reduce((sum, one) => sum + one.tokens, 0);
    fill(this.countBar, SECTIONS.map(counted), h("span", { class: "count" }, h("b", null, spent ? cost(spent, 2) : "–"), " today"), h("span", { class: "count" }, h("b", null, count(tokens)), " tokens"));
    choose(this.tenants, "all tenants", this.overview.tallies.map((one) => one.tenant), this.asked.tenant);
    choose(this.queues, "all queues", [...this.overview.tallies, ...this.overview.queues].map((one) => one.queue), this.asked.queue);
  }

  show(id) {
    this.state = this.state === id ? null : id;
    this.paintHead();
    this.paint();
    this.list.scrollTop = 0;
  }

  paintQueues() {
    const { queues, workers } = this.overview;
    const slots = workers.reduce((sum, one) => sum + one.slots, 0);
    const runs = workers.reduce((sum, one) => sum + one.runs, 0);
    const releases = new Set(workers.map((one) => one.release));
    const told = workers.length ? [h("b", null, workers.length), ` worker${workers.length === 1 ? "" : "s"} · `, `${runs} of ${slots} slots at work`, h("span", { class: "muted" }, ` · rawko ${[...releases].join(", ")}`)] : [h("b", { class: "bad" }, "No worker lives"), h("span", { class: "muted" }, " · start one with ", h("code", null, "rawko worker"))];
    fill(this.bar, queues.map((one) => this.queueChip(one)), h("span", { class: "queue workers", title: workers.map((one) => `${one.worker}: ${one.runs} of ${one.slots}, ${one.queues.join(", ")}, rawko ${one.release}`).join("\n") }, told));
  }

  queueChip(one) {
    const { limits } = one;
    const bounds = [limits.at_once && `${limits.at_once} at once`, limits.per_tenant && `${limits.per_tenant} per tenant`, limits.starts && `${limits.starts} starts per ${limits.period_s} s`].filter(Boolean);
    const kept = Object.entries(one.kept_for).map(([release, number]) => `${number} wait for rawko ${release}`);
    const held = one.is_paused ? "paused" : one.is_draining ? "draining" : "";
    const act = (how) => trying(async () => {
      say((await post(`fleet/queues/${encodeURIComponent(one.queue)}/${how}`, {})).words);
      await this.load();
    });
    const facts = [`${exact(one.counts.queued ?? 0)} queued`, one.oldest_wait_s !== null && `oldest ${age(one.oldest_wait_s)}`, `${exact(one.counts.running ?? 0)} running`, ...bounds, ...kept].filter(Boolean);
    return h("span", { class: held ? "queue held" : "queue", data: { queue: one.queue } }, h("b", null, one.queue), held ? h("span", { class: "badge" }, held) : null, h("span", { class: "muted" }, facts.join(" · ")), h("span", { class: "buttons" }, held ? button("Open", "", () => act("resume")) : [button("Pause", "", () => act("pause")), button("Drain", "", () => act("drain"))]));
  }

  paint() {
    const shown = SECTIONS.filter(([id]) => !this.state || this.state === id);
    const seen = new Set();
    this.order = [];
    const sections = shown.map(([id, title, look, order]) => {
      const rows = this.rows.get(id);
      const total = this.counts[id] ?? 0;
      if (!rows.length && !total) return null;
      this.order.push(...rows);
      for (const row of rows) seen.add(row.run);
      const rest = Math.max(total - rows.length, 0);
      const isEnd = this.state === id && rest > 0 && !this.isAll.get(id);
      const end = h("div", { class: "more-rows" }, rest > 0 ? h("button", { type: "button", class: "link", onclick: () => (this.state === id ? this.more(id) : this.show(id)) }, `${exact(rest)} more`) : null);
      if (isEnd) this.watcher.observe(end);
      return [h("div", { class: "group", role: "row" }, mark(look), h("b", null, title), h("span", { class: "badge" }, exact(total)), h("span", { class: "muted" }, order)), rows.map((row) => this.row(row)), rest > 0 ? end : null];
    });
    const heads = ["state", "task", "tenant", "queue", "worker", "age", "steps", "tokens", "cost", ""];
    const isEmpty = !this.order.length;
    const hasFilter = this.state || Object.values(this.asked).some(Boolean);
    const scrolled = this.list.scrollTop;
    this.watcher.disconnect();
    fill(this.list, h("div", { class: "run-row fleet-row headings", role: "row" }, heads.map((text) => h("span", { role: "columnheader" }, text))), sections, isEmpty && hasFilter ? h("p", { class: "empty" }, "No run fits the filter.") : null, isEmpty && !hasFilter ? this.empty() : null);
    for (const end of this.list.querySelectorAll(".more-rows")) if (this.state) this.watcher.observe(end);
    this.list.scrollTop = scrolled;
    for (const run of this.kept.keys()) if (!seen.has(run)) this.kept.delete(run);
    this.choose(this.selected ?? this.order[0]?.run, false);
  }

  // The row of a task; the same element as long as nothing of it changes.
  row(row) {
    const key = JSON.stringify(row);
    const kept = this.kept.get(row.run);
    if (kept?.key === key) return kept.node;
    const node = this.newRow(row);
    this.kept.set(row.run, { key, node });
    return node;
  }

  newRow(row) {
    const { question } = row;
    const view = { needs: question, is_at_work: row.state === "running", outcome: row.state === "ended" ? row.outcome ?? "ended" : row.state };
    const told = this.told(row);
    const cell = (content, kind = "") => h("span", { role: "gridcell", class: kind }, content);
    return h(
      "div",
      { class: told ? "run-row fleet-row tall" : "run-row fleet-row", role: "row", data: { run: row.run }, onclick: (event) => event.target.closest("button, a") || go("/runs/" + row.run) },
      cell(stateCell(view)),
      cell([h("a", { href: "#/runs/" + row.run, class: "name" }, row.task || "(no text)"), told ? h("span", { class: "sub" }, told) : null], "task"),
      cell(row.tenant, "tenant"),
      cell(row.queue, "queue-name"),
      cell(row.worker ?? "", "worker"),
      cell(this.ageOf(row), "age"),
      cell(exact(row.steps)),
      cell(row.tokens === null ? "–" : count(row.tokens)),
      cell(cost(row.cost_usd), "cost"),
      cell(this.buttons(row), "end"),
    );
  }

  // By the database's clock, from which this machine's may differ.
  ageOf(row) {
    return age(Math.max(Date.now() / 1000 + this.ahead - row.submitted, 0));
  }

  told({ question, state, reason, kept_for, failures }) {
    if (question) return question.kind === "approval" ? question.text : question.kind === "budget" ? "its budget is used up" : `“${question.text}”`;
    if (state === "dead") return h("span", { class: "bad" }, reason);
    if (state === "queued" && kept_for) return `waits for a worker of rawko ${kept_for}: ${reason ?? ""}`;
    if (state === "queued" && reason) return failures ? `failed ${failures}: ${reason}` : `waits: ${reason}`;
    return null;
  }

  buttons(row) {
    const { question } = row;
    const review = button("Review", "↵", () => go("/runs/" + row.run));
    if (question?.kind === "approval") return h("span", { class: "buttons" }, question.is_whole ? button("Approve", "A", () => this.approve(row)) : null, review);
    if (question?.kind === "budget") return h("span", { class: "buttons" }, button("Larger budget", "A", () => this.enlarge(row)));
    if (question) return h("span", { class: "buttons" }, button("Answer", "A", () => this.answer(row)));
    if (row.state === "dead" || (row.state === "queued" && row.kept_for)) return h("span", { class: "buttons" }, button("Requeue", "A", () => this.act(row, "requeue", {})));
    return h("span", { class: "doing muted" }, row.run.slice(-7));
  }

  empty() {
    return h("div", { class: "gone" }, h("h1", null, "No runs of the fleet yet"), h("p", null, "Queue one: ", h("code", null, 'rawko submit "Write fizzbuzz with a test"')), h("p", null, "Start a worker: ", h("code", null, "rawko worker --slots 4")));
  }

  tick() {
    for (const row of this.order ?? []) {
      const spot = this.kept.get(row.run)?.node.querySelector(".age");
      const text = this.ageOf(row);
      if (spot && spot.textContent !== text) spot.textContent = text;
    }
  }

  // ---------------------------------------------------------------- acting

  async act(row, kind, given) {
    return trying(async () => {
      const told = await post(`fleet/tasks/${row.run}/${kind}`, given);
      say(told.words, !told.is_taken);
      await this.load();
    });
  }

  approve(row) {
    return this.act(row, "approve", { text: "once", seen: row.seen });
  }

  async answer(row) {
    if (!row.question.is_whole) return go("/runs/" + row.run);
    const said = await askPerson({ title: `${row.question.agent || "The run"} asks`, body: h("pre", null, row.question.text), field: "Your answer", yes: "Send" });
    return said?.text.trim() && this.act(row, "answer", { text: said.text, seen: row.seen });
  }

  async enlarge(row) {
    const budget = await askBudget();
    return budget && this.act(row, "resume", { budget });
  }

  decide(row) {
    const { question } = row ?? {};
    if (question?.kind === "approval") return question.is_whole ? this.approve(row) : go("/runs/" + row.run);
    if (question?.kind === "budget") return this.enlarge(row);
    if (question) return this.answer(row);
    return row && (row.state === "dead" || row.kept_for) && this.act(row, "requeue", {});
  }

  // ---------------------------------------------------------------- keys

  choose(run, isByHand = true) {
    this.selected = this.order.some((row) => row.run === run) ? run : this.order[0]?.run ?? null;
    for (const one of this.list.querySelectorAll(".run-row.selected")) one.classList.remove("selected");
    const node = this.kept.get(this.selected)?.node;
    node?.classList.add("selected");
    if (isByHand) node?.scrollIntoView({ block: "nearest" });
  }

  move(by) {
    const at = this.order.findIndex((row) => row.run === this.selected);
    this.choose(this.order[Math.min(Math.max(at + by, 0), this.order.length - 1)]?.run);
  }

  current() {
    return this.order?.find((row) => row.run === this.selected);
  }

  keys() {
    use([
      [["J", "↓"], "move", () => this.move(1)],
      [["K", "↑"], "move up", () => this.move(-1)],
      [["↵"], "open", () => this.current() && go("/runs/" + this.current().run)],
      [["A"], "approve, answer, requeue", () => this.decide(this.current()), true],
      [["/"], "filter", () => this.search.focus()],
      [["N"], "next that needs you", () => this.rows.get("waiting")[0] && go("/runs/" + this.rows.get("waiting")[0].run)],
      ...SECTIONS.map(([id, title], n) => [[String(n + 1)], title.toLowerCase(), () => this.show(id)]),
    ]);
  }
}

// A list to choose from; the one that is chosen stays in it, though nothing of it is there any more.
function choose(select, all, names, now) {
  const found = [...new Set([...names, ...(now ? [now] : [])])].sort();
  const key = JSON.stringify(found);
  if (select.dataset.names !== key) {
    select.dataset.names = key;
    fill(select, h("option", { value: "" }, all), found.map((name) => h("option", { value: name }, name)));
  }
  select.value = now;
}

// How many runs wait for a person.
export function waitingOf(overview) {
  return overview.tallies.reduce((sum, one) => sum + (one.state === "waiting" ? one.count : 0), 0);
}

// What the fleet knows of a run, for its screen.
export function fleetFacts(view) {
  const { tenant, queue, worker, release, state } = view.fleet;
  return [`tenant ${tenant}`, `queue ${queue}`, worker && state === "running" ? `on ${worker}` : null, release ? `rawko ${release}` : null].filter(Boolean).join(" · ");
}

