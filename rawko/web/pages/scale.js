// Time to pixels. A gap without work, longer than 20 s or ten times the median step, closes to a fixed width.

const GAP_S = 20;
const GAP_PX = 44;
const LEAST_PX = 3;

// Spans of rows that did something: [start, end, number]; the scale needs nothing else of them.
export function scaleOf(spans, width, opened, from = 0, to = Infinity) {
  const times = [];
  for (const [start, end] of spans) times.push([start, Math.max(end, start)]);
  times.sort((a, b) => a[0] - b[0]);
  const lengths = times.map(([a, b]) => b - a).filter((length) => length > 0).sort((a, b) => a - b);
  const median = lengths[lengths.length >> 1] ?? 1;
  const limit = Math.min(GAP_S, Math.max(10 * median, 1));
  const gaps = [];
  let busy = times.length ? times[0][0] : 0;
  for (const [start, end] of times) {
    if (start - busy > limit) gaps.push([busy, start]);
    busy = Math.max(busy, end);
  }
  const first = Math.max(from, times.length ? times[0][0] : 0);
  const last = Math.min(to, Math.max(busy, first + 0.001));
  const closed = gaps.filter(([a, b]) => !opened.has(a) && b > first && a < last);
  const idle = closed.reduce((sum, [a, b]) => sum + Math.min(b, last) - Math.max(a, first), 0);
  const room = Math.max(width - closed.length * GAP_PX, 40);
  const perSecond = room / Math.max(last - first - idle, 0.001);

  function x(time) {
    let at = (time - first) * perSecond;
    for (const [a, b] of closed) {
      if (time <= a) break;
      const inside = Math.min(time, b) - Math.max(a, first);
      at += (inside / (b - a)) * GAP_PX - inside * perSecond;
    }
    return at;
  }

  function time(px) {
    let low = first;
    let high = last;
    for (let n = 0; n < 40; n++) {
      const middle = (low + high) / 2;
      if (x(middle) < px) low = middle;
      else high = middle;
    }
    return low;
  }
  return { x, time, first, last, gaps: closed, width, least: LEAST_PX };
}
