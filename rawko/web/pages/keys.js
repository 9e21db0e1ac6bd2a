// Keys of the screen in front. A key that decides works only once the page has had the focus for half a second.

import { h } from "./dom.js";
import { popUp } from "./dialogs.js";

const SETTLE_MS = 500;
let table = [];
let focusedAt = document.hasFocus() ? performance.now() : Infinity;

addEventListener("focus", () => (focusedAt = performance.now()));
addEventListener("blur", () => (focusedAt = Infinity));
document.addEventListener("visibilitychange", () => (focusedAt = document.hidden ? Infinity : performance.now()));

// Each: [names, words, act, isDeciding]. The footer shows the first ones.
export function use(keys, most = 9) {
  table = keys;
  const footer = document.querySelector(".foot-keys");
  footer?.replaceChildren(...keys.filter(([, words]) => words).slice(0, most).map(([names, words]) => h("span", null, names.slice(0, 3).map((name) => h("kbd", null, name)), " ", words)), h("span", null, h("kbd", null, "?"), " all keys"));
}

export function isSettled() {
  return performance.now() - focusedAt >= SETTLE_MS;
}

addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key === "Escape" && isTyping) return event.target.blur();
  if (event.defaultPrevented || isTyping || document.querySelector("dialog[open]")) return null;
  if (event.altKey || ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() !== "k")) return null;
  const name = keyName(event);
  if (name === "?") return help();
  const found = table.find(([names]) => names.includes(name));
  if (!found) return null;
  const [, , act, isDeciding] = found;
  event.preventDefault();
  if (isDeciding && (!isSettled() || event.repeat)) return null;
  return act(event);
});

function keyName(event) {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") return "⌘K";
  const named = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "Space", Enter: "↵", Escape: "Esc" }[event.key];
  if (named) return event.shiftKey ? "⇧" + named : named;
  if (event.key.length > 1) return event.key;
  const upper = event.key.toUpperCase();
  return event.shiftKey && upper !== event.key.toLowerCase() ? "⇧" + upper : upper;
}

export function help() {
  popUp("Keys", h("div", { class: "help" }, table.filter(([, words]) => words).map(([names, words]) => h("div", null, h("span", null, names.map((name) => h("kbd", null, name))), h("span", null, words)))));
}
