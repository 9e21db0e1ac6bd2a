// XState's exploration: one JSON request {machine, events} per line; the answer is the number of states, and the seconds.
import { createInterface } from 'node:readline';
import { createMachine } from 'xstate';
import { getAdjacencyMap } from 'xstate/graph';

for await (const line of createInterface({ input: process.stdin })) {
  const { machine, events } = JSON.parse(line);
  const chart = createMachine(machine);
  const begin = process.cpuUsage();
  const found = getAdjacencyMap(chart, { events: events.map((type) => ({ type })), limit: 1e9 });
  const { user, system } = process.cpuUsage(begin);
  console.log(JSON.stringify({ states: Object.keys(found).length, seconds: (user + system) / 1e6 }));
}
