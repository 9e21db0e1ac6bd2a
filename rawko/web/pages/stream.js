// One stream per browser: the tab that holds the lock reads it and passes events on; when it closes, another takes over
// from the last number. A sleeping laptop or a restarted server ends the connection, and the number tells what to ask.

import { ask, isOffline } from "./api.js";

const LOCK = "rawko-stream";
const SILENT_MS = 40000;
const listeners = new Set();
const tabs = new Map();
const me = Math.random().toString(36).slice(2);
const channel = isOffline ? null : new BroadcastChannel("rawko");
export const state = { is: "joining", at: "", n: 0, isLeader: false, tabs: 1, retryAt: 0, message: "" };

export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function begin(start, n) {
  if (isOffline) {
    state.is = "report";
    return;
  }
  if (!state.at) note(start, n);
  channel.onmessage = (message) => received(message.data);
  setInterval(beat, 4000);
  beat();
  if (navigator.locks) navigator.locks.request(LOCK, lead);
  else lead();
}

function note(start, n) {
  state.at = `${start}.${n}`;
  state.n = n;
}

function beat() {
  channel.postMessage({ type: "tab", me });
  const now = Date.now();
  for (const [tab, seen] of tabs) if (now - seen > 10000) tabs.delete(tab);
  const count = tabs.size + 1;
  if (count !== state.tabs) {
    state.tabs = count;
    tell({ type: "state" });
  }
}

function received(event) {
  if (event.type === "tab") {
    const isNew = !tabs.has(event.me);
    tabs.set(event.me, Date.now());
    if (isNew) beat();
    if (isNew && state.isLeader) pass({ type: "connection", is: state.is, message: state.message, retryAt: state.retryAt });
    return;
  }
  if (event.type === "connection") {
    Object.assign(state, { is: event.is, message: event.message, retryAt: event.retryAt });
    tell({ type: "state" });
    return;
  }
  if (event.id) [state.at, state.n] = [event.id, event.n];
  if (state.is !== "live") Object.assign(state, { is: "live", message: "" });
  tell(event);
}

function pass(event) {
  channel.postMessage(event);
}

function tell(event) {
  for (const listener of [...listeners]) listener(event);
}

function turn(is, message = "", retryAt = 0) {
  Object.assign(state, { is, message, retryAt });
  pass({ type: "connection", is, message, retryAt });
  tell({ type: "state" });
}

async function lead() {
  state.isLeader = true;
  let wait = 500;
  for (;;) {
    try {
      await read(() => (wait = 500));
    } catch (error) {
      if (error.status === 401) {
        turn("stale", error.message);
        await new Promise((renewed) => addEventListener("rawko-secret", renewed, { once: true }));
        continue;
      }
    }
    turn("lost", "the server does not answer", Date.now() + wait);
    await Promise.race([new Promise((passed) => setTimeout(passed, wait)), once("online"), once("rawko-retry"), once("focus")]);
    wait = Math.min(wait * 1.7, 8000);
  }
}

function once(name) {
  return new Promise((happened) => addEventListener(name, happened, { once: true }));
}

async function read(joined) {
  const ending = new AbortController();
  let heard = Date.now();
  // A laptop that slept has a connection that only looks alive: silence beyond two beats ends it.
  const guard = setInterval(() => Date.now() - heard > SILENT_MS && ending.abort(), 2000);
  try {
    const answer = await ask("stream?after=" + state.at, { signal: ending.signal });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard = Date.now();
      if (state.is !== "live") turn("live");
      joined();
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      for (const part of parts) take(part);
    }
  } finally {
    clearInterval(guard);
  }
}

function take(part) {
  const id = /^id: (.*)$/m.exec(part);
  const data = /^data: (.*)$/m.exec(part);
  if (!data) return;
  const event = JSON.parse(data[1]);
  event.id = id[1];
  [state.at, state.n] = [event.id, event.n];
  pass(event);
  tell(event);
}
