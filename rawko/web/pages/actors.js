// Actors of a person's own program, shown as runs are: one tree of actors per screen, a drawing per actor, no files.

import { h, fill, button } from "./dom.js";
import { get, post } from "./api.js";
import { Actions } from "./actions.js";
import { popUp, say, trying } from "./dialogs.js";
import { clock } from "./format.js";
import { use } from "./keys.js";
import { ROW } from "./model.js";
import { go } from "./place.js";
import { listen } from "./stream.js";
import { RunScreen } from "./run.js";
import { mark, stateCell } from "./states.js";

export const showsActors = document.documentElement.dataset.shows === "actors";
const allowsEvents = document.documentElement.dataset.events === "yes";
const ACTOR_TABS = [["why", "Why"], ["call", "Event"], ["context", "Context"]];
const ENDS = { "": "working", done: "success", crashed: "failure", stopped: "cancelled" };

// The trees that the program shows; where it shows one, that one.
export class ActorsScreen {
  constructor() {
    this.node = h("main", { class: "screen charts" });
  }

  async open() {
    this.unlisten = listen((event) => (event.type === "run" || event.type === "reset") && this.load());
    await this.load(true);
    use([]);
  }

  async load(isFirst = false) {
    const { runs } = await get("runs");
    if (isFirst && runs.length === 1) return go("/runs/" + runs[0].run);
    const rows = runs.map((run) => h("a", { class: "pick-row", href: "#/runs/" + run.run }, h("b", null, run.task), h("span", null, stateCell(run), h("span", { class: "muted" }, ` ${run.steps} steps`))));
    return fill(this.node, h("section", { class: "panel pick" }, h("h1", null, "Actors of this program"), rows.length ? rows : h("p", { class: "empty" }, "The program shows no actor yet.")));
  }

  close() {
    this.unlisten?.();
  }
}

class ActorActions extends Actions {
  paintBanner() {}

  // The events of every running actor, each with `can` or why not; sent with data where the inspector may send.
  async event() {
    const found = await trying(() => get(`runs/${this.run}/can`));
    if (!found) return;
    const data = h("textarea", { rows: 3, "aria-label": "Data of the event, as JSON", placeholder: '{"cents": 50}' });
    const list = h("div", { class: "events" });
    const paint = (events) => fill(list, events.length ? events.map((one) => this.eventRow(one, data, paint)) : h("p", { class: "empty" }, "No running actor knows an event from outside."));
    paint(found.events);
    popUp(found.allowed ? "Send an event" : "Events: would they be taken?", h("div", null, h("label", null, h("span", { class: "muted" }, "data of the event, as JSON"), data), list, found.allowed ? null : h("p", { class: "muted" }, "Read only: the program serves without allow_events=True.")));
  }

  eventRow(one, data, paint) {
    const about = () => `actor=${encodeURIComponent(one.actor)}&event=${encodeURIComponent(one.event)}&data=${encodeURIComponent(data.value || "{}")}`;
    const ask = () => trying(async () => paint((await get(`runs/${this.run}/can?${about()}`)).events));
    const send = () => trying(async () => {
      let given = {};
      try {
        given = JSON.parse(data.value || "{}");
      } catch (error) {
        return say(`The data is no JSON: ${error.message}`, true);
      }
      const told = await post(`runs/${this.run}/event`, { actor: one.actor, event: one.event, data: given });
      document.querySelector("dialog[open]")?.close();
      return say(told.words, !told.is_taken);
    });
    return h("div", { class: "event-row" }, h("span", { class: one.why_not ? "bad" : "good" }, one.why_not ? "✕" : "✓"), h("span", null, h("code", null, one.event), h("span", { class: "muted" }, " ", one.actor), one.why_not ? h("div", { class: "muted" }, one.why_not) : null), h("span", { class: "buttons" }, h("button", { type: "button", class: "button", onclick: ask }, "Ask"), allowsEvents ? h("button", { type: "button", class: "button", onclick: send }, "Send") : null));
  }
}

export class ActorScreen extends RunScreen {
  // The program keeps the latest rows alone, in memory: they come at once.
  part() {
    return "";
  }

  get tabList() {
    return ACTOR_TABS;
  }

  makeActions(model) {
    return new ActorActions(model, this);
  }

  acts() {
    return { tab: (tab) => this.pickTab(tab), tabs: ACTOR_TABS };
  }

  build() {
    this.tree = h("nav", { class: "actor-tree", "aria-label": "Actors" });
    super.build();
    this.chart.outline.before(this.tree);
    this.chart.hasTree = true;
    this.chart.heats = ["visits", "time"];
    for (const made of [...this.phone.children]) if (["files", "more"].includes(made.dataset.id)) made.remove();
  }

  // Actors of a program have no plan that pages know of.
  async loadPlans() {}

  async loadPath() {
    await super.loadPath();
    this.paintTree();
    this.paintHeader();
  }

  heard(event) {
    super.heard(event);
    if (event.type === "run" && event.run === this.run) this.loadPath();
    return null;
  }

  paint(how) {
    super.paint(how);
    this.paintTree();
  }

  // Every actor below the one that began it: its state, where it stands now; a click shows its chart.
  paintTree() {
    const { charts, cursor } = this.model;
    const at = this.chart.chosen ?? this.model.chartAt(cursor);
    const ordered = charts.map((actor, place) => [actor, place]).sort(([a], [b]) => (a.path < b.path ? -1 : 1));
    fill(
      this.tree,
      ordered.map(([actor, place]) =>
        h(
          "button",
          { type: "button", class: "actor-row", "aria-pressed": String(place === at), style: { paddingLeft: 8 + 14 * (actor.path.split("/").length - 1) + "px" }, onclick: () => (this.chart.pick(place), this.paintTree()) },
          mark(ENDS[actor.end] ?? "stopped"),
          h("b", null, actor.path === "root" ? actor.name : actor.path.split("/").pop()),
          h("span", { class: "chip" }, actor.configuration[actor.configuration.length - 1] ?? ""),
          actor.chart === actor.name ? null : h("span", { class: "muted" }, actor.chart),
        ),
      ),
    );
    this.tree.hidden = charts.length < 2;
  }

  paintHeader() {
    const { model } = this;
    const { view } = model;
    const number = (label, now, whole) => h("div", { class: "figure" }, h("span", null, label), h("b", null, now), h("em", null, " / ", whole));
    const running = model.charts.filter((actor) => !actor.end).length;
    fill(
      this.header,
      h("div", { class: "run-title" }, stateCell(view), h("div", null, h("h1", null, view.task), h("span", { class: "muted" }, allowsEvents ? "events may be sent" : "read only"))),
      h("div", { class: "figures" }, number("step", model.cursor, model.last), number("time", clock(model.row(model.cursor)?.[ROW.seconds]), clock(model.row(model.last)?.[ROW.seconds])), number("actors", running, model.charts.length)),
      h("div", { class: "buttons" }, view.can_send ? button("Events", "E", () => this.actions.event()) : null),
    );
  }

  opening() {
    return this.lastShown();
  }

  keys() {
    const kept = new Set(["next step", "step before", "next of this agent", "before of this agent", "scrub", "", "play", "first", "last", "follow", "fit the chart", "find", ...ACTOR_TABS.map(([, label]) => label)]);
    use([...this.keyTable().filter(([, words]) => kept.has(words)), [["E"], "events", () => this.model.view.can_send && this.actions.event(), true], [["Esc"], "back", () => go("/runs")]]);
  }
}
