// The screen of one run: strip, chart, steps and detail are four views of one cursor; move one, all move.

import { h, fill, button, choice } from "./dom.js";
import { get, isOffline } from "./api.js";
import { listen } from "./stream.js";
import { Actions } from "./actions.js";
import { RunChart } from "./chart.js";
import { Detail, TABS } from "./detail.js";
import { clock, cost, exact } from "./format.js";
import { use } from "./keys.js";
import { RunModel, ROW } from "./model.js";
import { PlanPanel } from "./plan.js";
import { review } from "./review.js";
import { isSaid, stateCell, stateOf } from "./states.js";
import { StepList, headings } from "./steps.js";
import { Strip } from "./strip.js";
import { fleetFacts } from "./fleet.js";
import { remember, go } from "./place.js";

const PART = 100;
const ANSWERS = ["A", "T", "R", "W", "D", "Esc"];

export class RunScreen {
  constructor(run, step, tab) {
    this.run = run;
    this.wanted = step;
    this.tab = tab;
    this.node = h("main", { class: "screen run" }, h("p", { class: "empty" }, " "));
    this.newer = 0;
    this.told = 0;
  }

  async open() {
    const [{ view }, first] = await Promise.all([get(`runs/${this.run}`), get(`runs/${this.run}/steps${this.part()}`)]);
    this.first = first;
    const model = (this.model = new RunModel(view));
    Object.assign(model, { cursor: 1, isFollowing: !this.wanted && view.is_at_work });
    this.actions = this.makeActions(model);
    const moveTo = (step, how) => this.moveTo(step, how);
    this.strip = new Strip(model, moveTo);
    this.list = new StepList(model, moveTo);
    this.chart = new RunChart(model, (state) => this.toVisit(state));
    this.detail = new Detail(model, this.acts());
    if (this.tabList.some(([id]) => id === this.tab)) this.detail.tab = this.tab;
    this.build();
    this.unlisten = listen((event) => this.heard(event));
    await this.load();
  }

  get tabList() {
    return TABS;
  }

  // What the first screen needs: the steps around the one of the address, else the latest ones. The others follow.
  part() {
    if (isOffline) return "";
    return this.wanted ? `?after=${Math.max(this.wanted - PART / 2, 0)}&most=${PART}` : `?last=${PART}`;
  }

  makeActions(model) {
    return new Actions(model, this);
  }

  // What the detail lets a person do.
  acts() {
    return { tab: (tab) => this.pickTab(tab), tabs: TABS, ...(this.model.view.fleet ? {} : { rewind: () => this.actions.rewind(), fork: () => this.actions.fork() }), pin: () => this.actions.pin() };
  }

  close() {
    this.isClosed = true;
    this.unlisten?.();
    clearInterval(this.playing);
  }

  build() {
    this.header = h("header", { class: "run-head" });
    this.newButton = h("button", { class: "newer", type: "button", hidden: true, onclick: () => this.follow() });
    this.find = h("input", { type: "search", placeholder: "Find…", "aria-label": "Find in steps", oninput: () => this.search() });
    this.listHead = h("header");
    this.plan = new PlanPanel(this.model, (step, how) => this.moveTo(step, how));
    const steps = h("section", { class: "panel steps" }, this.listHead, headings(), this.list.node, this.newButton, this.plan.node);
    this.body = h("div", { class: "run-body", data: { show: "steps" } }, this.chart.node, steps, this.detail.node);
    this.phone = h("nav", { class: "phone-tabs", "aria-label": "Views" }, [["steps", "Steps"], ["chart", "Chart"], ["why", "Why"], ["files", "Files"], ["more", "More"]].map(([id, label]) => h("button", { type: "button", data: { id }, "aria-pressed": String(id === "steps"), onclick: () => this.pickPhone(id) }, label)));
    this.trouble = h("p", { class: "warning trouble", hidden: true });
    fill(this.node, this.header, this.trouble, this.actions.banner, this.strip.node, this.body, this.phone);
    this.keys();
  }

  // The steps of the first answer are shown at once; where they are a part, the part's path, then all steps, then all of
  // the path come behind them.
  async load() {
    if (this.isLoading) return;
    this.isLoading = true;
    try {
      const { first, model } = this;
      this.first = null;
      if (first) await this.show(first);
      const { cursor } = model;
      if (model.isPart) await this.loadRest(first !== null);
      else await this.loadNewer(first);
      while (this.hasMissed && !this.isClosed) await this.loadNewer();
      if (model.isFollowing) this.moveTo(this.lastShown(), "follow");
      else if (first && cursor !== model.cursor) this.moveTo(model.cursor, "open");
    } finally {
      this.isLoading = false;
    }
    await Promise.all([this.loadPath(), this.loadPlans()]);
  }

  async loadPlans() {
    const { plans } = await get(`runs/${this.run}/plans`).catch(() => ({ plans: [] }));
    this.model.plans = [];
    this.plan.take(plans);
  }

  async show(first) {
    const { model } = this;
    model.isPart = this.part() !== "" && first.rows.length < first.count;
    model.skip(first.first);
    model.append(first.rows);
    model.cursor = Math.min(this.wanted || this.opening(), model.last) || 1;
    this.paintAll();
    performance.mark("rawko-rows");
    if (model.isPart) await this.loadPath(`after=${first.first}&most=${first.rows.length}`);
  }

  async loadNewer(found) {
    const { model } = this;
    this.hasMissed = false;
    while (!this.isClosed && (!found || model.last < found.count)) {
      found = await get(`runs/${this.run}/steps?after=${model.last}`);
      model.skip(found.first);
      model.append(found.rows);
      this.strip.draw();
      this.list.paint();
      if (!found.rows.length) return;
      if (model.isFollowing) this.moveTo(this.lastShown(), "follow");
    }
  }

  // All steps from the first on; what is shown stays until they are there, and where it is on the screen after that.
  async loadRest(isFirst) {
    const { model } = this;
    const atFirst = model.cursor;
    const rows = [];
    for (let count = 1; rows.length < count && !this.isClosed; ) {
      const found = await get(`runs/${this.run}/steps?after=${rows.length}`);
      if (!found.rows.length) break;
      for (const row of found.rows) rows.push(row);
      count = Math.max(found.count, model.last);
    }
    if (this.isClosed) return;
    const shown = this.list.offset();
    const cursor = model.cursor;
    model.begin(rows);
    if (isFirst && !this.wanted && cursor === atFirst) model.cursor = this.opening();
    this.list.paint(true);
    this.list.toOffset(shown);
    this.paintListHead();
    this.paintHeader();
    this.strip.draw();
  }

  // The path from the first step on, or of a part. A part's is shown until the whole one is there.
  async loadPath(part = "") {
    const { model } = this;
    if (this.isLoadingPath) return;
    this.isLoadingPath = true;
    const moves = model.hasWholePath ? model.moves : [];
    try {
      for (;;) {
        const found = await get(`runs/${this.run}/path?${part || `after=${moves.length}`}`).catch((error) => ({ problem: error.message, moves: [], charts: [] }));
        if (this.isClosed) return;
        if (found.moves.length) model.skipMoves(found.moves[0][0] - 1, moves);
        for (const move of found.moves) if (move[0] === moves.length + 1) moves.push(move);
        if (part || !found.moves.length || moves.length >= model.last) {
          model.takePath(moves, found, !part);
          break;
        }
      }
    } finally {
      this.isLoadingPath = false;
    }
    this.chart.paint();
    if (!part) performance.mark("rawko-path");
  }

  // Where a run opens: at the failing step of a failed one, at the question of one that waits, else at its end.
  opening() {
    const { rows, view } = this.model;
    if (view.needs?.number) return view.needs.number;
    if (view.outcome === "failure") {
      const failed = [...rows].reverse().find((row) => row[ROW.isError] && row[ROW.kind] !== "end");
      if (failed) return failed[0];
    }
    return this.lastShown();
  }

  lastShown() {
    return this.model.shownRows[this.model.shownRows.length - 1] ?? this.model.last;
  }

  // ---------------------------------------------------------------- moving

  moveTo(step, how = "hand") {
    const { model } = this;
    if (!step) return;
    model.cursor = step;
    if (how !== "follow" && how !== "open") model.isFollowing = false;
    if (how !== "follow") clearInterval(how === "play" ? null : this.playing);
    if (how === "follow") this.newer = 0;
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.paint(how);
    });
  }

  move(by) {
    const { model } = this;
    const at = model.place(model.cursor);
    const isHidden = model.shownRows[at] !== model.cursor; // then the shown step before it is one up
    const place = Math.min(Math.max(at + by + (isHidden && by < 0 ? 1 : 0), 0), model.shownRows.length - 1);
    this.moveTo(model.shownRows[place]);
  }

  moveSameAgent(by) {
    const { model } = this;
    const agent = model.row(model.cursor)[ROW.agent];
    for (let place = model.place(model.cursor) + by; place >= 0 && place < model.shownRows.length; place += by) {
      if (model.row(model.shownRows[place])[ROW.agent] === agent) return this.moveTo(model.shownRows[place]);
    }
    return null;
  }

  toVisit(state) {
    const { model } = this;
    const chart = this.chart.chosen ?? model.chartAt(model.cursor);
    const visits = model.moves.filter((move) => move[2] === chart && move[4].includes(state)).map((move) => move[0]);
    const next = visits.find((n) => n > model.cursor) ?? visits[0];
    if (next) this.moveTo(next);
  }

  follow() {
    this.model.isFollowing = true;
    this.moveTo(this.lastShown(), "follow");
    this.list.toEnd();
    this.paintListHead();
  }

  play() {
    clearInterval(this.playing);
    if (this.isPlaying) return (this.isPlaying = false);
    this.isPlaying = true;
    this.playing = setInterval(() => {
      const at = this.model.place(this.model.cursor);
      if (at + 1 >= this.model.shownRows.length) return this.play();
      return this.moveTo(this.model.shownRows[at + 1], "play");
    }, 350);
    return true;
  }

  // ---------------------------------------------------------------- painting

  paintAll() {
    this.list.paint(true);
    this.paintListHead();
    this.paint("open");
  }

  paint(how) {
    const { model } = this;
    this.chart.chosen = null;
    this.paintHeader();
    this.actions.paintBanner();
    this.strip.draw();
    if (how === "follow") this.list.toEnd();
    this.list.reveal();
    this.plan.paint();
    this.detail.paint();
    if (model.moves.length) this.chart.paint();
    remember(`/runs/${this.run}/${model.cursor}/${this.detail.tab}`);
  }

  paintHeader() {
    const { model } = this;
    const { view } = model;
    this.trouble.hidden = !view.fleet || !view.problem;
    fill(this.trouble, view.problem);
    const sum = model.sums[model.cursor - 1] ?? { tokens: 0, cost: null, added: 0, removed: 0, paths: 0 };
    const all = model.sums[model.sums.length - 1] ?? sum;
    const upTo = (text) => (model.isPart ? "…" : text);
    const row = model.row(model.cursor);
    const end = model.row(model.last);
    const number = (label, now, whole) => h("div", { class: "figure" }, h("span", null, label), h("b", null, now), whole === null ? null : h("em", null, " / ", whole));
    fill(
      this.header,
      h("div", { class: "run-title" }, stateCell(view), h("div", null, h("h1", null, firstLine(view.task)), h("span", { class: "code muted" }, view.run), h("span", { class: "muted" }, view.fleet ? ` · ${fleetFacts(view)}` : isSaid(view) ? null : ` · ${view.outcome}`, view.parent ? h("a", { href: `#/runs/${view.parent.run}/${view.parent.step}` }, ` · fork of ${view.parent.run}@${view.parent.step}`) : null))),
      h("div", { class: "figures" }, number("step", model.cursor, model.last), number("time", clock(row?.[ROW.seconds]), clock(end?.[ROW.seconds])), number("tokens", upTo(exact(sum.tokens)), upTo(exact(all.tokens))), number("cost", upTo(cost(sum.cost)), cost((model.isPart ? null : all.cost) ?? view.cost_usd)), number("files", upTo([sum.paths, h("i", { class: "plus" }, " +" + sum.added)]), upTo([all.paths, h("i", { class: "plus" }, " +" + all.added), h("i", { class: "minus" }, " −" + all.removed)]))),
      isOffline ? null : h("div", { class: "buttons" }, stateOf(view) === "stopped" && view.outcome === "interrupted" ? button("Resume", "", () => this.actions.resume(), "primary") : null, this.canRequeue ? button("Requeue", "", () => this.actions.requeue(), "primary") : null, view.fleet && !view.fleet.has_begun ? null : button("Event", "E", () => this.actions.event()), view.fleet ? null : button("Compare", "C", () => go("/compare/" + this.run)), view.is_at_work || view.needs || view.outcome === "queued" ? button("Cancel", "X", () => this.actions.cancel(), "danger") : null),
    );
  }

  get canRequeue() {
    const { fleet } = this.model.view;
    return fleet && (fleet.state === "dead" || (fleet.state === "queued" && fleet.kept_for));
  }

  paintListHead() {
    const { model } = this;
    const hasLeft = model.rows.some((row) => row[ROW.isLeft]);
    const pick = (all) => {
      model.showsAll = all === "all";
      model.filter();
      this.list.paint(true);
      this.paintListHead();
      this.list.reveal();
    };
    const leftToggle = hasLeft ? h("button", { type: "button", class: "link", "aria-pressed": String(model.showsLeft), onclick: () => ((model.showsLeft = !model.showsLeft), pick(model.showsAll ? "all" : "logical")) }, model.showsLeft ? "hide what a rewind left" : "show what a rewind left") : null;
    fill(this.listHead, h("b", null, "Steps"), h("span", { class: "muted" }, `${exact(model.shownRows.length)} of ${exact(model.last)}`), choice("Steps shown", [["logical", "logical"], ["all", "all"]], model.showsAll ? "all" : "logical", pick), leftToggle, this.find, model.view.is_at_work ? h("button", { type: "button", class: "button", "aria-pressed": String(model.isFollowing), onclick: () => this.follow() }, "follow") : null);
  }

  // ---------------------------------------------------------------- news

  heard(event) {
    if (event.type === "reset") return void this.refresh();
    if (event.run !== this.run) return null;
    if (event.type === "gone") return fill(this.node, h("div", { class: "gone" }, h("h1", null, "This run was removed while you looked at it"), h("p", null, h("a", { href: "#/runs" }, "Back to all runs"))));
    if (event.type === "run") {
      this.told += 1;
      this.model.view = event.view;
      this.paintHeader();
      this.paintListHead();
      this.actions.paintBanner();
    }
    if (event.type === "steps") {
      this.take(event.rows);
      if (event.plans?.length) this.plan.take(event.plans);
    }
    if (event.type === "text") this.said(event);
    return null;
  }

  take(rows) {
    const { model } = this;
    const before = model.shownRows.length;
    if (!model.append(rows)) {
      this.hasMissed = true;
      return void this.load();
    }
    performance.clearMarks("rawko-news");
    performance.mark("rawko-news", { detail: rows.map((row) => [row[ROW.number], model.view.started + row[ROW.seconds]]) });
    this.newer += model.shownRows.length - before;
    if (rows.some((row) => row[ROW.leaves])) this.list.paint(true);
    this.live?.remove();
    this.live = null;
    if (model.isFollowing) this.moveTo(this.lastShown(), "follow");
    else {
      this.list.paint();
      this.strip.draw();
      this.paintHeader();
    }
    this.newButton.hidden = model.isFollowing || !this.newer;
    fill(this.newButton, `${this.newer} new ↓`);
    clearTimeout(this.pathTimer);
    this.pathTimer = setTimeout(() => this.loadPath(), 150);
    return null;
  }

  // A piece of the model's text: shown under the steps while the turn goes on.
  said(event) {
    if (!this.live) {
      this.live = h("div", { class: "live-text", "aria-live": "off" }, h("b", null, event.agent, " "));
      this.plan.node.before(this.live);
    }
    this.live.append(event.text.slice(-4000));
    while (this.live.textContent.length > 4000 && this.live.childNodes.length > 2) this.live.childNodes[1].remove();
    this.live.scrollTop = this.live.scrollHeight;
  }

  async refresh(isWhole = false) {
    try {
      const told = this.told;
      const { view } = await get(`runs/${this.run}`);
      // What the stream has told meanwhile is newer than the answer, or the stream is about to tell more.
      if (this.told === told) this.model.view = view;
    } catch (error) {
      if (error.status === 404) this.heard({ type: "gone", run: this.run });
      return;
    }
    if (isWhole) this.detail.cache.clear();
    await this.load();
    this.paintHeader();
    this.paintListHead();
    this.actions.paintBanner();
    if (isWhole) {
      this.model.filter();
      this.list.paint(true);
    }
  }

  // ---------------------------------------------------------------- finding, tabs, keys

  search() {
    const words = this.find.value.trim().toLowerCase();
    if (!words) return;
    const { model } = this;
    const hits = (row) => `${row[ROW.words]} ${row[ROW.detail]} ${row[ROW.agent]} ${row[ROW.event]} ${row[ROW.states].join(" ")}`.toLowerCase().includes(words);
    const found = model.shownRows.find((n) => n > (this.foundAt ?? 0) && hits(model.row(n))) ?? model.shownRows.find((n) => hits(model.row(n)));
    this.find.classList.toggle("none", !found);
    if (found) this.moveTo(found);
  }

  pickTab(tab) {
    this.detail.pick(tab);
    remember(`/runs/${this.run}/${this.model.cursor}/${tab}`);
  }

  pickPhone(id) {
    this.body.dataset.show = ["why", "files", "more"].includes(id) ? "detail" : id;
    for (const made of this.phone.children) made.setAttribute("aria-pressed", String(made.dataset.id === id));
    if (id === "why" || id === "files") this.pickTab(id);
    if (id === "more") this.pickTab("talk");
    this.list.paint(true);
    this.chart.paint();
    this.chart.fit();
  }

  review() {
    if (this.reviewing || this.model.view.needs?.kind !== "approval") return;
    const shown = review(this.model, this.actions, () => this.endReview());
    this.reviewing = shown;
    this.node.classList.add("reviewing");
    this.node.append(shown);
    this.keys();
  }

  endReview() {
    this.reviewing?.remove();
    this.reviewing = null;
    this.node.classList.remove("reviewing");
    this.keys();
  }

  // While a call is reviewed, the footer names the keys that answer it.
  keys() {
    const table = this.keyTable();
    if (!this.reviewing) return use(table);
    const answers = table.filter(([names]) => ANSWERS.includes(names[0]));
    return use([...answers, ...table.filter((one) => !answers.includes(one))], answers.length);
  }

  keyTable() {
    const { actions } = this;
    const decide = (act) => () => this.model.view.needs && act();
    const acting = isOffline
      ? []
      : [[["A"], "approve, answer", decide(() => actions.approve("once")), true], [["T"], "approve this tool", decide(() => actions.approve("tool")), true], [["W"], "approve all", decide(() => actions.approve("always")), true], [["D"], "deny", decide(() => actions.deny()), true], [["↵"], "review", () => this.review()], [["R"], this.reviewing ? "keep the rule" : "rewind here", () => (this.reviewing ? actions.keepRule() : actions.rewind()), true], [["F"], "fork here", () => actions.fork(), true], [["P"], "pin as contract", () => actions.pin(), true], [["E", "M"], "send an event", () => actions.event(), true], [["X"], "cancel", () => actions.cancel(), true], [["C"], "compare", () => go("/compare/" + this.run)]].filter(([names]) => !this.model.view.fleet || this.reviewing || !["R", "F", "C"].includes(names[0]));
    return [
      [["J", "↓"], "next step", () => this.move(1)],
      [["K", "↑"], "step before", () => this.move(-1)],
      [["⇧J"], "next of this agent", () => this.moveSameAgent(1)],
      [["⇧K"], "before of this agent", () => this.moveSameAgent(-1)],
      [["→"], "scrub", () => this.move(1)],
      [["←"], "", () => this.move(-1)],
      [["Space"], "play", () => this.play()],
      [["G"], "first", () => this.moveTo(this.model.shownRows[0])],
      [["⇧G"], "last", () => this.moveTo(this.lastShown())],
      [["."], "follow", () => this.follow()],
      ...this.tabList.map(([id, label], n) => [[String(n + 1)], label, () => this.pickTab(id)]),
      [["Z"], "fit the chart", () => this.chart.fit()],
      [["/"], "find", () => this.find.focus()],
      ...acting,
      [["Esc"], "back", () => (this.reviewing ? this.endReview() : isOffline ? null : go("/runs"))],
    ];
  }
}

export function firstLine(task) {
  const line = task.trim().split("\n")[0];
  return line.length > 140 ? line.slice(0, 139) + "…" : line;
}
