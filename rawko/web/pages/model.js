// A run as the page holds it: rows, what is shown of them, sums up to a step, lanes, where each machine stands.

export const ROW = {
  number: 0, seconds: 1, agent: 2, actor: 3, kind: 4, words: 5, detail: 6, event: 7, isError: 8, took: 9,
  tokensIn: 10, tokensOut: 11, cost: 12, files: 13, isLeft: 14, states: 15, call: 16, snapshot: 17, leaves: 18, ofStep: 19,
};
const HIDDEN_KINDS = new Set(["plumbing", "snapshot"]);
export const KINDS = {
  start: "start", model: "model", tool: "success", command: "success", handover: "arbiter", question: "answer",
  approval: "approval", answer: "answer", snapshot: "plain", event: "model", travel: "travel", error: "failure",
  end: "arbiter", plumbing: "plain",
};

// Stands for each row that is not kept any more.
const GONE = [0, 0, "", "", "plumbing", "", "", "", 0, null, 0, 0, null, [], 0, [], null, null, null, null];

export function look(row) {
  if (row[ROW.isError]) return "failure";
  return KINDS[row[ROW.kind]] ?? "plain";
}

export class RunModel {
  constructor(view) {
    this.view = view;
    this.rows = [];
    this.moves = [];
    this.charts = [];
    this.problem = "";
    this.isPart = false;
    this.hasWholePath = false;
    this.showsAll = false;
    this.showsLeft = false;
    this.shownRows = [];
    this.sums = [];
    this.files = new Map();
    this.lanes = [];
    this.plans = [];
  }

  get last() {
    return this.rows.length;
  }

  row(number) {
    return this.rows[number - 1];
  }

  // Rows up to a number are not kept any more: the list begins after them.
  skip(to) {
    const sum = this.sums[this.sums.length - 1] ?? { tokens: 0, cost: null, added: 0, removed: 0, paths: 0, seen: new Set() };
    while (this.rows.length < to) {
      this.rows.push(GONE);
      this.sums.push(sum);
    }
  }

  skipMoves(to, moves = this.moves) {
    while (moves.length < to) moves.push([moves.length + 1, "", null, [], [], 0]);
  }

  takePath(moves, { charts, problem }, isWhole) {
    if (charts.length) this.charts = charts;
    if (moves !== this.moves && moves.length) {
      this.moves = moves;
      this.kept = null;
    }
    this.problem = problem;
    this.hasWholePath = isWhole && moves === this.moves;
  }

  // All rows from the first on, in place of the part that was there.
  begin(rows) {
    Object.assign(this, { rows: [], shownRows: [], sums: [], lanes: [], files: new Map(), kept: null, isPart: false });
    this.append(rows);
  }

  // Rows that follow the last one; returns false where some are missing between.
  append(rows) {
    for (const row of rows) {
      if (row[0] <= this.rows.length) continue;
      if (row[0] !== this.rows.length + 1) return false;
      this.rows.push(row);
      this.sum(row);
      if (row[ROW.leaves]) {
        this.kept = null;
        for (let n = row[ROW.leaves][0]; n <= row[ROW.leaves][1]; n++) this.rows[n - 1][ROW.isLeft] = 1;
        this.filter();
      } else if (this.isShown(row)) {
        this.shownRows.push(row[0]);
      }
      const lane = laneOf(row);
      if (lane && !this.lanes.includes(lane)) this.lanes.push(lane);
      if (row[ROW.ofStep]) this.files.set(row[ROW.ofStep], row[ROW.files]);
    }
    return true;
  }

  sum(row) {
    const before = this.sums[this.sums.length - 1] ?? { tokens: 0, cost: null, added: 0, removed: 0, paths: 0, seen: new Set() };
    const now = { ...before };
    now.tokens += row[ROW.tokensIn] + row[ROW.tokensOut];
    if (row[ROW.cost] !== null) now.cost = (now.cost ?? 0) + row[ROW.cost];
    for (const [path, , added, removed] of row[ROW.files]) {
      now.added += added;
      now.removed += removed;
      before.seen.add(path);
    }
    now.paths = before.seen.size;
    this.sums.push(now);
  }

  isShown(row) {
    if (row === GONE) return false;
    if (row[ROW.isLeft] && !this.showsLeft) return false;
    return this.showsAll || !HIDDEN_KINDS.has(row[ROW.kind]);
  }

  filter() {
    this.shownRows = this.rows.filter((row) => this.isShown(row)).map((row) => row[0]);
  }

  filesOf(number) {
    const own = this.row(number)?.[ROW.files] ?? [];
    return own.length ? own : this.files.get(number) ?? [];
  }

  // The place in `shownRows` of a step, or of the shown one before it.
  place(number) {
    let low = 0;
    let high = this.shownRows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.shownRows[middle] <= number) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  // Where the machines of a chart stand at a step: the latest configuration, the path there, visits and sums per state.
  standing(chart, number) {
    const kept = this.kept;
    if (kept && kept.chart === chart && kept.number <= number) return this.goOn(kept, number);
    const found = { active: [], taken: new Set(), now: new Set(), visits: new Map(), step: 0, time: new Map(), tokens: new Map(), cost: new Map() };
    return this.goOn({ chart, at: 0, since: null, inside: [], latest: [], found }, number);
  }

  // From the step that was asked for last: a run of a hundred thousand steps is not counted again for every move on.
  goOn(kept, number) {
    const { found } = kept;
    for (; kept.at < this.moves.length && this.moves[kept.at][0] <= number; kept.at++) {
      const [n, , of, transitions, configuration, begins] = this.moves[kept.at];
      const row = this.row(n);
      if (of !== kept.chart || !row || row[ROW.isLeft]) continue;
      if (begins) found.taken = new Set();
      if (kept.since !== null) for (const state of kept.inside) bump(found.time, state, row[ROW.seconds] - kept.since);
      const spent = row[ROW.tokensIn] + row[ROW.tokensOut];
      for (const state of kept.inside) {
        if (spent) bump(found.tokens, state, spent);
        if (row[ROW.cost]) bump(found.cost, state, row[ROW.cost]);
      }
      if (begins || transitions.length) for (const state of configuration) if (begins || !kept.inside.includes(state)) bump(found.visits, state, 1);
      for (const index of transitions) found.taken.add(index);
      kept.inside = configuration;
      kept.since = row[ROW.seconds];
      kept.latest = transitions;
      found.active = configuration;
      found.step = n;
    }
    found.now = found.step === number ? new Set(kept.latest) : new Set();
    kept.number = number;
    this.kept = kept;
    return found;
  }

  // The chart of the machine that took a step, or of the one that worked last before it.
  chartAt(number) {
    const move = this.moves[number - 1];
    if (move && move[2] !== null) return move[2];
    for (let n = Math.min(number, this.moves.length) - 1; n >= 0; n--) if (this.moves[n][2] !== null) return this.moves[n][2];
    return 0;
  }
}

function bump(map, name, by) {
  map.set(name, (map.get(name) ?? 0) + by);
}

export function laneOf(row) {
  if (["start", "answer", "travel"].includes(row[ROW.kind])) return "you";
  return row[ROW.agent];
}
