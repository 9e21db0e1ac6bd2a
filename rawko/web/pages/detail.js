// Everything about the step under the cursor: why, call, talk, context, files, prompt, usage. Fetched when it rests.

import { h, fill, button } from "./dom.js";
import { get, text, isOffline } from "./api.js";
import { cost, exact, size, took } from "./format.js";
import { ROW } from "./model.js";
import { parseDiff, proposedDiff, showDiff } from "./diff.js";
import { Versus } from "./versus.js";

export const TABS = [["why", "Why"], ["call", "Call"], ["talk", "Talk"], ["context", "Context"], ["files", "Files"], ["prompt", "Prompt"], ["usage", "Usage"], ["if", "If"]];
const REST_MS = 80;
const MARKS = { taken: "✓", guard: "✕", "not asked": "·", preempted: "·", error: "✕" };

export class Detail {
  constructor(model, act) {
    this.model = model;
    this.act = act;
    this.tab = "why";
    this.versus = new Versus(model, () => this.paint(), () => this.paint());
    this.cache = new Map();
    this.head = h("div", { class: "detail-head" });
    this.tabs = h("div", { class: "tabs", role: "tablist" });
    this.body = h("div", { class: "detail-body", role: "tabpanel", tabindex: "0" });
    this.node = h("section", { class: "panel detail" }, this.head, this.tabs, this.versus.node, this.body);
  }

  pick(tab) {
    this.tab = tab;
    this.paint();
  }

  // Called for each move; the step's own words at once, what has to be asked for once the cursor rests.
  paint() {
    const { act } = this;
    const row = this.model.row(this.model.cursor);
    if (!row) return;
    this.paintHead(row);
    const files = this.model.filesOf(row[0]);
    fill(this.tabs, (act.tabs ?? TABS).filter(([id]) => id !== "if" || !isOffline).map(([id, label]) => h("button", { type: "button", role: "tab", "aria-selected": String(id === this.tab), onclick: () => this.act.tab(id) }, label, id === "files" && files.length ? h("span", null, " " + files.length) : null)));
    this.versus.paint(this.tab === "files" && !isOffline);
    clearTimeout(this.timer);
    this.asking?.abort();
    const known = this.cache.get(this.keyOf(row[0]));
    if (known) this.show(row, known);
    else this.timer = setTimeout(() => this.fetch(row), this.hasShown ? REST_MS : 0);
  }

  keyOf(number) {
    const kind = { talk: "moments", if: "if", files: `files ${this.versus.against}` }[this.tab] ?? "steps";
    return `${kind} ${number}`;
  }

  async fetch(row) {
    const number = row[0];
    const asking = (this.asking = new AbortController());
    const at = this.keyOf(number);
    const run = `runs/${this.model.view.run}`;
    try {
      let found;
      if (this.tab === "files") found = await this.askFiles(run, number, asking.signal);
      else if (this.tab === "if") found = await get(`${run}/steps/${number}/if`, asking.signal);
      else if (this.tab === "talk") found = await get(`${run}/moments/${number}`, asking.signal);
      else found = await get(`${run}/steps/${number}`, asking.signal);
      if (this.cache.size > 60) this.cache.delete(this.cache.keys().next().value);
      this.cache.set(at, found);
      if (this.model.cursor === number && this.keyOf(number) === at) this.show(row, found);
    } catch (error) {
      if (error.name !== "AbortError" && this.model.cursor === number) fill(this.body, h("p", { class: "empty" }, error.message));
    }
  }

  askFiles(run, number, signal) {
    const ends = this.model.filesOf(number).length ? this.after(number) : number;
    const { against } = this.versus;
    if (against === "start") return get(`${run}/diff?a=first&b=${ends}`, signal);
    if (against !== "step") return get(`${run}/diff?a=${encodeURIComponent(against)}&b=${ends}`, signal);
    return get(`${run}/diff?a=${Math.max(number - 1, 1)}&b=${ends}`, signal);
  }

  // The step whose snapshot holds what this step wrote.
  after(number) {
    for (let n = number; n < Math.min(number + 200, this.model.last + 1); n++) if (this.model.row(n)[ROW.ofStep] === number) return n;
    return number;
  }

  paintHead(row) {
    const act = this.act;
    const moves = this.model.moves;
    const move = moves[row[0] - 1];
    let before = null;
    if (move) for (let n = row[0] - 2; n >= 0 && !before; n--) if (moves[n] && moves[n][1] === move[1]) before = moves[n][4][moves[n][4].length - 1];
    const now = row[ROW.states][row[ROW.states].length - 1];
    fill(
      this.head,
      h("div", { class: "title" }, h("h2", null, row[0], " · ", row[ROW.words]), h("span", { class: "muted" }, h("kbd", null, "J"), h("kbd", null, "K"))),
      h("div", { class: "chips" }, before && before !== now ? [h("span", { class: "chip" }, before), h("span", { class: "muted" }, "→")] : null, row[ROW.states].map((state, n, all) => h("span", { class: n === all.length - 1 ? "chip active" : "chip" }, state))),
      isOffline || !act.pin ? null : h("div", { class: "buttons" }, act.rewind ? [button("Rewind here", "R", () => act.rewind()), button("Fork here", "F", () => act.fork())] : null, button("Pin as contract", "P", () => act.pin())),
    );
  }

  show(row, found) {
    this.hasShown = true;
    const made = { why: whyOf, call: callOf, context: contextOf, prompt: promptOf, usage: usageOf, if: ifOf }[this.tab];
    if (this.tab === "files") fill(this.body, this.filesOf(row, found));
    else if (this.tab === "talk") fill(this.body, talkOf(found));
    else fill(this.body, made(found, this.model, row));
    this.body.scrollTop = this.tab === "talk" ? this.body.scrollHeight : 0;
  }

  filesOf(row, found) {
    const files = parseDiff(found.diff);
    return [
      found.files.length ? h("div", { class: "tree" }, found.files.map((file) => h("div", { class: "tree-row" }, h("b", null, { added: "A", modified: "M", deleted: "D" }[file.kind]), h("span", { class: "code" }, file.path), file.is_binary ? h("em", null, "binary") : h("span", null, h("i", { class: "plus" }, "+" + file.added_lines), " ", h("i", { class: "minus" }, "−" + file.removed_lines))))) : h("p", { class: "empty" }, this.versus.against === "step" ? "This step changed no files." : "No file differs."),
      files.map((file) => showDiff(file, this.versus.isSplit, `${found.before.slice(0, 7)} → ${found.after.slice(0, 7)}`)),
      found.is_cut ? h("p", { class: "empty" }, `The diff has ${size(found.chars)}; its beginning is shown. All of it: rawko diff ${this.model.view.run}`) : null,
    ];
  }
}

// ---------------------------------------------------------------- why

function whyOf(found, model, row) {
  return [
    facts([
      ["from", [found.actor, " · ", row[ROW.agent] || "–"]],
      ["event", h("code", null, found.event?.name ?? found.cause)],
      row[ROW.detail] ? ["says", row[ROW.detail]] : null,
      ["receipt", [h("b", { class: found.receipt === "taken" || !found.receipt ? "good" : "bad" }, found.receipt ?? "–"), transitionsOf(found)]],
    ]),
    found.problem ? h("p", { class: "warning" }, "How it was chosen cannot be told: ", found.problem) : null,
    found.choices.length ? [h("h3", null, "candidates, in the order they were asked"), h("div", { class: "candidates" }, found.choices.map(choiceOf))] : null,
    found.context.length ? [h("h3", null, "context ", h("span", { class: "muted" }, `${found.context.length} field${found.context.length > 1 ? "s" : ""} changed`)), changes(found.context)] : null,
    found.effects.length ? [h("h3", null, "effects"), found.effects.map(effectOf)] : null,
  ];
}

function transitionsOf(found) {
  const taken = found.choices.flatMap((one) => one.candidates).filter((one) => one.verdict === "taken").length;
  return taken ? ` ${taken} transition${taken > 1 ? "s" : ""} in one macrostep` : "";
}

function choiceOf(made, n) {
  return [
    h("div", { class: "choice-head" }, `${n + 1} · ${made.event || "by itself"}, in ${made.configuration[made.configuration.length - 1] ?? ""}`),
    made.candidates.map((one) =>
      h(
        "div",
        { class: "candidate " + one.verdict.replace(" ", "-") },
        h("span", { class: "sign" }, MARKS[one.verdict]),
        h("span", null, one.source, " → ", h("b", null, one.targets.join(" ") || "(stays)"), one.guard ? h("span", { class: "guard" }, ` [${one.guard}]`) : null),
        h("span", { class: "muted" }, one.verdict === "not asked" ? "not asked" : one.verdict === "preempted" ? "preempted" : `line ${lineOf(one.position)}`),
        Object.keys(one.reads).length && one.verdict !== "not asked" ? h("div", { class: "saw" }, "saw ", Object.entries(one.reads).map(([name, value]) => h("code", null, name, " ", h("b", null, brief(value, 60))))) : null,
      ),
    ),
  ];
}

function lineOf(position) {
  return position.split(":").slice(-2, -1)[0] ?? "";
}

function effectOf(effect) {
  const told = { start: () => `start ${effect.src} (${effect.id})`, stop: () => `stop ${effect.id}`, send: () => `send ${effect.event} to ${effect.to}`, emit: () => `emit ${effect.event} ${brief(effect.data, 120)}`, log: () => `log ${effect.level}: ${brief(effect.message, 200)}` }[effect.type];
  return h("div", { class: "effect code" }, told ? told() : brief(effect, 200));
}

// ---------------------------------------------------------------- call, prompt, usage

function callOf(found, model) {
  const ended = found.ended;
  if (!ended) return [h("p", { class: "empty" }, "No invocation ended in this step."), found.event ? [h("h3", null, "event data"), value(found.event.data)] : null];
  const output = ended.error ?? ended.output;
  const content = output && typeof output === "object" && "content" in output ? output.content : null;
  const call = ended.call ?? null;
  return [
    facts([["what", h("code", null, ended.src)], ["attempt", String(ended.attempt)], call ? ["tool", h("code", null, call.name)] : null, output?.exit_code !== undefined && output?.exit_code !== null ? ["exit", h("b", { class: output.exit_code ? "bad" : "good" }, String(output.exit_code))] : null]),
    call ? [h("h3", null, "input"), Object.entries(call.input ?? {}).map(([name, given]) => [h("div", { class: "muted" }, name), value(given)])] : null,
    ended.error !== null && ended.error !== undefined ? [h("h3", { class: "bad" }, "failed"), value(ended.error)] : output?.message ? [h("h3", null, "answer"), message(output.message)] : content !== null ? [h("h3", null, "output"), value(content, call ? () => whole(model, call.id) : null)] : [h("h3", null, "output"), value(output)],
  ];
}

async function whole(model, id) {
  const all = await text(`runs/${model.view.run}/texts/${encodeURIComponent(id)}`);
  const link = h("a", { href: URL.createObjectURL(new Blob([all], { type: "text/plain" })), download: `${id}.txt` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function promptOf(found) {
  const given = found.ended?.input;
  if (!given || typeof given !== "object" || (!given.messages && !given.system && !given.prompt)) {
    return given && found.ended.src.includes("agent") ? [h("h3", null, "given"), value(given)] : h("p", { class: "empty" }, "No model was asked in this step.");
  }
  const rest = Object.fromEntries(Object.entries(given).filter(([name]) => !["messages", "system", "prompt"].includes(name)));
  return [given.system ? [h("h3", null, "system"), value(given.system)] : null, given.prompt ? [h("h3", null, "prompt"), value(given.prompt)] : null, (given.messages ?? []).map(message), Object.keys(rest).length ? [h("h3", null, "with"), value(rest)] : null];
}

function usageOf(found, model, row) {
  const used = Object.entries(found.usage);
  return [
    h("h3", null, "this step"),
    facts([["in", exact(row[ROW.tokensIn])], ["out", exact(row[ROW.tokensOut])], ["cost", cost(row[ROW.cost])], ["took", took(row[ROW.took]) || "–"]]),
    h("h3", null, "the run up to this step, by model"),
    used.length ? used.map(([name, one]) => facts([["model", h("code", null, name)], ["in", exact(one.input_tokens)], ["from cache", exact(one.cache_read_tokens)], ["out", exact(one.output_tokens)], ["calls", String(one.calls)]])) : h("p", { class: "empty" }, "no model was asked yet"),
  ];
}

// ---------------------------------------------------------------- if

// What each event would lead to after this step: worked out on values, the run is not touched.
function ifOf(found) {
  if (!found.if.length) return h("p", { class: "empty" }, "No machine listens to an event here.");
  return found.if.map((one) => [
    h("h3", null, h("code", null, one.event), " ", h("span", { class: "muted" }, one.actor)),
    h("p", null, h("b", { class: one.receipt === "taken" ? "good" : "bad" }, one.receipt ?? "raises"), " ", one.receipt === null ? one.problem : one.receipt === "taken" ? [last(one.before), " → ", h("b", null, last(one.after))] : one.refusals.join("; ")),
    one.context.length ? changes(one.context) : null,
    one.effects.map(effectOf),
    one.children.map((told) => h("div", { class: "effect code" }, told)),
  ]);
}

function last(states) {
  return states[states.length - 1] ?? "–";
}

// ---------------------------------------------------------------- talk

export function talkOf(found) {
  let agent = null;
  return found.conversation.map((said) => {
    if (said[CUT]) return h("p", { class: "empty" }, `${said[CUT]} messages; ${said.head} are shown`);
    const head = said.agent && said.agent !== agent ? h("h3", null, said.agent) : null;
    agent = said.agent || agent;
    return [head, message(said)];
  });
}

const CUT = "…cut";

export function message(said) {
  const blocks = typeof said.content === "string" ? [{ type: "text", text: said.content }] : said.content ?? [];
  return h("div", { class: "message " + (said.role === "user" ? "user" : "assistant") }, blocks.map(block));
}

function block(one) {
  if (one.type === "text") return h("div", { class: "prose" }, value(one.text));
  if (one.type === "thinking") return h("details", { class: "thinking" }, h("summary", null, "thinking"), value(one.thinking));
  if (one.type === "tool_use") {
    const made = proposedDiff(one);
    return h("details", { class: "call" }, h("summary", null, h("code", null, one.name), " ", brief(Object.values(one.input ?? {})[0], 90)), made ? showDiff(made) : value(one.input));
  }
  if (one.type === "tool_result") return h("details", { class: one.is_error ? "result bad" : "result" }, h("summary", null, one.is_error ? "✕ " : "← ", brief(typeof one.content === "string" ? one.content : "result", 100)), value(one.content));
  return value(one);
}

// ---------------------------------------------------------------- context and values

function contextOf(found) {
  return [
    found.context.length ? changes(found.context) : h("p", { class: "empty" }, "This step changed no field."),
    found.fields ? [h("h3", null, "the whole context after the step"), value(found.fields)] : null,
  ];
}

function changes(list) {
  return h("div", { class: "changes" }, list.map((one) => h("div", { class: "change" }, h("span", { class: "code" }, one.field), h("span", null, one.appended ? h("ins", null, "+ ", one.appended.length === 1 ? brief(one.appended[0], 160) : `${one.appended.length} items`) : [h("del", null, brief(one.before, 80)), " → ", h("ins", null, brief(one.after, 160))]))));
}

export function facts(list) {
  return h("dl", { class: "facts" }, list.filter(Boolean).map(([name, told]) => [h("dt", null, name), h("dd", null, told)]));
}

export function value(given, download = null) {
  if (given && typeof given === "object" && given[CUT]) return [h("pre", { tabindex: "0" }, given.head), h("p", { class: "muted" }, `${size(given[CUT])} in all; the beginning is shown. `, download && !isOffline ? h("button", { class: "link", type: "button", onclick: download }, "Save the whole text") : null)];
  if (typeof given === "string") return h("pre", { tabindex: "0" }, given);
  return h("pre", { tabindex: "0" }, JSON.stringify(given, null, 2) ?? "–");
}

export function brief(given, most) {
  const told = given && typeof given === "object" && given[CUT] ? given.head : typeof given === "string" ? given : JSON.stringify(given) ?? "–";
  const line = told.replace(/\s+/g, " ");
  return line.length > most ? line.slice(0, most - 1) + "…" : line;
}
