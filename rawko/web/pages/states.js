// The state of a run: one mark (shape and colour), one word. Shape and colour always say the same.

import { h, s } from "./dom.js";

export function stateOf(view) {
  if (view.needs) return view.needs.kind === "approval" ? "approval" : view.needs.kind === "budget" ? "limit" : "answer";
  if (view.is_at_work) return "working";
  return { success: "success", failure: "failure", cancelled: "cancelled", limit: "limit", damaged: "failure", running: "working", dead: "dead", queued: "queued" }[view.outcome] ?? "stopped";
}

export const WORDS = { approval: "approval", answer: "answer", working: "working", success: "success", failure: "failure", cancelled: "cancelled", limit: "limit", dead: "dead", queued: "queued", stopped: "interrupted" };

const SHAPES = {
  success: ["circle", { cx: 8, cy: 8, r: 6.5 }, "M5 8.2l2.2 2.2L11.2 6"],
  failure: ["path", { d: "M5.2 1.5h5.6l3.7 3.7v5.6l-3.7 3.7H5.2l-3.7-3.7V5.2z" }, "M5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4"],
  approval: ["path", { d: "M8 .8L15.2 8 8 15.2.8 8z" }, "M6.6 5.5v5M9.4 5.5v5"],
  answer: ["path", { d: "M8 .8L15.2 8 8 15.2.8 8z" }, "M6.4 6.3a1.7 1.7 0 1 1 2.3 1.6c-.5.2-.7.5-.7 1M8 10.7v.6"],
  limit: ["rect", { x: 2, y: 2, width: 12, height: 12, rx: 2 }, "M5 8h6"],
  cancelled: ["circle", { cx: 8, cy: 8, r: 6.2 }, "M4 12L12 4"],
  dead: ["path", { d: "M5.2 1.5h5.6l3.7 3.7v5.6l-3.7 3.7H5.2l-3.7-3.7V5.2z" }, "M5 8h6"],
  queued: ["circle", { cx: 8, cy: 8, r: 6.2 }, "M8 4.6V8l2.2 1.6"],
  working: ["circle", { cx: 8, cy: 8, r: 5.6 }, ""],
  stopped: ["rect", { x: 2.5, y: 2.5, width: 11, height: 11, rx: 2 }, ""],
};

export function mark(state) {
  const [shape, at, sign] = SHAPES[state];
  return s("svg", { class: "state-mark " + state, viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, s(shape, { class: "ground", ...at }), sign ? s("path", { class: "sign", d: sign }) : null);
}

// Whether the state's word is the outcome itself, so that it need not be said beside it.
export function isSaid(view) {
  return wordOf(view) === view.outcome;
}

function wordOf(view) {
  const state = stateOf(view);
  return state === "stopped" ? view.outcome : WORDS[state];
}

export function stateCell(view) {
  const state = stateOf(view);
  const word = wordOf(view);
  return h("span", { class: "state " + state }, mark(state), h("span", null, word));
}
