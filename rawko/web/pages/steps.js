// The list of steps: rows of fixed height, only those in sight are elements, however long the run is.

import { h, fill } from "./dom.js";
import { clock, cost, count, took } from "./format.js";
import { ROW, look } from "./model.js";

const SPARE = 4;

export class StepList {
  constructor(model, moveTo) {
    this.model = model;
    this.moveTo = moveTo;
    this.inner = h("div", { class: "rows" });
    this.node = h("div", { class: "scroll", role: "listbox", "aria-label": "Steps", tabindex: "0" }, this.inner);
    this.node.addEventListener("scroll", () => this.paint(), { passive: true });
    this.known = new Map();
    this.seen = 0;
    new ResizeObserver(() => this.fit()).observe(this.node);
  }

  get high() {
    return innerWidth < 700 ? 46 : 26;
  }

  // The list got another size, as the plan below it came: a cursor that was in sight stays there.
  fit() {
    const top = this.offset();
    const wasInSight = top >= 0 && top < this.seen;
    this.paint(true);
    if (wasInSight) this.reveal();
  }

  paint(isAll = false) {
    const { shownRows, cursor, lanes } = this.model;
    const near = shownRows[this.model.place(cursor)];
    this.seen = this.node.clientHeight;
    this.node.parentElement?.style.setProperty("--gutter", 14 + 11 * Math.min(Math.max(lanes.length, 3), 6) + "px");
    const high = this.high;
    this.inner.style.height = shownRows.length * high + "px";
    const first = Math.max(Math.floor(this.node.scrollTop / high) - SPARE, 0);
    const last = Math.min(first + Math.ceil(this.node.clientHeight / high) + 2 * SPARE, shownRows.length);
    if (isAll) this.clear();
    for (const [place, made] of this.known) {
      if (place < first || place >= last) {
        made.remove();
        this.known.delete(place);
      }
    }
    for (let place = first; place < last; place++) {
      if (!this.known.has(place)) {
        const made = this.row(this.model.row(shownRows[place]), place);
        made.style.transform = `translateY(${place * high}px)`;
        this.known.set(place, made);
        this.inner.append(made);
      }
    }
    for (const [place, made] of this.known) {
      const number = shownRows[place];
      made.classList.toggle("selected", number === cursor);
      made.classList.toggle("near", number === near && number !== cursor);
      made.classList.toggle("after", number > cursor);
      made.setAttribute("aria-selected", String(number === cursor));
    }
  }

  clear() {
    this.known.clear();
    this.inner.replaceChildren();
  }

  // Keep the cursor in sight, without moving what is already there.
  reveal() {
    const place = this.model.place(this.model.cursor);
    const top = place * this.high;
    if (top < this.node.scrollTop) this.node.scrollTop = top - this.high;
    else if (top + 2 * this.high > this.node.scrollTop + this.node.clientHeight) this.node.scrollTop = top + 2 * this.high - this.node.clientHeight;
    this.paint();
  }

  // Where the cursor's row stands on the screen, in pixels below the top of the list; and to bring it there again.
  offset() {
    return this.model.place(this.model.cursor) * this.high - this.node.scrollTop;
  }

  toOffset(px) {
    this.node.scrollTop = this.model.place(this.model.cursor) * this.high - px;
    this.paint();
  }

  toEnd() {
    this.node.scrollTop = this.model.shownRows.length * this.high;
    this.paint();
  }

  row(row, place) {
    const kind = look(row);
    const lanes = this.model.lanes;
    const lane = lanes.indexOf(row[ROW.agent]);
    const files = this.model.filesOf(row[0]);
    const added = files.reduce((sum, file) => sum + file[2], 0);
    const removed = files.reduce((sum, file) => sum + file[3], 0);
    const money = row[ROW.cost];
    return h(
      "div",
      { class: `step ${row[ROW.isLeft] ? "left" : ""}`, role: "option", data: { step: row[0] }, onclick: () => this.moveTo(row[0], "pick") },
      h("span", { class: "number" }, row[0]),
      h("span", { class: "time" }, clock(row[ROW.seconds])),
      this.gutter(lane, kind, place),
      h(
        "span",
        { class: `bar ${kind}`, title: `${row[ROW.agent]} · ${row[ROW.event]}` },
        h("span", { class: ["tool", "command"].includes(row[ROW.kind]) ? "words code" : "words" }, row[ROW.isError] ? "✕ " : "", row[ROW.words]),
        row[ROW.detail] ? h("span", { class: "more" }, row[ROW.detail]) : null,
      ),
      h("span", { class: "files" }, added ? h("i", { class: "plus" }, "+" + added) : null, removed ? h("i", { class: "minus" }, "−" + removed) : null),
      h("span", { class: "tokens", title: money === null ? null : cost(money) }, row[ROW.tokensIn] + row[ROW.tokensOut] ? count(row[ROW.tokensIn] + row[ROW.tokensOut]) : ""),
      h("span", { class: "took" }, took(row[ROW.took])),
    );
  }

  // Where the work is, as a git graph: a column per agent, a line where it changes hands.
  gutter(lane, kind, place) {
    const before = place > 0 ? this.model.lanes.indexOf(this.model.row(this.model.shownRows[place - 1])[ROW.agent]) : lane;
    const high = this.high;
    const x = (at) => 8 + Math.max(Math.min(at, 5), 0) * 11;
    const NS = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(NS, "svg");
    svg.setAttribute("class", "gutter");
    svg.setAttribute("width", "100%");
    svg.setAttribute("height", String(high));
    svg.setAttribute("aria-hidden", "true");
    const line = document.createElementNS(NS, "path");
    const middle = high / 2;
    line.setAttribute("d", before === lane ? `M${x(lane)} ${-middle}V${middle}` : `M${x(before)} ${-middle}C${x(before)} ${middle * 0.6} ${x(lane)} ${-middle * 0.6} ${x(lane)} ${middle}`);
    if (place > 0) svg.append(line);
    const dot = document.createElementNS(NS, kind === "failure" || kind === "approval" || kind === "arbiter" ? "rect" : "circle");
    const at = x(lane);
    if (dot.localName === "circle") for (const [name, value] of [["cx", at], ["cy", middle], ["r", kind === "plain" ? 2 : 4]]) dot.setAttribute(name, value);
    else {
      for (const [name, value] of [["x", at - 4], ["y", middle - 4], ["width", 8], ["height", 8]]) dot.setAttribute(name, value);
      if (kind !== "failure") dot.setAttribute("transform", `rotate(45 ${at} ${middle})`);
    }
    dot.setAttribute("class", "dot " + kind);
    svg.append(dot);
    return svg;
  }
}

export function headings() {
  return h("div", { class: "step headings", "aria-hidden": "true" }, ["#", "time", "lanes", "what was done", "files", "tokens", "took"].map((text) => h("span", null, text)));
}

export function fillEmpty(node, text) {
  fill(node, h("p", { class: "empty" }, text));
}
