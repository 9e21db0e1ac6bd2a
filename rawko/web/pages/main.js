// The frame: top bar, the screen in front, the footer with its keys; the address decides which screen.

import { h, fill } from "./dom.js";
import { get, isOffline, renewSecret } from "./api.js";
import { begin, listen, state } from "./stream.js";
import { ChartScreen, ChartsScreen } from "./charts.js";
import { CompareScreen } from "./compare.js";
import { here, go } from "./place.js";
import { ActorScreen, ActorsScreen, showsActors } from "./actors.js";
import { FleetScreen, showsFleet, waitingOf } from "./fleet.js";
import { RunScreen } from "./run.js";
import { RunsScreen } from "./runs.js";
import { mark } from "./states.js";
import { palette } from "./palette.js";

const app = document.getElementById("app");
const place = h("span", { class: "where muted" });
const need = h("a", { class: "need", href: "#/runs", hidden: true });
const link = h("span", { class: "link-state" });
const foot = h("footer", { class: "foot" }, h("div", { class: "foot-keys" }), h("div", { class: "foot-state muted" }));
const stage = h("div", { class: "stage" });
let screen = null;
let shownPath = null;
let waiting = new Map();

function frame() {
  const bar = h("header", { class: "top" }, h("a", { class: "brand", href: "#/runs" }, h("span", { class: "logo", "aria-hidden": "true" }), "rawko"), isOffline ? null : h("nav", { "aria-label": "Screens" }, h("a", { href: "#/runs" }, showsActors ? "Actors" : showsFleet ? "Fleet" : "Runs"), showsActors || showsFleet ? null : h("a", { href: "#/charts" }, "Charts")), place, h("span", { class: "space" }), need, isOffline || showsActors || showsFleet ? null : h("button", { type: "button", class: "palette-open", onclick: () => palette(), "aria-label": "Jump to run or chart" }, h("span", null, "Jump to run, chart…"), h("kbd", null, "⌘K")), link);
  fill(app, bar, stage, foot);
  addEventListener("rawko-palette", () => showsActors || showsFleet || palette());
}

async function route() {
  const [name = "runs", a, b, c] = here();
  const path = [name, a, name === "compare" ? b : ""].join("/");
  if (path === shownPath) {
    if (name === "runs" && a && b && screen?.model) {
      screen.moveTo(Number(b), "hand");
      if (c && screen.detail.tab !== c) screen.pickTab(c);
    }
    return;
  }
  shownPath = path;
  screen?.close();
  screen = showsActors ? (a ? new ActorScreen(a, Number(b) || 0, c) : new ActorsScreen()) : name === "charts" ? (a ? new ChartScreen(a) : new ChartsScreen()) : name === "compare" ? new CompareScreen(a, b) : a ? new RunScreen(a, Number(b) || 0, c) : showsFleet ? new FleetScreen() : new RunsScreen();
  for (const made of document.querySelectorAll(".top nav a")) made.setAttribute("aria-current", String(made.getAttribute("href") === "#/" + (name === "compare" ? "runs" : name)));
  fill(place, a && !showsActors ? `${name} / ${a}${name === "compare" && b ? " / " + b : ""}` : "");
  const own = screen;
  try {
    const opening = own.open();
    fill(stage, own.node);
    await opening;
  } catch (error) {
    if (own === screen) failed(error);
  }
}

function failed(error) {
  if (error.status === 401) return stale(error.message);
  const lines = error.status === 404 ? showsFleet ? "There is no such run of the fleet." : "There is no such run in this folder any more." : error.message;
  fill(stage, h("main", { class: "screen" }, h("div", { class: "gone" }, h("h1", null, lines), h("p", null, h("a", { href: "#/runs" }, "All runs")))));
  return null;
}

function stale(message) {
  fill(stage, h("main", { class: "screen" }, h("div", { class: "gone" }, h("h1", null, "This link is of an earlier start"), h("p", null, message), showsActors ? null : h("p", null, h("code", null, showsFleet ? "rawko serve --fleet" : "rawko serve")))));
}

function paintState() {
  const words = { live: "live", joining: "joining", lost: "disconnected", stale: "stale link", report: "report" }[state.is];
  link.className = "link-state " + state.is;
  fill(link, words);
  foot.classList.toggle("lost", state.is === "lost" || state.is === "stale");
  document.body.classList.toggle("cannot-decide", state.is === "lost" || state.is === "stale");
  const wait = Math.max(Math.ceil((state.retryAt - Date.now()) / 1000), 0);
  fill(foot.lastChild, state.is === "lost" ? ["no answer from the server since number ", state.n, wait ? ` · again in ${wait} s ` : " · asking ", h("button", { type: "button", class: "link", onclick: () => dispatchEvent(new Event("rawko-retry")) }, "now")] : state.is === "report" ? "a report: read only, no server" : [`stream ${state.n}`, state.is === "live" ? " · live" : "", state.tabs > 1 ? ` · shared by ${state.tabs} tabs` : ""]);
  if (state.is === "stale" && !document.querySelector(".gone")) stale(state.message);
}

function paintNeed(count = [...waiting.values()].filter(Boolean).length) {
  need.hidden = !count;
  const first = [...waiting].find(([, asked]) => asked)?.[0];
  need.setAttribute("href", "#/runs/" + (first ?? ""));
  fill(need, mark("approval"), `${count} need${count === 1 ? "s" : ""} you `, h("kbd", null, "N"));
  document.title = count ? `(${count}) rawko` : "rawko";
}

async function start() {
  frame();
  addEventListener("hashchange", () => {
    if (/^#secret=/.test(location.hash) && renewSecret()) {
      dispatchEvent(new Event("rawko-secret"));
      shownPath = null;
    }
    route();
  });
  addEventListener("keydown", (event) => event.key === "n" && !event.target.closest?.("input, textarea") && !need.hidden && go(need.getAttribute("href").slice(1)));
  listen((event) => {
    if (event.type === "overview") paintNeed(waitingOf(event));
    if (event.type === "reset") countWaiting().catch(() => {});
    if (showsFleet) return paintState();
    if (event.type === "run") waiting.set(event.run, event.view.needs);
    if (event.type === "gone") waiting.delete(event.run);
    if (event.type === "run" || event.type === "gone") paintNeed();
    return paintState();
  });
  paintState();
  if (isOffline) {
    begin("", 0);
    if (!here().length) history.replaceState(null, "", "#/runs/" + JSON.parse(document.getElementById("report-data").textContent).run);
    paintState();
    return route();
  }
  try {
    const asked = get("about");
    const routed = route();
    const about = await asked;
    document.querySelector(".brand").title = `rawko ${about.version} in ${about.folder}`;
    begin(about.start, about.n);
    await routed;
    await countWaiting().catch((error) => {
      if (error.status !== 503) throw error; // the screen says that the database is away
    });
  } catch (error) {
    failed(error);
    if (error.status === 401) state.is = "stale";
    paintState();
    addEventListener("rawko-secret", () => location.reload(), { once: true });
  }
  setInterval(() => state.is === "lost" && paintState(), 1000);
  return null;
}

async function countWaiting() {
  if (showsFleet) return paintNeed(waitingOf(await get("fleet/overview")));
  const { runs } = await get("runs");
  waiting = new Map(runs.map((run) => [run.run, run.needs]));
  return paintNeed();
}

start();
