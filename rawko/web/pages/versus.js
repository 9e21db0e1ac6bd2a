// What a step's files are compared with: what the step found, the start, or the files of any other step, picked by a
// slider over all snapshots or by its number. One slider serves a run of five and of five thousand snapshots.

import { h, fill, choice } from "./dom.js";
import { ROW } from "./model.js";

export class Versus {
  // `pick(against)`: "step", "start", or the number of a step as a text; `lay(isSplit)`.
  constructor(model, pick, lay) {
    this.model = model;
    this.pick = pick;
    this.lay = lay;
    this.against = "step";
    this.isSplit = false;
    this.snapshots = [];
    this.range = h("input", { type: "range", min: "0", step: "1", "aria-label": "Compare with the files of a step", oninput: () => this.say(this.chosen()), onchange: () => this.take(this.chosen()) });
    this.number = h("input", { type: "number", min: "1", placeholder: "step", "aria-label": "Number of the step to compare with", onchange: () => this.take(this.nearest(Number(this.number.value))) });
    this.words = h("span", { class: "muted" });
    this.choices = h("span");
    this.layout = h("span");
    this.others = h("span", { class: "versus" }, this.number, this.range, this.words);
    this.node = h("div", { class: "tools", hidden: true }, this.choices, this.layout, this.others);
  }

  paint(isShown) {
    this.node.hidden = !isShown;
    if (!isShown) return;
    const { model } = this;
    this.snapshots = model.rows.filter((row) => row[ROW.snapshot]).map((row) => row[0]);
    this.others.hidden = this.snapshots.length < 2;
    this.range.max = String(Math.max(this.snapshots.length - 1, 0));
    this.number.max = String(model.last);
    const isStep = !["step", "start"].includes(this.against);
    fill(this.choices, choice("Compare with", [["step", "this step"], ["start", "since start"]], this.against, (to) => this.take(to)));
    fill(this.layout, choice("Layout", [["unified", "unified"], ["split", "split"]], this.isSplit ? "split" : "unified", (to) => this.lay((this.isSplit = to === "split"))));
    if (document.activeElement !== this.range) this.range.value = String(this.snapshots.indexOf(isStep ? Number(this.against) : this.nearest(model.cursor)));
    this.say(isStep ? Number(this.against) : null);
  }

  chosen() {
    return this.snapshots[Number(this.range.value)];
  }

  // The latest snapshot at a step or before it; the first one before all of them.
  nearest(step) {
    let found = this.snapshots[0];
    for (const one of this.snapshots) if (one <= step) found = one;
    return found;
  }

  say(step) {
    const row = step && this.model.row(step);
    const about = row && (this.model.row(row[ROW.ofStep]) ?? row);
    fill(this.words, row ? `vs. step ${step} · ${about[ROW.words]}` : `${this.snapshots.length} to compare with`);
    if (document.activeElement !== this.number) this.number.value = row ? String(step) : "";
  }

  take(to) {
    if (to === undefined) return;
    this.against = String(to);
    this.pick(this.against);
  }
}
