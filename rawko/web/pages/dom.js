// Makes elements. Every text becomes a text node: no name, message or diff of a run can become markup.

const SVG = "http://www.w3.org/2000/svg";
// Controls, bidirectional controls, zero width, tags, lone surrogates: shown as marks, since they hide or reorder text.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export function h(tag, props, ...children) {
  const made = document.createElement(tag);
  set(made, props);
  add(made, children);
  return made;
}

export function s(tag, props, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props ?? {})) made.setAttribute(name, value);
  add(made, children);
  return made;
}

export function set(made, props) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(made.style, value);
    else if (name === "data") Object.assign(made.dataset, value);
    else if (name === "value" || name === "checked" || name === "disabled") made[name] = value;
    else made.setAttribute(name, value === true ? "" : name === "title" || name === "aria-label" ? plain(value) : value);
  }
}

export function add(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : shown(String(child)));
  }
}

export function fill(parent, ...children) {
  parent.replaceChildren();
  add(parent, children);
  return parent;
}

// A text with its hidden characters as marks.
export function shown(text) {
  if (text.search(HIDDEN) < 0) return document.createTextNode(text);
  const made = document.createDocumentFragment();
  let last = 0;
  for (const found of text.matchAll(HIDDEN)) {
    made.append(text.slice(last, found.index), h("span", { class: "mark", title: "a hidden character" }, codeOf(found[0])));
    last = found.index + found[0].length;
  }
  made.append(text.slice(last));
  return made;
}

// The same where only text can stand: titles, drawings on a canvas.
export function plain(text) {
  return String(text).replace(HIDDEN, (found) => "‹" + codeOf(found) + "›");
}

function codeOf(char) {
  return "U+" + char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
}

export function key(...names) {
  return names.map((name) => h("kbd", null, name));
}

export function button(label, shortcut, act, kind = "") {
  const made = h("button", { class: "button " + kind, type: "button", onclick: act }, h("span", null, label));
  if (shortcut) made.append(h("kbd", { "aria-hidden": "true" }, shortcut));
  return made;
}

// A group of buttons of which one is on.
export function choice(name, options, now, pick) {
  const made = h("div", { class: "choice", role: "group", "aria-label": name });
  for (const [value, label] of options) {
    made.append(h("button", { type: "button", "aria-pressed": String(value === now), onclick: () => pick(value) }, label));
  }
  return made;
}
