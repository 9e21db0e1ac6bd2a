// A unified diff as git prints it: files, hunks, numbered lines; unified or side by side. Every line is a text node.

import { h } from "./dom.js";

const MAX_LINES = 4000;

export function parseDiff(text) {
  const files = [];
  let file = null;
  let hunk = null;
  for (const line of text.split("\n")) {
    if (line.startsWith("diff --git ")) {
      file = { name: nameOf(line), notes: [], hunks: [], added: 0, removed: 0 };
      files.push(file);
      hunk = null;
    } else if (!file) continue;
    else if (line.startsWith("@@")) {
      const found = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
      hunk = { head: line, old: Number(found?.[1] ?? 1), new: Number(found?.[2] ?? 1), lines: [] };
      file.hunks.push(hunk);
    } else if (!hunk) {
      if (line.startsWith("+++ ") && !line.endsWith("/dev/null")) file.name = line.slice(4).replace(/^b\//, "").replace(/\t$/, "");
      else if (!/^(index|---|\+\+\+) /.test(line) && line) file.notes.push(line);
    } else if (line) {
      hunk.lines.push(line);
      if (line[0] === "+") file.added++;
      if (line[0] === "-") file.removed++;
    }
  }
  return files;
}

function nameOf(line) {
  return line.slice("diff --git ".length).split(" b/").pop();
}

// The lines of a unified diff of one file, as the server gives them for a call that waits: two of its head, then hunks.
export function diffOf(name, lines) {
  const [file] = parseDiff(["diff --git ", ...lines.slice(2)].join("\n"));
  return lines.length > 1 ? { ...file, name } : { name, notes: lines, hunks: [], added: 0, removed: 0 };
}

export function newFile(name, title, lines) {
  return { name, notes: [title], hunks: [{ head: "@@ the whole content @@", old: 1, new: 1, lines: lines.map((line) => "+" + line) }], added: lines.length, removed: 0 };
}

export function showDiff(file, isSplit = false, note = "", rest = "more lines: rawko diff shows all") {
  const body = h("div", { class: isSplit ? "diff split" : "diff", tabindex: "0" });
  let left = MAX_LINES;
  for (const hunk of file.hunks) {
    body.append(h("div", { class: "line head" }, h("span", { class: "code" }, hunk.head)));
    const rows = isSplit ? paired(hunk) : numbered(hunk);
    for (const row of rows.slice(0, left)) body.append(row);
    left -= rows.length;
    if (left < 0) {
      body.append(h("div", { class: "line head" }, `${-left} ${rest.startsWith("more") ? "" : "lines are "}${rest}`));
      break;
    }
  }
  return h(
    "section",
    { class: "file" },
    h("header", null, h("b", { class: "code" }, file.name), h("span", null, h("i", { class: "plus" }, "+" + file.added), " ", h("i", { class: "minus" }, "−" + file.removed)), h("em", null, note)),
    file.notes.map((line) => h("div", { class: "note code" }, line)),
    body,
  );
}

function numbered(hunk) {
  let old = hunk.old;
  let now = hunk.new;
  return hunk.lines.map((line) => {
    const kind = { "+": "added", "-": "removed", "\\": "note" }[line[0]] ?? "";
    const number = kind === "note" ? "" : kind === "removed" ? old : now;
    if (kind !== "added" && kind !== "note") old++;
    if (kind !== "removed" && kind !== "note") now++;
    return h("div", { class: "line " + kind }, h("span", { class: "number" }, number), h("span", { class: "sign" }, kind === "removed" ? "−" : line[0] === "+" ? "+" : ""), h("span", { class: "code" }, line.slice(1)));
  });
}

function paired(hunk) {
  const rows = [];
  let old = hunk.old;
  let now = hunk.new;
  let waiting = [];
  const flush = () => {
    for (const [number, line] of waiting) rows.push(pair(number, line, "removed", "", "", ""));
    waiting = [];
  };
  for (const line of hunk.lines) {
    if (line[0] === "-") waiting.push([old++, line.slice(1)]);
    else if (line[0] === "+") {
      const [number, text] = waiting.shift() ?? ["", null];
      rows.push(pair(number, text ?? "", text === null ? "" : "removed", now++, line.slice(1), "added"));
    } else {
      flush();
      if (line[0] !== "\\") rows.push(pair(old++, line.slice(1), "", now++, line.slice(1), ""));
    }
  }
  flush();
  return rows;
}

function pair(old, left, leftKind, now, right, rightKind) {
  return h("div", { class: "line" }, h("span", { class: "half " + leftKind }, h("span", { class: "number" }, old), h("span", { class: "code" }, left)), h("span", { class: "half " + rightKind }, h("span", { class: "number" }, now), h("span", { class: "code" }, right)));
}

// What a call of the conversation was given: of `edit` both texts, of `write` the whole content.
export function proposedDiff(call) {
  const given = call?.input ?? {};
  const name = String(given.file_path ?? "");
  if (call?.name === "edit") return blockDiff(name, String(given.old_string ?? ""), String(given.new_string ?? ""));
  if (call?.name === "write") return blockDiff(name, "", String(given.content ?? ""), "the whole content");
  return null;
}

function blockDiff(name, before, after, head = "what is replaced by what") {
  const old = before ? before.replace(/\n$/, "").split("\n") : [];
  const now = after ? after.replace(/\n$/, "").split("\n") : [];
  let same = 0;
  while (same < Math.min(old.length, now.length) && old[same] === now[same]) same++;
  let end = 0;
  while (end < Math.min(old.length, now.length) - same && old[old.length - 1 - end] === now[now.length - 1 - end]) end++;
  const lines = [...old.slice(0, same).map((l) => " " + l), ...old.slice(same, old.length - end).map((l) => "-" + l), ...now.slice(same, now.length - end).map((l) => "+" + l), ...old.slice(old.length - end).map((l) => " " + l)];
  return { name, notes: [], hunks: [{ head: `@@ ${head} @@`, old: 1, new: 1, lines }], added: now.length - same - end, removed: old.length - same - end };
}
