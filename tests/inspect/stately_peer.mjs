// The real @statelyai/inspect. `receive URL`: connect as its receiver does, and print each message until the root is
// done. `bridge`: run its server, print its port, then each message. `oracle`: run the machines of standard input in
// real XState, and print what its inspector sends.
import { createActor, createMachine, SimulatedClock } from "xstate";
import { createInspector, createWebSocketReceiver } from "@statelyai/inspect";
import { createInspectorServer } from "@statelyai/inspect/server";

const [what, given] = process.argv.slice(2);
const print = (told) => process.stdout.write(JSON.stringify(told) + "\n");
const isEnd = (told) => told.type === "@xstate.snapshot" && told.sessionId === told.rootId && told.snapshot.status !== "active";

function receive(url) {
  createWebSocketReceiver({ server: url }).subscribe((told) => {
    if (told.type === "@xstate.actor") createMachine(JSON.parse(told.definition)); // a definition that XState reads
    print(told);
    if (isEnd(told)) process.exit(0);
  });
}

async function oracle() {
  let text = "";
  for await (const piece of process.stdin) text += piece;
  const { root, child, steps } = JSON.parse(text);
  const clock = new SimulatedClock();
  const adapter = { send: print };
  const machine = createMachine(root).provide({ actors: { print_receipt: createMachine(child) } });
  const actor = createActor(machine, { clock, inspect: createInspector(adapter).inspect });
  const rest = () => new Promise((done) => setTimeout(done, 5));
  actor.start();
  for (const step of steps) {
    await rest();
    if (typeof step === "number") clock.increment(step);
    else actor.send(step);
  }
  await rest();
}

if (what === "receive") receive(given);
if (what === "bridge") {
  createInspectorServer({ port: Number(given), autoOpen: false });
  receive(`ws://localhost:${given}`);
  print("listening");
}
if (what === "oracle") await oracle();
