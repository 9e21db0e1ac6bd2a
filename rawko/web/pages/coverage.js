// What a chart's contract visits, drawn on the chart: counts on states, and what is never visited marked and listed.

import { h, fill, button } from "./dom.js";
import { post } from "./api.js";

export class CoveragePanel {
  constructor(path, drawing, source, toLine) {
    this.source = source;
    this.path = path;
    this.drawing = drawing;
    this.toLine = toLine;
    this.found = null;
    this.node = h("section", { class: "coverage", hidden: true, "aria-live": "polite" });
    this.opener = button("Coverage", "C", () => this.toggle());
  }

  async toggle() {
    if (!this.node.hidden) return this.hide();
    this.node.hidden = false;
    fill(this.node, h("p", { class: "muted" }, "The contract runs…"));
    try {
      this.found = await post("coverage", { path: this.path });
    } catch (error) {
      return fill(this.node, h("p", { class: "warning" }, error.message));
    }
    return this.draw();
  }

  hide() {
    this.node.hidden = true;
    this.found = null;
    this.mark(() => false, () => false);
    this.count(() => null);
    this.drawing.heat(new Map(), String);
  }

  // Also after the chart was saved: then it is of the chart before, and says so.
  outdated() {
    if (this.found) this.hide();
  }

  mark(isMissedState, isMissedTransition) {
    const { svg } = this.drawing;
    if (!svg) return;
    for (const element of svg.querySelectorAll(".missed, .never")) element.classList.remove("missed", "never");
    for (const element of svg.querySelectorAll(".never-idle")) element.classList.remove("never-idle");
    for (const element of svg.querySelectorAll("[data-state]")) element.classList.toggle("missed", isMissedState(element.dataset.state));
    const count = this.found?.visits.transitions.length ?? 0;
    for (let index = 0; index < count; index++) if (isMissedTransition(index)) for (const element of this.drawing.parts(index)) element.classList.add("never");
  }

  // How often the transitions that a line of the source begins were taken.
  count(ofLine) {
    for (const line of this.source.children) {
      const found = ofLine(Number(line.dataset.line));
      if (found === null) delete line.dataset.visits;
      else line.dataset.visits = found ? found + "×" : "never";
    }
  }

  draw() {
    const { found } = this;
    const { states, transitions } = found.visits;
    this.mark((name) => states[name] === 0, (index) => transitions[index] === 0);
    // A branch is a transition, marked as such, or that none is taken: then the state is marked in which that never was.
    const undecided = new Set(found.missing_decisions.filter((one) => one.never.some((branch) => branch.transition === null)).map((one) => one.state));
    for (const element of this.drawing.svg?.querySelectorAll("[data-state]") ?? []) element.classList.toggle("never-idle", undecided.has(element.dataset.state));
    const lines = new Map();
    for (const [index, line] of Object.entries(this.lines?.transitions ?? {})) lines.set(line, (lines.get(line) ?? 0) + (transitions[index] ?? 0));
    this.count((line) => lines.get(line) ?? null);
    this.drawing.light({});
    this.drawing.heat(new Map(Object.entries(states)), (n) => n + "×");
    const share = (label, [covered, total]) => h("span", { class: covered < total ? "share bad" : "share good" }, label, " ", h("b", null, `${covered}/${total}`));
    const never = (words, line) => h("button", { type: "button", class: "problem warning", onclick: () => this.toLine(line) }, words);
    const lineOf = (position) => Number(position.split(":").slice(-2, -1)[0]);
    fill(
      this.node,
      h("div", { class: "shares" }, h("b", null, "Coverage"), share("states", found.states), share("transitions", found.transitions), share("decisions", found.decisions), share("guard outcomes", found.guards), share("ends of actors", found.actors), h("span", { class: found.failed ? "bad" : "muted" }, `${found.passed} passed, ${found.failed} failed`)),
      found.failures.map((name) => h("p", { class: "warning" }, "failed: ", name)),
      found.missing_states.map((name) => never(["state ", h("b", null, name), " was never active"], this.lines?.states[name])),
      found.missing_transitions.map((one) => never(["never taken: ", h("span", { class: "code" }, one.transition)], lineOf(one.position))),
      found.missing_decisions.map((one) => never(["decision of ", h("b", null, one.state), one.event === null ? " without event" : [" on ", h("code", null, one.event)], " never took ", h("span", { class: "code" }, one.never.map((branch) => branch.text).join(", "))], lineOf(one.position))),
      found.missing_guards.map((one) => h("p", { class: "muted" }, "guard ", h("code", null, one.guard), ` was never ${one.outcome}`)),
      found.missing_actors.map((one) => h("p", { class: "muted" }, "actor ", h("code", null, one.actor), one.end === "done" ? " never came to its end" : " never failed")),
    );
  }
}
