// Runs machines of real XState for the tests: one request per line on stdin, one answer per line on stdout.
//
// Request: {machine, provide: {guard text: JavaScript}, guards, actions, actors: [names], delays: {name: ms}, steps},
// where a step is {event: {type, ...}} or {advance: ms}, with `says`: what the guards say in that step. The first step
// is the start. Answer: {steps: [{active: [ids], done, trace: [action names]}], failure}.
import { createInterface } from 'node:readline';
import { and, createActor, createMachine, fromPromise, not, or, SimulatedClock, stateIn } from 'xstate';
import { builtIns } from './built-ins.mjs';

const composite = (text) => new Function('and', 'or', 'not', 'stateIn', `return ${text}`)(and, or, not, stateIn);
const table = (names, make) => Object.fromEntries(names.map((name) => [name, make(name)]));

function run({ machine, provide, guards, actions, actors, delays, steps }) {
  let says = steps[0].says;
  let trace = [];
  let failure = null;
  const clock = new SimulatedClock();
  const logic = createMachine({ ...machine, options: { maxIterations: 300 } }).provide({
    guards: {
      ...table(guards, (name) => () => says[name]),
      ...Object.fromEntries(Object.entries(provide).map(([text, code]) => [text, composite(code)])),
    },
    actions: { ...table(actions, (name) => () => void trace.push(name)), ...builtIns },
    actors: table(actors, () => fromPromise(() => new Promise(() => {}))),
    delays,
  });
  const actor = createActor(logic, { clock, logger: () => {} });
  actor.subscribe({ error: (error) => (failure = String(error)) });
  const answers = [];
  for (const step of steps) {
    says = step.says;
    if (!answers.length) actor.start();
    else if (step.event) actor.send(step.event);
    else clock.increment(step.advance);
    const { _nodes, status } = actor.getSnapshot();
    answers.push({ active: _nodes.map((node) => node.id).sort(), done: status === 'done', trace });
    trace = [];
    if (failure) break;
  }
  return { steps: answers, failure };
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = run(JSON.parse(line));
  } catch (error) {
    answer = { steps: [], failure: String(error.stack) };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
