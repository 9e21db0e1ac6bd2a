// Two runs side by side: steps aligned by agent, event and call, never by number; alike ones are folded.

import { h, fill, choice, button } from "./dom.js";
import { get } from "./api.js";
import { clock, cost, exact, took } from "./format.js";
import { use } from "./keys.js";
import { RunModel, ROW, look } from "./model.js";
import { go } from "./place.js";
import { stateCell } from "./states.js";
import { firstLine } from "./run.js";

const AROUND = 2;

export class CompareScreen {
  constructor(a, b) {
    this.ids = [a, b];
    this.show = "around";
    this.node = h("main", { class: "screen compare" });
  }

  async open() {
    if (!this.ids[0] || !this.ids[1] || this.ids[0] === this.ids[1]) return this.choose();
    const [a, b] = this.ids;
    const found = await get(`compare?a=${a}&b=${b}`);
    this.pairs = found.pairs;
    this.models = await Promise.all([found.a, found.b].map(async (view) => {
      const model = new RunModel(view);
      for (let count = 1; model.last < count; ) {
        const part = await get(`runs/${view.run}/steps?after=${model.last}`);
        model.append(part.rows);
        count = part.rows.length ? part.count : 0;
      }
      return model;
    }));
    this.paint();
    this.keys();
    return null;
  }

  async choose() {
    const { runs } = await get("runs");
    const first = this.ids[0] || this.ids[1];
    fill(this.node, h("section", { class: "panel pick" }, h("h1", null, "Compare ", first ? [h("span", { class: "code" }, first), " with…"] : "which runs?"), runs.filter((run) => run.run !== first).map((run) => h("a", { class: "pick-row", href: first ? `#/compare/${first}/${run.run}` : `#/compare/${run.run}` }, stateCell(run), h("span", null, firstLine(run.task)), h("span", { class: "code muted" }, run.run)))));
    this.keys();
  }

  close() {}

  paint() {
    const [a, b] = this.models;
    const differs = this.pairs.map(([one, two]) => one === null || two === null);
    const first = differs.indexOf(true);
    fill(
      this.node,
      h("header", { class: "compare-head" }, this.models.map((model, n) => h("a", { class: "panel side", href: "#/runs/" + model.view.run }, h("b", { class: "letter" }, "AB"[n]), stateCell(model.view), h("div", null, h("b", { class: "code" }, model.view.run), h("div", { class: "muted" }, firstLine(model.view.task), model.view.parent ? ` · fork of ${model.view.parent.run} at step ${model.view.parent.step}` : "")))), button("Swap", "S", () => this.swap())),
      h(
        "div",
        { class: "compare-body" },
        h("section", { class: "panel aligned" }, h("header", null, h("b", null, "Steps, aligned"), choice("Rows", [["all", "all"], ["around", "around differences"], ["only", "only differences"]], this.show, (to) => ((this.show = to), this.paint())), h("span", { class: "muted" }, "by agent, event and call, not by number")), h("div", { class: "scroll" }, this.rows(differs, first))),
        h("aside", null, this.measures(a, b), this.filesOf(a, b), this.visits(a, b)),
      ),
    );
  }

  rows(differs, first) {
    const rows = [];
    let folded = 0;
    const flush = () => {
      if (folded) rows.push(h("div", { class: "fold" }, `${folded} step${folded > 1 ? "s" : ""} alike `, h("button", { type: "button", class: "link", onclick: () => ((this.show = "all"), this.paint()) }, "unfold")));
      folded = 0;
    };
    this.pairs.forEach(([one, two], n) => {
      const isNear = this.show === "all" || differs[n] || (this.show === "around" && differs.slice(Math.max(n - AROUND, 0), n + AROUND + 1).some(Boolean));
      if (!isNear) return folded++;
      flush();
      if (n === first) rows.push(h("div", { class: "first-difference" }, h("b", null, "≠ First difference: step ", one ?? two)));
      rows.push(h("div", { class: "pair" + (differs[n] ? " differs" : ""), data: differs[n] ? { difference: n } : {} }, this.cell(0, one), h("span", { class: "sign" }, one === null ? "›" : two === null ? "‹" : "="), this.cell(1, two)));
      return null;
    });
    flush();
    return rows;
  }

  cell(side, number) {
    if (number === null) return h("span", { class: "absent" });
    const row = this.models[side].row(number);
    return h("a", { class: "side-step", href: `#/runs/${this.models[side].view.run}/${number}` }, h("span", { class: "number" }, number), h("span", { class: "bar " + look(row) }, h("span", { class: "words" }, row[ROW.words]), h("span", { class: "more" }, row[ROW.detail])), h("span", { class: "took" }, took(row[ROW.took])));
  }

  measures(a, b) {
    const of = (model) => {
      const sum = model.sums[model.sums.length - 1] ?? { tokens: 0, cost: null, added: 0 };
      const rows = model.rows.filter((row) => !row[ROW.isLeft]);
      return { outcome: model.view.outcome, duration: model.view.duration_s, steps: model.last, "model calls": rows.filter((row) => row[ROW.tokensOut]).length, tokens: sum.tokens, cost: sum.cost, "failed steps": rows.filter((row) => row[ROW.isError]).length };
    };
    const [one, two] = [of(a), of(b)];
    const told = (name, value) => (typeof value === "string" ? value : name === "duration" ? clock(value) : name === "cost" ? cost(value) : exact(value ?? 0));
    return h("section", { class: "panel measures" }, h("header", null, h("b", null, "Measures")), h("table", null, h("tr", null, ["", "A", "B", "B − A"].map((text) => h("th", null, text))), Object.keys(one).map((name) => h("tr", null, h("td", null, name), h("td", null, told(name, one[name])), h("td", null, h("b", null, told(name, two[name]))), h("td", null, typeof one[name] === "number" && typeof two[name] === "number" ? difference(name, two[name] - one[name]) : one[name] === two[name] ? "alike" : "differs")))));
  }

  filesOf(a, b) {
    const paths = [...new Set([...a.view.files, ...b.view.files])].sort();
    const last = (model, path) => [...model.rows].reverse().find((row) => row[ROW.files].some((file) => file[0] === path))?.[0];
    return h("section", { class: "panel" }, h("header", null, h("b", null, "Files changed")), paths.length ? paths.slice(0, 100).map((path) => h("div", { class: "tree-row" }, h("span", { class: "code" }, path), h("span", { class: "muted" }, "A ", a.view.files.includes(path) ? `step ${last(a, path) ?? "–"}` : "–"), h("span", { class: "muted" }, "B ", b.view.files.includes(path) ? `step ${last(b, path) ?? "–"}` : "–"))) : h("p", { class: "empty" }, "none"));
  }

  visits(a, b) {
    const count = (model) => {
      const found = new Map();
      let before = [];
      for (const row of model.rows) {
        if (row[ROW.actor] !== "root" || row[ROW.isLeft]) continue;
        for (const state of row[ROW.states]) if (!before.includes(state)) found.set(state, (found.get(state) ?? 0) + 1);
        before = row[ROW.states];
      }
      return found;
    };
    const [one, two] = [count(a), count(b)];
    const most = Math.max(...one.values(), ...two.values(), 1);
    const bar = (n, kind) => h("i", { class: kind, style: { width: (100 * n) / most + "%" } });
    return h("section", { class: "panel visits" }, h("header", null, h("b", null, "State visits"), h("span", { class: "muted" }, "of the first machine")), [...new Set([...one.keys(), ...two.keys()])].map((state) => h("div", { class: "visit" }, h("span", null, state), h("span", { class: "bars" }, bar(one.get(state) ?? 0, "a"), bar(two.get(state) ?? 0, "b")), h("span", null, `${one.get(state) ?? 0}× `, h("b", null, `${two.get(state) ?? 0}×`)))));
  }

  swap() {
    go(`/compare/${this.ids[1]}/${this.ids[0]}`);
  }

  jump(by) {
    const found = [...this.node.querySelectorAll("[data-difference]")];
    this.at = Math.min(Math.max((this.at ?? -1) + by, 0), found.length - 1);
    found[this.at]?.scrollIntoView({ block: "center" });
  }

  keys() {
    use([
      [["["], "difference before", () => this.jump(-1)],
      [["]"], "next difference", () => this.jump(1)],
      [["S"], "swap", () => this.swap()],
      [["U"], "unfold", () => ((this.show = "all"), this.paint())],
      [["Esc"], "back", () => go("/runs")],
    ]);
  }
}

function difference(name, by) {
  if (Math.abs(by) < 1e-9) return "=";
  const told = name === "duration" ? took(Math.abs(by)) : name === "cost" ? cost(Math.abs(by)) : exact(Math.abs(by));
  return h("b", { class: by < 0 ? "good" : "bad" }, by < 0 ? "−" : "+", told);
}
