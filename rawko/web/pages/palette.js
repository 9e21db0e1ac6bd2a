// Jump to a run or a chart by a few letters.

import { h, fill } from "./dom.js";
import { get } from "./api.js";
import { go } from "./place.js";
import { firstLine } from "./run.js";

const SHOWN = 12;

export async function palette() {
  const input = h("input", { type: "search", placeholder: "Run, task, chart…", "aria-label": "Jump to" });
  const list = h("div", { class: "palette-list", role: "listbox" });
  const dialog = h("dialog", { class: "palette", "aria-label": "Jump to" }, input, list);
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
  const [{ runs }, { charts }] = await Promise.all([get("runs"), get("charts")]);
  const all = [...runs.map((run) => ["/runs/" + run.run, firstLine(run.task), `${run.run} ${run.outcome}`]), ...charts.map((chart) => ["/charts/" + encodeURIComponent(chart.path), chart.name, "chart " + chart.path])];
  let at = 0;
  let found = [];
  const paint = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found = all.filter(([, name, more]) => words.every((word) => `${name} ${more}`.toLowerCase().includes(word))).slice(0, SHOWN);
    at = Math.min(at, Math.max(found.length - 1, 0));
    fill(list, found.map(([path, name, more], n) => h("div", { role: "option", "aria-selected": String(n === at), onclick: () => pick(path) }, h("b", null, name), h("span", { class: "muted code" }, more))));
  };
  const pick = (path) => {
    dialog.close();
    go(path);
  };
  input.addEventListener("input", paint);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") at = Math.min(at + 1, found.length - 1);
    else if (event.key === "ArrowUp") at = Math.max(at - 1, 0);
    else if (event.key === "Enter" && found[at]) return pick(found[at][0]);
    else return null;
    event.preventDefault();
    return paint();
  });
  paint();
}
