// The node engine's walk as a machine of XState's own: one JSON request {attempts, told} per line, one answer per line.
//
// The same states, timeouts, questions, events and memory as `statecharts/node_engine.yaml`, over an engine that does
// nothing; what it leaves out is what XState has not: checked data, a journal, contracts, log lines.
import { createInterface } from 'node:readline';
import { assign, createActor, createMachine, emit, fromPromise } from 'xstate';

const PATH_LIMIT = 32;

const engine = (attempts) => async ({ node_name, step_ordinal }) => {
  if (step_ordinal === attempts) return { outcome: 'SUCCESS', next_node: null, data: {}, tokens: 0 };
  if (step_ordinal % 10 === 9) return { outcome: 'FAILURE', next_node: node_name, retry_delay_ms: 0, data: {}, tokens: 0 };
  return { outcome: 'SUCCESS', next_node: node_name === 'a' ? 'b' : 'a', data: { last: step_ordinal }, tokens: 0 };
};

const tell = (type) => emit(({ context }) => ({ type, node_name: context.node_name, step_ordinal: context.step_ordinal }));
const state = ({ node_name, step_ordinal, retries, backtracks, path, data, tokens, result }) =>
  ({ node_name, step_ordinal, retries, backtracks, path, data, tokens, result });

const machine = (attempts, told) => createMachine({
  initial: 'checking',
  context: {
    node_name: 'a', step_ordinal: 0, retries: 0, backtracks: 0, path: [], data: {}, tokens: 0, result: null,
    stop_reason: null, limit: { attempts: null, tokens: null },
  },
  on: { STOP_REQUESTED: '.stopped' },
  states: {
    checking: {
      always: [
        { guard: ({ context }) => context.stop_reason !== null, target: 'stopped' },
        { guard: ({ context: { limit, step_ordinal } }) => limit.attempts !== null && step_ordinal >= limit.attempts, target: 'stopped' },
      ],
      after: { 30000: 'failed' },
      invoke: {
        src: fromPromise(async () => ({ stop: false, reason: null })), input: { run_id: 'run' },
        onDone: [{ guard: ({ event }) => event.output.stop, target: 'stopped' }, { target: 'executing' }], onError: 'failed',
      },
    },
    executing: {
      entry: [assign({ step_ordinal: ({ context }) => context.step_ordinal + 1, result: null }), tell('ATTEMPT_STARTED')],
      after: { 3600000: 'failed' },
      invoke: {
        src: fromPromise(({ input }) => engine(attempts)(input.state)),
        input: ({ context }) => ({ state: state(context), ctx: {}, seed: 7 }),
        onDone: {
          target: told ? 'persisting' : 'deciding',
          actions: [
            assign({
              result: ({ event }) => event.output,
              data: ({ context, event }) => ({ ...context.data, ...event.output.data }),
            }),
            tell('ATTEMPT_DONE'),
          ],
        },
        onError: 'failed',
      },
    },
    persisting: {
      after: { 30000: 'failed' },
      invoke: {
        src: fromPromise(async () => {}), input: ({ context }) => ({ state: state(context) }),
        onDone: 'reporting', onError: 'failed',
      },
    },
    reporting: {
      after: { 30000: 'failed' },
      invoke: {
        src: fromPromise(async () => {}), input: ({ context }) => ({ result: context.result }),
        onDone: 'deciding', onError: 'failed',
      },
    },
    deciding: {
      always: [
        { guard: ({ context }) => context.backtracks > 10, target: 'failed' },
        {
          guard: ({ context: { result, node_name } }) => result.retry_delay_ms != null && result.next_node === node_name,
          target: 'waiting_retry',
          actions: [assign({ retries: ({ context }) => context.retries + 1 }), tell('RETRY_SCHEDULED')],
        },
        { guard: ({ context }) => context.result.retry_delay_ms != null, target: 'waiting_retry' },
        { guard: ({ context }) => context.result.backtracked && context.result.next_node, target: 'failed' },
        { guard: ({ context }) => context.result.outcome === 'SUCCESS' && context.result.next_node, target: 'transitioning' },
        { guard: ({ context }) => context.result.outcome === 'SUCCESS', target: 'finished' },
        { target: 'failed' },
      ],
    },
    waiting_retry: { always: 'checking' }, // not `after: 0`: node's timers wait a millisecond at least
    transitioning: {
      entry: [
        assign({
          node_name: ({ context }) => context.result.next_node, retries: 0,
          path: ({ context }) => [...context.path, context.node_name].slice(-PATH_LIMIT),
        }),
        tell('TRANSITIONED'),
      ],
      always: 'checking',
    },
    finished: { type: 'final' }, failed: { type: 'final' }, stopped: { type: 'final' },
  },
});

for await (const line of createInterface({ input: process.stdin })) {
  const { attempts, told } = JSON.parse(line);
  const actor = createActor(machine(attempts, told));
  await new Promise((resolve, reject) => {
    actor.subscribe({ complete: resolve, error: reject });
    actor.start();
  });
  const { value, context } = actor.getSnapshot();
  process.stdout.write(JSON.stringify({ value, attempts: context.step_ordinal }) + '\n');
}
