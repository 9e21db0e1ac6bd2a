// Runs one case on real XState and measures itself: one JSON request per line on stdin, one answer per line on stdout.
//
// {prepare: {machine, counted, events, data, operation}} -> {seen: [[leaves, entered], ...]} of the start and each event;
// {measure: rounds} -> {seconds}: CPU time of this process, its helper threads included; {memory: count} -> {bytes}.
import { createInterface } from 'node:readline';
import { assign, createActor, createMachine, initialTransition, transition } from 'xstate';

const code = {
  guards: {
    is_counting: ({ context }) => context.n >= 0,
    is_below: ({ context }, { limit }) => context.n < limit,
  },
  actions: { up: assign({ n: ({ context }, params) => context.n + (params?.by ?? 1) }) },
};

// SPEC-0003's functions: see tests/bench/coded.py, which does the same for rawko.
Object.assign(code.guards, {
  is_complete: ({ event }) => event.decision.type === 'COMPLETE',
  should_retry: ({ event }) => event.decision.type === 'RETRY',
  max_iterations_reached: ({ context }) => context.iteration_count >= context.max_iterations,
  max_failures_reached: ({ context }) => context.consecutive_failures >= 3,
  is_recoverable: ({ context }) =>
    context.last_error !== null && ['rate_limited', 'network_error'].includes(context.last_error.code),
});
Object.assign(code.actions, {
  begin_task: assign(({ event }) => ({
    task: event.task,
    started_at: Date.now(),
    iteration_count: 0,
    consecutive_failures: 0,
    total_failures: 0,
    history: [],
    last_error: null,
  })),
  choose_agent: assign(({ context, event }) => ({
    agent: event.agent,
    mode: event.mode,
    decision: { type: 'SELECT_MODE', mode: event.mode, reason: event.reason },
    iteration_count: context.iteration_count + 1,
  })),
  record_success: assign(({ context, event }) => ({
    consecutive_failures: 0,
    last_error: null,
    history: [
      ...context.history,
      {
        agent: context.mode,
        iteration: context.iteration_count,
        result: 'success',
        output: event.summary,
        tokens: event.tokens,
      },
    ],
  })),
  record_failure: assign(({ context, event }) => ({
    consecutive_failures: context.consecutive_failures + 1,
    total_failures: context.total_failures + 1,
    last_error: event.error,
    history: [
      ...context.history,
      { agent: context.mode, iteration: context.iteration_count, result: 'failure', error: event.error.message },
    ],
  })),
  keep_decision: assign({ decision: ({ event }) => event.decision }),
});

const define = (machine, more = {}) =>
  createMachine(machine).provide({ ...code, actions: { ...code.actions, ...more } });

function verify({ counted, events, data, payloads }) {
  let count = 0;
  const actor = createActor(define(counted, { entered: () => void (count += 1) })).start();
  count = 0;
  const seen = [];
  for (const [number, type] of [null, ...events].entries()) {
    if (type) actor.send({ type, ...(payloads[number - 1] ?? data) });
    const nodes = actor.getSnapshot()._nodes;
    seen.push([nodes.filter(({ type }) => type === 'atomic' || type === 'final').map(({ id }) => id).sort(), count]);
  }
  return seen;
}

function sending(actor, events, data, payloads = []) {
  if (payloads.length)
    return () => {
      for (let n = 0; n < events.length; n += 1) actor.send({ type: events[n], ...payloads[n] });
    };
  return () => {
    for (const type of events) actor.send({ type, ...data });
  };
}

const started = (machine) => createActor(define(machine)).start();

const plays = {
  events({ machine, events, data, payloads, warmUp }) {
    const actor = started(machine);
    sending(actor, warmUp, data)();
    return sending(actor, events, data, payloads);
  },
  first: ({ machine, events, data }) => ({ prepare: () => sending(started(machine), events, data) }),
  subscriber({ machine, events, data }) {
    const actor = started(machine);
    actor.subscribe(() => {});
    return sending(actor, events, data);
  },
  pure({ machine, events, data }) {
    const logic = define(machine);
    let [snapshot] = initialTransition(logic);
    return () => {
      for (const type of events) [snapshot] = transition(logic, snapshot, { type, ...data });
    };
  },
  create({ machine }) {
    const logic = define(machine);
    return () => createActor(logic).start();
  },
  life({ machine, events, data }) {
    const logic = define(machine);
    return () => sending(createActor(logic).start(), events, data)();
  },
  load({ machine }) {
    const text = JSON.stringify(machine);
    return () => define(JSON.parse(text)).root.initial;
  },
  snapshot({ machine, events }) {
    const actor = started(machine);
    sending(actor, events)();
    return () => JSON.stringify(actor.getPersistedSnapshot());
  },
  restore({ machine, events }) {
    const actor = started(machine);
    sending(actor, events)();
    const logic = define(machine);
    const text = JSON.stringify(actor.getPersistedSnapshot());
    return () => createActor(logic, { snapshot: JSON.parse(text) }).start();
  },
};

function memory(machine, count) {
  const logic = define(machine);
  const actors = [];
  globalThis.gc();
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < count; n += 1) actors.push(createActor(logic).start());
  globalThis.gc();
  return (process.memoryUsage().heapUsed - before) / actors.length;
}

function seconds(play, rounds) {
  const before = process.cpuUsage();
  for (let n = 0; n < rounds; n += 1) play();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

function measure(play, rounds) {
  if (!play.prepare) return seconds(play, rounds);
  let sum = 0;
  for (let n = 0; n < rounds; n += 1) sum += seconds(play.prepare(), 1);
  return sum;
}

let request, play;

function answer(line) {
  const { prepare, measure: rounds, memory: count } = JSON.parse(line);
  if (prepare) {
    request = prepare;
    play = plays[request.operation](request);
    return { seen: verify(request) };
  }
  return count ? { bytes: memory(request.machine, count) } : { seconds: measure(play, rounds) };
}

for await (const line of createInterface({ input: process.stdin })) {
  let found;
  try {
    found = answer(line);
  } catch (error) {
    found = { error: String(error.stack) };
  }
  process.stdout.write(JSON.stringify(found) + '\n');
}
