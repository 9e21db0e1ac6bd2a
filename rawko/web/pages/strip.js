// The whole run in one strip, on a canvas: agents as lanes, bars by kind, gaps closed, the cursor. Scrubbed by pointer.

import { h, fill, plain } from "./dom.js";
import { clock, cost, took } from "./format.js";
import { ROW, laneOf, look } from "./model.js";
import { scaleOf } from "./scale.js";

const LANE = 26;
const HEAD = 28;
const LABEL = 132;
const MAX_LANES = 9;
const QUIET = new Set(["plumbing", "snapshot"]);

export class Strip {
  constructor(model, moveTo) {
    this.model = model;
    this.moveTo = moveTo;
    this.opened = new Set();
    this.around = null;
    this.canvas = h("canvas", { role: "img", "aria-label": "The run's steps over time, agents as lanes", tabindex: "-1" });
    this.labels = h("div", { class: "lanes" });
    this.node = h("section", { class: "panel strip" }, this.labels, this.canvas);
    this.canvas.addEventListener("pointerdown", (event) => this.scrub(event));
    this.canvas.addEventListener("pointermove", (event) => (event.buttons & 1 ? this.scrub(event) : this.hover(event)));
    this.canvas.addEventListener("wheel", (event) => this.zoom(event), { passive: false });
    this.canvas.addEventListener("dblclick", () => this.showAll());
    new ResizeObserver(() => this.draw()).observe(this.node);
  }

  showAll() {
    this.around = null;
    this.opened.clear();
    this.draw();
  }

  barsOf() {
    const found = [];
    const machines = new Map();
    for (const row of this.model.rows) {
      // A failure that ends the agent's machine takes as long as all bars of that agent: it is a mark behind them.
      const isEnd = row[ROW.isError] && (machines.get(laneOf(row)) ?? "").startsWith(row[ROW.actor] + "/");
      machines.set(laneOf(row), row[ROW.actor]);
      if (QUIET.has(row[ROW.kind]) || (row[ROW.isLeft] && !this.model.showsLeft)) continue;
      const end = row[ROW.seconds];
      found.push([row[ROW.took] === null || isEnd ? end : Math.max(end - row[ROW.took], 0), end, row]);
    }
    return found.filter(([, , row]) => row[ROW.kind] !== "handover" || row[ROW.agent] === "arbiter");
  }

  draw() {
    const ratio = devicePixelRatio || 1;
    const isNarrow = innerWidth < 700;
    const lanes = this.model.lanes.filter(Boolean).slice(0, MAX_LANES);
    const lane = isNarrow ? Math.max(4, 30 / Math.max(lanes.length, 1)) : LANE;
    const head = isNarrow ? 6 : HEAD;
    const height = head + lane * Math.max(lanes.length, 1) + 4;
    const width = Math.max(this.canvas.parentElement.clientWidth - (isNarrow ? 24 : LABEL + 12), 60);
    Object.assign(this.canvas.style, { width: width + "px", height: height + "px" });
    this.canvas.width = Math.max(Math.round(width * ratio), 1);
    this.canvas.height = Math.max(Math.round(height * ratio), 1);
    const pen = this.penOf(this.canvas, ratio);
    const size = { ratio, isNarrow, lanes, lane, head, height, width };
    const { model } = this;
    const about = [ratio, width, height, model.last, model.isPart, model.showsLeft, this.around?.join(), [...this.opened].join(), this.colour("text"), lanes.join()].join("|");
    if (about !== this.about) {
      this.about = about;
      this.bars = this.barsOf();
      this.scale = scaleOf(this.bars, width - 8, this.opened, ...(this.around ?? []));
      this.drawLabels(lanes, isNarrow);
      this.pictures = [false, true].map((isAfter) => this.picture(size, isAfter));
    }
    // What came before the cursor, and what comes after it, are two pictures that are cut where the cursor stands.
    const cut = (this.cursorAt(this.scale) + this.scale.least) * ratio;
    const whole = { width: width * ratio, height: height * ratio };
    pen.save();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    if (cut > 0) pen.drawImage(this.pictures[0], 0, 0, cut, whole.height, 0, 0, cut, whole.height);
    if (cut < whole.width) pen.drawImage(this.pictures[1], cut, 0, whole.width - cut, whole.height, cut, 0, whole.width - cut, whole.height);
    pen.restore();
    this.drawCursor(pen, this.scale, head, height, isNarrow);
  }

  penOf(canvas, ratio) {
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const known = new Map();
    this.colour = (name) => known.get(name) ?? known.set(name, style.getPropertyValue("--" + name).trim()).get(name);
    pen.font = "11px " + style.getPropertyValue("--font");
    pen.textBaseline = "middle";
    return pen;
  }

  // All bars as they look before the cursor, or after it; drawn again only where the run or the panel has changed.
  picture({ ratio, isNarrow, lanes, lane, head, height, width }, isAfter) {
    const canvas = h("canvas", { width: Math.max(Math.round(width * ratio), 1), height: Math.max(Math.round(height * ratio), 1) });
    const pen = this.penOf(canvas, ratio);
    const { bars, scale } = this;
    if (!isNarrow) this.drawRuler(pen, scale, width);
    const dense = bars.length > 2000;
    const painted = new Map();
    for (const [start, end, row] of bars) {
      const at = lanes.indexOf(laneOf(row));
      if (at < 0 || end < scale.first || start > scale.last) continue;
      const x = 4 + scale.x(start);
      const wide = Math.max(scale.x(end) - scale.x(start), scale.least);
      if (dense) {
        // Many bars share a pixel: a failure or a wait is never painted over by the others.
        const spot = at * 100000 + Math.round(x);
        const weight = { failure: 3, approval: 2, answer: 2 }[look(row)] ?? 1;
        if ((painted.get(spot) ?? 0) >= weight) continue;
        painted.set(spot, weight);
      }
      this.drawBar(pen, row, x, head + at * lane + lane * 0.14, wide, lane * 0.72, isNarrow || dense, isAfter);
    }
    this.drawGaps(pen, scale, head, height, isNarrow);
    return canvas;
  }

  drawLabels(lanes, isNarrow) {
    if (isNarrow) return fill(this.labels);
    const spent = new Map();
    for (const row of this.model.rows) if (row[ROW.cost] !== null) spent.set(row[ROW.agent], (spent.get(row[ROW.agent]) ?? 0) + row[ROW.cost]);
    const gaps = this.scale?.gaps.length ?? 0;
    const more = this.model.lanes.length - lanes.length;
    fill(
      this.labels,
      h("div", { class: "lane head" }, `${lanes.length} lane${lanes.length === 1 ? "" : "s"}`, gaps ? ` · ${gaps} gap${gaps > 1 ? "s" : ""} closed` : "", more > 0 ? ` · ${more} more` : ""),
      lanes.map((name) => h("div", { class: "lane" }, h("b", null, name), h("span", null, spent.has(name) ? cost(spent.get(name)) : ""))),
    );
    return null;
  }

  drawRuler(pen, scale, width) {
    pen.fillStyle = this.colour("muted");
    pen.strokeStyle = this.colour("line");
    const count = Math.max(Math.floor(width / 150), 1);
    const digits = scale.time(150) - scale.time(0) < 0.2 ? 2 : 1; // marks of a short run differ by hundredths
    let last = -80;
    for (let n = 0; n <= count; n++) {
      const at = (n / count) * (width - 50);
      const x = 4 + at;
      if (x - last < 70 || scale.gaps.some(([a, b]) => at + 50 > scale.x(a) && at < scale.x(b))) continue;
      pen.fillText(clock(scale.time(at), digits), x + 4, 13);
      pen.fillRect(x, 8, 1, 20);
      last = x;
    }
  }

  drawBar(pen, row, x, y, wide, high, isPlain, isAfter) {
    const kind = look(row);
    const fillOf = this.colour("bar-" + kind);
    const edge = this.colour("edge-" + kind);
    pen.beginPath();
    pen.roundRect(x, y, wide, high, Math.min(3, wide / 2));
    if (!isAfter || isPlain) {
      pen.globalAlpha = isAfter ? 0.45 : 1;
      pen.fillStyle = wide < 14 || isPlain ? edge : fillOf;
      pen.fill();
      pen.globalAlpha = 1;
    }
    if (!isPlain && wide >= 5) {
      pen.strokeStyle = edge;
      pen.setLineDash(isAfter || kind === "approval" ? [3, 2] : []);
      pen.lineWidth = 1;
      pen.stroke();
      pen.setLineDash([]);
    }
    const letters = Math.floor((wide - 8) / 6);
    if (!isPlain && letters >= 5) {
      const words = plain(row[ROW.words]);
      pen.fillStyle = this.colour(kind === "failure" ? "text-failure" : "text");
      pen.fillText(words.length > letters ? words.slice(0, letters - 1) + "…" : words, x + 5, y + high / 2 + 0.5);
    }
  }

  drawGaps(pen, scale, head, height, isNarrow) {
    for (const [a, b] of scale.gaps) {
      const left = 4 + scale.x(a) + 4;
      const right = 4 + scale.x(b) - 4;
      pen.fillStyle = this.colour("raised");
      pen.fillRect(left, isNarrow ? 0 : head, right - left, height);
      pen.strokeStyle = this.colour("control");
      for (const x of [left, right]) {
        pen.beginPath();
        for (let y = head, n = 0; y < height; y += 5, n++) pen.lineTo(x + (n % 2 ? 3 : -3), y);
        pen.stroke();
      }
      if (isNarrow) continue;
      pen.fillStyle = this.colour("text-approval");
      pen.textAlign = "center";
      pen.fillText(took(b - a), (left + right) / 2, 13);
      pen.save();
      pen.translate((left + right) / 2, (head + height) / 2);
      pen.rotate(-Math.PI / 2);
      pen.fillStyle = this.colour("muted");
      if (height - head > 60) pen.fillText(this.reason(b), 0, 0, height - head - 4);
      pen.restore();
      pen.textAlign = "start";
    }
  }

  reason(end) {
    const next = this.model.rows.find((row) => row[ROW.seconds] >= end - 0.001 && !QUIET.has(row[ROW.kind]));
    if (!next) return "idle";
    if (next[ROW.kind] === "answer") return "waited for you";
    return next[ROW.detail].includes("rate") ? "rate limit" : "idle";
  }

  cursorAt(scale) {
    const row = this.model.row(this.model.cursor);
    return row ? Math.round(4 + scale.x(row[ROW.seconds])) : 0;
  }

  drawCursor(pen, scale, head, height, isNarrow) {
    const row = this.model.row(this.model.cursor);
    if (!row) return;
    const x = this.cursorAt(scale);
    pen.fillStyle = this.colour("accent");
    pen.fillRect(x - 1, isNarrow ? 4 : 22, 2, height);
    if (isNarrow) {
      pen.beginPath();
      pen.arc(x, 6, 5, 0, 7);
      pen.fill();
      return;
    }
    const label = this.model.isFollowing && this.model.view.is_at_work ? "live" : "step " + row[0];
    const wide = pen.measureText(label).width + 16;
    const left = Math.min(Math.max(x - wide / 2, 0), scale.width + 8 - wide);
    pen.beginPath();
    pen.roundRect(left, 3, wide, 19, 10);
    pen.fill();
    pen.fillStyle = this.colour("on-accent");
    pen.fillText(label, left + 8, 13);
  }

  nearest(event) {
    const box = this.canvas.getBoundingClientRect();
    const time = this.scale.time(event.clientX - box.left - 4);
    let best = null;
    for (const number of this.model.shownRows) {
      const away = Math.abs(this.model.row(number)[ROW.seconds] - time);
      if (best === null || away <= best[0]) best = [away, number];
    }
    return best?.[1];
  }

  scrub(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left - 4;
    if (event.type === "pointerdown") {
      const gap = this.scale.gaps.find(([a, b]) => x > this.scale.x(a) + 4 && x < this.scale.x(b) - 4);
      if (gap) {
        this.opened.add(gap[0]);
        this.draw();
        return;
      }
      this.canvas.setPointerCapture(event.pointerId);
    }
    const number = this.nearest(event);
    if (number) this.moveTo(number, "scrub");
  }

  hover(event) {
    const number = this.nearest(event);
    const row = number && this.model.row(number);
    if (row) this.canvas.title = plain(`${row[0]} · ${row[ROW.agent]} · ${row[ROW.words]}`);
  }

  zoom(event) {
    if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaX) < Math.abs(event.deltaY) && !event.altKey) return;
    event.preventDefault();
    const { first, last } = this.scale;
    const at = this.scale.time(event.clientX - this.canvas.getBoundingClientRect().left);
    const by = Math.exp((event.deltaY || event.deltaX) / 300);
    this.around = [at - (at - first) * by, at + (last - at) * by];
    this.draw();
  }
}
