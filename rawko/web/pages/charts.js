// The charts of the folder: source, picture and problems side by side, as the file is saved. Click an element for its line.

import { h, fill } from "./dom.js";
import { get, drawing } from "./api.js";
import { Drawing } from "./chart.js";
import { CoveragePanel } from "./coverage.js";
import { use } from "./keys.js";
import { go } from "./place.js";
import { SimulatePanel } from "./simulate.js";

export class ChartsScreen {
  constructor() {
    this.node = h("main", { class: "screen charts" });
  }

  async open() {
    const { charts } = await get("charts");
    const list = (whose) => charts.filter((chart) => chart.whose === whose);
    const rows = (found) => found.map((chart) => h("a", { class: "pick-row", href: "#/charts/" + encodeURIComponent(chart.path) }, h("b", null, chart.name), h("span", { class: "code muted" }, chart.path)));
    fill(this.node, h("section", { class: "panel pick" }, h("h1", null, "Charts of this folder"), list("folder").length ? rows(list("folder")) : h("p", { class: "empty" }, "No chart in this folder. Begin one: ", h("code", null, "rawko new chart NAME")), h("h1", null, "Charts that come with rawko"), rows(list("rawko"))));
    use([[["Esc"], "back", () => go("/runs")]]);
  }

  close() {}
}

export class ChartScreen {
  constructor(path) {
    this.path = path;
    this.node = h("main", { class: "screen one-chart" });
    this.isOpen = true;
  }

  async open() {
    this.head = h("header", { class: "chart-head" });
    this.source = h("div", { class: "source", tabindex: "0", "aria-label": "Source" });
    this.problems = h("footer", { class: "problems" });
    this.drawing = new Drawing((state) => this.toLine(this.chart.states[state]), (index) => this.toLine(this.chart.transitions[index]));
    this.simulation = new SimulatePanel(this.path, this.drawing);
    this.coverage = new CoveragePanel(this.path, this.drawing, this.source, (line) => this.toLine(line));
    fill(this.node, this.head, h("div", { class: "chart-columns" }, h("section", { class: "panel" }, h("header", null, h("b", { class: "code" }, this.path), (this.saved = h("span", { class: "chip" }, "as saved"))), this.source, this.problems), h("section", { class: "panel" }, h("header", null, this.coverage.opener), this.drawing.node, this.coverage.node), this.simulation.node));
    await this.load();
    this.watch();
    use([[["F8"], "next problem", () => this.nextProblem()], [["Z"], "fit", () => this.drawing.fit()], [["C"], "coverage", () => this.coverage.toggle()], ...this.simulation.keys(), [["Esc"], "back", () => go("/charts")]]);
  }

  close() {
    this.isOpen = false;
  }

  // The server answers as soon as the file has changed.
  async watch() {
    while (this.isOpen) {
      try {
        const found = await get(`chart?path=${encodeURIComponent(this.path)}&after=${encodeURIComponent(this.stamp)}`);
        if (!this.isOpen) return;
        if (!found.is_same) {
          await this.put(found);
          fill(this.saved, "saved just now");
        }
      } catch {
        await new Promise((passed) => setTimeout(passed, 2000));
      }
    }
  }

  async load() {
    await this.put(await get(`chart?path=${encodeURIComponent(this.path)}`));
  }

  async put(found) {
    this.stamp = found.stamp;
    const errors = found.problems.filter((one) => one.severity === "error").length;
    const notes = found.problems.filter((one) => one.severity === "note").length;
    const isReadable = Object.keys(found.states).length > 0;
    if (isReadable) this.chart = this.coverage.lines = found;
    this.coverage.outdated();
    fill(this.head, h("h1", null, this.chart?.name ?? this.path), isReadable ? h("span", { class: "muted" }, `${Object.keys(found.states).length} states · ${Object.keys(found.transitions).length} transitions`) : h("span", { class: "bad" }, this.chart ? "cannot be read as it is; the picture is of the last version that could" : "cannot be read as it is"), h("span", { class: errors ? "bad" : "good" }, found.problems.length ? `${counted(errors, "error")}, ${counted(found.problems.length - errors - notes, "warning")}${notes ? ", " + counted(notes, "note") : ""}` : "no findings"));
    const at = new Map(found.problems.map((one) => [one.line, one]));
    fill(this.source, found.source.split("\n").map((line, n) => h("div", { class: at.has(n + 1) ? `line ${at.get(n + 1).severity}` : "line", data: { line: n + 1 } }, h("span", { class: "number" }, n + 1), h("span", { class: "code" }, coloured(line)))));
    fill(this.problems, h("b", null, "Problems"), found.problems.length ? found.problems.map((one) => h("button", { type: "button", class: "problem " + one.severity, onclick: () => this.toLine(one.line) }, h("span", { class: "code" }, `${one.line}:${one.column}`), h("span", { class: "chip" }, one.code), one.message)) : h("span", { class: "muted" }, " none: rawko check has no findings"));
    if (!isReadable && !this.chart) {
      fill(this.drawing.node, h("p", { class: "empty" }, "No picture yet: the chart is drawn as soon as the file can be read."));
      this.simulation.wait();
    }
    if (!isReadable) return;
    if (!this.drawing.svg) fill(this.drawing.node, h("p", { class: "empty" }, "The chart is being drawn…"));
    await drawing("chart.svg?path=" + encodeURIComponent(this.path)).then((svg) => this.drawing.put(svg), (error) => fill(this.drawing.node, h("p", { class: "empty" }, error.message)));
    await this.simulation.restart();
  }

  toLine(line) {
    if (!line) return;
    for (const marked of this.source.querySelectorAll(".here")) marked.classList.remove("here");
    const found = this.source.querySelector(`[data-line="${line}"]`);
    found?.classList.add("here");
    found?.scrollIntoView({ block: "center" });
  }

  nextProblem() {
    const all = [...this.problems.querySelectorAll(".problem")];
    this.at = ((this.at ?? -1) + 1) % Math.max(all.length, 1);
    all[this.at]?.click();
  }
}

function counted(number, word) {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}

// Keys of YAML and comments in colours, as text nodes.
function coloured(line) {
  const found = /^(\s*(?:- )?)([\w.-]+)(:)(.*)$/.exec(line);
  if (!found) return line.trimStart().startsWith("#") ? h("span", { class: "muted" }, line) : line;
  return [found[1], h("span", { class: "yaml-key" }, found[2]), found[3], found[4]];
}

