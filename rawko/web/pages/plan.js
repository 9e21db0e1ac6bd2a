// The plan as it stood at the cursor: each step with its state, who worked on it, and the run's step that made it so.

import { h, fill } from "./dom.js";

const PLAN_MARKS = { pending: "○", in_progress: "▸", complete: "✓", failed: "✕", skipped: "–" };
const FINISHED = new Set(["complete", "skipped"]);

export class PlanPanel {
  constructor(model, moveTo) {
    this.model = model;
    this.moveTo = moveTo;
    this.isOpen = innerWidth >= 700;
    this.node = h("footer", { class: "plan", hidden: true });
  }

  // Changes of the plan, in order: [number, [[words, status, agent], ...]]; those that are known already are left out.
  take(changes) {
    const { plans } = this.model;
    for (const one of changes ?? []) if (!plans.length || one[0] > plans[plans.length - 1][0]) plans.push(one);
    this.paint(true);
  }

  paint(isNew = false) {
    const { plans, cursor } = this.model;
    let at = plans.length - 1;
    while (at >= 0 && plans[at][0] > cursor) at--;
    if (at === this.painted && !isNew) return;
    this.painted = at;
    const steps = at < 0 ? [] : plans[at][1];
    this.node.hidden = !steps.length;
    if (!steps.length) return;
    const done = steps.filter(([, status]) => FINISHED.has(status)).length;
    const now = steps.find(([, status]) => status === "in_progress") ?? steps.find(([, status]) => !FINISHED.has(status));
    fill(
      this.node,
      h(
        "details",
        { open: this.isOpen, ontoggle: (event) => (this.isOpen = event.target.open) },
        h("summary", null, h("b", null, "Plan"), h("span", { class: "muted" }, ` ${done} of ${steps.length} `), now ? h("span", { class: "plan-now" }, now[0]) : null),
        h("ol", null, steps.map((step, n) => h("li", null, this.row(step, this.since(at, n))))),
      ),
    );
  }

  row([words, status, agent], since) {
    return h("button", { type: "button", class: "plan-row " + status, title: `${status.replace("_", " ")} since step ${since}`, onclick: () => this.moveTo(since, "pick") }, h("span", { class: "sign", "aria-label": status.replace("_", " ") }, PLAN_MARKS[status] ?? "○"), h("span", null, words), h("span", { class: "muted" }, agent), h("span", { class: "muted number" }, since));
  }

  // The step of the run since which a step of the plan has had its words and its state without a break.
  since(at, n) {
    const { plans } = this.model;
    const is = ([words, status]) => `${status} ${words}`;
    const now = is(plans[at][1][n]);
    while (at > 0 && plans[at - 1][1][n] && is(plans[at - 1][1][n]) === now) at--;
    return plans[at][0];
  }
}
