// An approval in full: left exactly what will happen and what led here, right the answers.

import { h, fill, button } from "./dom.js";
import { get } from "./api.js";
import { ROW, look } from "./model.js";
import { cost, exact, took } from "./format.js";
import { facts, message, value } from "./detail.js";
import { diffOf, newFile, showDiff } from "./diff.js";

export function review(model, actions, close) {
  const { needs } = model.view;
  const changesFile = ["write", "edit"].includes(needs.call?.name);
  const made = h("div", { class: "proposal" }, changesFile ? h("p", { class: "empty" }, "reading the file as it is now…") : null);
  const command = needs.call?.input?.command;
  const reason = h("textarea", { rows: 2, placeholder: "Reason, sent to the agent as the result of its call…", "aria-label": "Reason" });
  const led = h("div", { class: "led" });
  const rule = h("div", { class: "kept-rule" });
  const node = h(
    "section",
    { class: "review" },
    h("header", null, h("h1", null, "May ", needs.agent || "the agent", changesFile ? " " : " run ", h("span", { class: "code" }, [needs.call?.name ?? "this", changesFile ? needs.call.input?.file_path : ""].filter(Boolean).join(" ")), "?"), h("span", { class: "muted" }, `step ${needs.number} · ${model.view.run}`), button("Back", "Esc", close)),
    h(
      "div",
      { class: "review-left panel" },
      made,
      command !== undefined ? [h("h3", null, "the whole command, run in"), h("div", { class: "code muted" }, model.view.workspace), h("pre", { class: "command", tabindex: "0" }, String(command))] : null,
      h("details", { open: !changesFile && command === undefined }, h("summary", null, "the call as it is"), value(needs.call ?? needs.text)),
      h("h3", null, "what led here"),
      led,
    ),
    h(
      "aside",
      { class: "review-right" },
      h(
        "section",
        { class: "panel answers" },
        h("header", null, h("b", null, "Answer"), h("span", { class: "muted code" }, `rawko approve ${model.view.run}`)),
        button("Approve once", "A", () => actions.approve("once"), "primary wide"),
        button(`Approve ${needs.call?.name ?? "this tool"} for the rest of this run…`, "T", () => actions.approve("tool"), "wide"),
        rule,
        button("Approve everything in this run…", "W", () => actions.approve("always"), "wide"),
        reason,
        button("Deny with this reason", "D", () => actions.send("deny", reason.value), "danger wide"),
      ),
      h("section", { class: "panel" }, h("header", null, h("b", null, "Who asks")), facts([["agent", needs.agent], ["tool", h("code", null, needs.call?.name ?? "–")], ["folder", model.view.workspace], ["so far", soFar(model)]])),
    ),
  );
  const before = model.shownRows.filter((n) => n < needs.number).slice(-4);
  fill(led, before.map((n) => model.row(n)).map((row) => h("div", { class: "led-row" }, h("span", { class: "number" }, row[0]), h("span", { class: "bar " + look(row) }, h("span", { class: "words" }, row[ROW.words]), h("span", { class: "more" }, row[ROW.detail])), h("span", { class: "muted" }, took(row[ROW.took])))));
  const path = String(needs.call?.input?.file_path ?? "");
  get(`runs/${model.view.run}/proposal`).then(
    (found) => {
      if (found.asked !== needs.number) return fill(made, h("p", { class: "warning" }, "Another call waits by now; go back to see it."));
      actions.offer(found);
      fill(rule, found.rule ? [button("Keep a rule for calls like this…", "R", () => actions.keepRule(), "wide"), h("code", null, found.rule)] : h("span", { class: "muted" }, "No rule can be kept: ", found.why_no_rule));
      return changesFile && fill(made, proposed(path, found, model.view.run));
    },
    (error) => fill(made, h("p", { class: "warning" }, error.message)),
  );
  get(`runs/${model.view.run}/moments/${needs.number}`).then((found) => {
    const last = [...found.conversation].reverse().find((said) => said.role === "assistant");
    if (last) led.append(message({ ...last, content: (Array.isArray(last.content) ? last.content : []).filter((one) => one.type === "text" || one.type === "thinking") }));
  }, () => {});
  return node;
}

function soFar(model) {
  const used = model.isPart ? null : model.sums[Math.min(model.view.needs.number, model.sums.length) - 1];
  return [`${model.view.steps} steps`, used?.tokens ? `${exact(used.tokens)} tokens` : "", used?.cost ? cost(used.cost) : ""].filter(Boolean).join(" · ");
}

// The change of the file on disk, the whole of a new file; where a passage is not in the file, the call's own texts.
function proposed(path, { title, is_diff, lines }, run) {
  const note = "exactly what will be written; not written yet";
  const rest = `not shown here; all of it: rawko approve ${run}`;
  if (is_diff) return showDiff(diffOf(path, lines), false, note, rest);
  if (title.startsWith("write ")) return showDiff(newFile(path, title, lines), false, note, rest);
  return [h("p", { class: "warning" }, title), h("pre", { tabindex: "0" }, lines.join("\n"))];
}
