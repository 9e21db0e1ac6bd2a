// Asks how much a run may use that has used up its budget; by the names of the settings, or null.

import { h } from "./dom.js";
import { askPerson } from "./dialogs.js";

const FIELDS = [["budget.cost_usd", "Cost in US dollars, all in all", Number], ["budget.tokens", "Tokens, all in all", Number], ["budget.time", "Time at work, such as 2h", String]];

export async function askBudget() {
  const inputs = FIELDS.map(([name, label]) => h("input", { type: "text", inputmode: name === "budget.time" ? "text" : "decimal", "aria-label": label }));
  const body = h("div", { class: "fields" }, h("p", null, "It stopped at the end of its budget, and goes on from there. What is left empty stays as it is."), FIELDS.map(([, label], n) => h("label", null, h("span", null, label), inputs[n])));
  const said = await askPerson({ title: "A larger budget", body, yes: "Go on" });
  const given = FIELDS.map(([name, , kind], n) => [name, inputs[n].value.trim(), kind]).filter(([, text]) => text);
  return said && Object.fromEntries(given.map(([name, text, kind]) => [name, kind === Number && Number.isFinite(Number(text)) ? Number(text) : text]));
}
