// Runs one case on real XState and measures itself: one JSON request per line on stdin, one answer per line on stdout.
//
// {prepare: {machine, counted, events, data, operation}} -> {seen: [[leaves, entered], ...]} of the start and each event;
// {measure: rounds} -> {seconds}: CPU time of this process, its helper threads included; {memory: count} -> {bytes}.
import { createInterface } from 'node:readline';
import { assign, createActor, createMachine } from 'xstate';

const code = {
  guards: {
    is_counting: ({ context }) => context.n >= 0,
    is_below: ({ context }, { limit }) => context.n < limit,
  },
  actions: { up: assign({ n: ({ context }, params) => context.n + (params?.by ?? 1) }) },
};

const define = (machine, more = {}) =>
  createMachine(machine).provide({ ...code, actions: { ...code.actions, ...more } });

function verify({ counted, events, data }) {
  let count = 0;
  const actor = createActor(define(counted, { entered: () => void (count += 1) })).start();
  count = 0;
  const seen = [];
  for (const type of [null, ...events]) {
    if (type) actor.send({ type, ...data });
    const nodes = actor.getSnapshot()._nodes;
    seen.push([nodes.filter(({ type }) => type === 'atomic' || type === 'final').map(({ id }) => id).sort(), count]);
  }
  return seen;
}

function sending(actor, events, data) {
  return () => {
    for (const type of events) actor.send({ type, ...data });
  };
}

const started = (machine) => createActor(define(machine)).start();

const plays = {
  events({ machine, events, data, warmUp }) {
    const actor = started(machine);
    sending(actor, warmUp, data)();
    return sending(actor, events, data);
  },
  first: ({ machine, events, data }) => ({ prepare: () => sending(started(machine), events, data) }),
  subscriber({ machine, events, data }) {
    const actor = started(machine);
    actor.subscribe(() => {});
    return sending(actor, events, data);
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
