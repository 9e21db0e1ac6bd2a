// The chart of a machine, drawn by rawko as SVG; this toggles classes on it: active, path, now, after; heat as a tint.

import { h, s, fill, choice, plain } from "./dom.js";
import { drawing } from "./api.js";
import { cost, count, took } from "./format.js";

const HEATS = [["visits", "visits"], ["time", "time"], ["tokens", "tokens"], ["cost", "cost"]];
const sheets = new Map();

// The drawing brings its own style sheet; as an element it would be refused, as an adopted one it is data.
function adopt(svg) {
  for (const style of [...svg.querySelectorAll("style, metadata.sheet")]) {
    const rules = style.textContent;
    if (!sheets.has(rules)) {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(rules);
      sheets.set(rules, sheet);
      document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    }
    style.remove();
  }
}

// What a drawing may hold: shapes and text. Anything that could load or run something is removed.
function clean(svg) {
  for (const element of [...svg.querySelectorAll("script, foreignObject, image, use, a, animate, set, iframe")]) element.remove();
  for (const element of [svg, ...svg.querySelectorAll("*")]) for (const { name } of [...element.attributes]) if (/^on|href|^style$/i.test(name)) element.removeAttribute(name);
}

export class Drawing {
  constructor(onState, onTransition) {
    this.node = h("div", { class: "drawing", tabindex: "0", role: "group", "aria-label": "Chart" });
    this.svg = null;
    this.scale = 0;
    this.node.addEventListener("click", (event) => {
      const state = event.target.closest?.("[data-state]")?.dataset.state;
      const transition = transitionOf(event.target);
      if (transition !== null && onTransition) onTransition(transition);
      else if (state && onState) onState(state);
    });
    this.node.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 200));
    }, { passive: false });
  }

  put(svg) {
    clean(svg);
    adopt(svg);
    this.svg = svg;
    this.byTransition = byTransition(svg);
    const box = svg.viewBox.baseVal;
    this.width = box.width;
    svg.removeAttribute("width");
    svg.removeAttribute("height");
    fill(this.node, svg);
    this.fit();
  }

  // As wide as the panel, but never smaller than can be read, and never larger than drawn.
  fit() {
    if (!this.svg) return;
    const room = this.node.clientWidth - 16;
    this.scale = Math.min(Math.max(room / this.width, 0.72), 1.15);
    this.apply();
  }

  zoom(by) {
    this.scale = Math.min(Math.max(this.scale * by, 0.1), 3);
    this.apply();
  }

  apply() {
    this.svg.style.width = this.width * this.scale + "px";
  }

  parts(index) {
    return this.byTransition?.get(Number(index)) ?? [];
  }

  light({ active = [], path = new Set(), now = new Set(), extra = {} }) {
    if (!this.svg) return;
    const on = new Set(active);
    for (const element of this.svg.querySelectorAll("[data-state]")) element.classList.toggle("active", on.has(element.dataset.state));
    for (const element of this.svg.querySelectorAll(".path, .now, .taken")) element.classList.remove("path", "now", "taken");
    for (const index of path) for (const element of this.parts(index)) element.classList.add("path");
    for (const index of now) for (const element of this.parts(index)) element.classList.add("now");
    for (const [name, indexes] of Object.entries(extra)) for (const index of indexes) for (const element of this.parts(index)) element.classList.add(name);
  }

  heat(values, words) {
    if (!this.svg) return;
    for (const badge of this.svg.querySelectorAll(".heat-badge")) badge.remove();
    const most = Math.max(...values.values(), 0);
    for (const element of this.svg.querySelectorAll("[data-state]")) {
      const value = values.get(element.dataset.state) ?? 0;
      const shape = element.querySelector(":scope > .shape, :scope > rect");
      if (!shape) continue;
      const isLeaf = element.classList.contains("leaf") || !element.classList.contains("container");
      shape.style.fill = "";
      if (!value || !most || !isLeaf) continue;
      shape.style.fill = `color-mix(in srgb, var(--heat) ${Math.round(8 + 42 * (value / most))}%, var(--panel))`;
      const box = shape.getBBox?.();
      if (!box?.width) continue;
      const label = words(value);
      const wide = 9 + label.length * 6.4;
      const badge = s("g", { class: "heat-badge", transform: `translate(${box.x + box.width - wide + 8} ${box.y - 9})` });
      badge.append(s("rect", { width: wide, height: 18, rx: 9 }), s("text", { x: wide / 2, y: 12.5, "text-anchor": "middle" }, label));
      element.append(badge);
    }
  }

  see(state) {
    const found = [...(this.svg?.querySelectorAll("[data-state]") ?? [])].find((element) => element.dataset.state === state);
    if (!found) return;
    const shape = found.getBoundingClientRect();
    const box = this.node.getBoundingClientRect();
    if (shape.top < box.top || shape.bottom > box.bottom) this.node.scrollTop += shape.top + shape.height / 2 - box.top - box.height / 2;
    if (shape.left < box.left || shape.right > box.right) this.node.scrollLeft += shape.left + shape.width / 2 - box.left - box.width / 2;
  }
}

// The elements of each transition, found once: a chart of thousands of states is not searched anew for every transition.
function byTransition(svg) {
  const found = new Map();
  const add = (index, element) => (found.get(index) ?? found.set(index, new Set()).get(index)).add(element);
  for (const element of svg.querySelectorAll("[class], [data-transition]")) {
    for (const name of element.classList) if (/^t\d+$/.test(name)) add(Number(name.slice(1)), element);
    for (const index of element.dataset.transition?.split(" ") ?? []) if (index) add(Number(index), element);
  }
  return found;
}

export function transitionOf(element) {
  const found = element.closest?.("[data-transition]");
  if (found) return Number(found.dataset.transition.split(" ")[0]);
  for (let at = element; at && at.classList; at = at.parentElement) {
    const name = [...at.classList].find((one) => /^t\d+$/.test(one));
    if (name) return Number(name.slice(1));
  }
  return null;
}

// The chart panel of a run: one tab per machine, the path so far, heat.
export class RunChart {
  constructor(model, onState) {
    this.model = model;
    this.heat = "visits";
    this.chosen = null;
    this.drawings = new Map();
    this.tabs = h("div", { class: "bar-left" });
    this.body = h("div", { class: "chart-body" });
    this.outline = h("div", { class: "chips" });
    this.node = h(
      "section",
      { class: "panel chart" },
      h("header", null, this.tabs, (this.heatBox = h("div", { class: "bar-right" }))),
      this.outline,
      this.body,
      h("footer", null, h("span", { class: "key active" }, "active"), h("span", { class: "key now" }, "this step"), h("span", { class: "key path" }, "before"), h("span", { class: "key heat" }, "heat"), h("button", { class: "link", type: "button", onclick: () => this.fit() }, h("kbd", null, "Z"), " fit")),
    );
    this.onState = onState;
  }

  fit() {
    this.drawings.get(this.shown)?.fit();
  }

  pick(chart) {
    this.chosen = chart;
    this.paint();
  }

  async paint() {
    const { charts, cursor } = this.model;
    if (!charts.length) {
      if (this.model.problem) fill(this.body, h("p", { class: "empty" }, "The way through the chart cannot be told: ", this.model.problem));
      return;
    }
    const at = this.chosen ?? this.model.chartAt(cursor);
    if (!this.hasTree) fill(this.tabs, choice("Machine", charts.map((chart, n) => [n, chart.name]), at, (n) => this.pick(n)));
    fill(this.heatBox, h("span", { class: "muted" }, "heat"), choice("Heat", HEATS.filter(([id]) => this.heats?.includes(id) ?? true), this.heat, (heat) => ((this.heat = heat), this.paint())));
    const standing = this.model.standing(at, cursor);
    fill(this.outline, standing.active.slice(1).map((state, n, all) => [n ? h("span", { class: "muted" }, "›") : null, h("span", { class: n === all.length - 1 ? "chip active" : "chip" }, state)]));
    if (charts[at].states > 1200) {
      this.asOutline(charts[at], standing);
      return;
    }
    const id = charts[at].id ?? charts[at].name;
    let drawn = this.drawings.get(id);
    if (!drawn) {
      drawn = new Drawing(this.onState);
      this.drawings.set(id, drawn);
      try {
        drawn.put(await drawing(`runs/${this.model.view.run}/charts/${encodeURIComponent(id)}`));
      } catch (error) {
        this.drawings.delete(id);
        fill(this.body, h("p", { class: "empty" }, error.message));
        return;
      }
    }
    if (this.shown !== id || !this.body.contains(drawn.node)) {
      this.shown = id;
      fill(this.body, drawn.node);
      drawn.fit();
    }
    drawn.light({ active: standing.active, path: standing.taken, now: standing.step === cursor ? standing.now : new Set() });
    drawn.heat(standing[this.heat], { visits: (n) => n + "×", time: took, tokens: count, cost }[this.heat]);
    if (standing.active.length) drawn.see(standing.active[standing.active.length - 1]);
  }

  // A chart of thousands of states is no picture: the active states and those visited, as a list.
  asOutline(chart, standing) {
    this.shown = null;
    const visited = [...standing.visits].sort((a, b) => b[1] - a[1]).slice(0, 200);
    fill(
      this.body,
      h("div", { class: "outline" }, h("p", { class: "muted" }, `${chart.states} states: too many for a picture; those that were visited, most often first`), visited.map(([state, times]) => h("div", { class: standing.active.includes(state) ? "chip active" : "chip", title: plain(state) }, state, h("b", null, ` ${times}×`)))),
    );
  }
}
