// What is done to a broker, one act at a time, and which answers of 5xx each of them explains. The
// deck is dealt whole before it is shuffled again, so that every act has its share of a long run.

import { connect } from "node:net";
import type { Dice } from "../sim/dice.ts";
import { type Broker, type Fleet, topicKey } from "./broker.ts";
import type { Endpoints } from "./endpoints.ts";
import type { Ledger } from "./ledger.ts";
import { type Crowd, pause } from "./publishers.ts";

const fewDescriptors = 256;
const deliversMsMax = 60_000;

export interface Stage {
  readonly fleet: Fleet;
  readonly crowd: Crowd;
  readonly dice: Dice;
  readonly endpoints: Endpoints;
  readonly ledger: Ledger;
  /** The first broker's folder, and one to break copies of its store in. */
  readonly data: string;
  readonly scratch: string;
}

export interface Act {
  /** How often it is in the deck. */
  readonly times: number;
  readonly explains: readonly number[];
  run(stage: Stage): Promise<void>;
}

export type Acts = Readonly<Record<string, Act>>;

/** What any broker can be given, whatever its store. */
export const usualActs: Acts = {
  kill: {
    times: 5,
    explains: [],
    async run({ fleet, dice }) {
      const broker = fleet.pick(dice);
      await broker.end("SIGKILL");
      await broker.start();
    },
  },
  "kill under load": {
    times: 4,
    // What is over the bound on memory may be refused by 503 before the kill.
    explains: [503],
    async run({ fleet, crowd, dice }) {
      const broker = fleet.pick(dice);
      const load = crowd.burst(100, 10);
      await pause(dice.whole(1, 400));
      await broker.end("SIGKILL");
      await load;
      await broker.start();
    },
  },
  stop: {
    times: 1,
    explains: [503],
    async run({ fleet, dice, ledger }) {
      const broker = fleet.pick(dice);
      await stopPolitely(broker, ledger);
      await broker.start();
    },
  },
  freeze: {
    times: 2,
    explains: [],
    async run({ fleet, dice }) {
      const broker = fleet.pick(dice);
      broker.signal("SIGSTOP");
      // Others may take over meanwhile what it had.
      await pause(dice.whole(200, fleet.brokers.length === 1 ? 5_000 : 15_000));
      broker.signal("SIGCONT");
    },
  },
  "clock set back": {
    times: 1,
    explains: [],
    async run(stage) {
      const { fleet, dice } = stage;
      const broker = fleet.pick(dice);
      // Less than an event's life, which counts from a publish by that clock.
      broker.setClock(-dice.spread(1_000, 20 * 3_600_000));
      await pause(dice.whole(500, 3_000));
      // What is due by the right clock waits for it in one that was started by the wrong one.
      if (dice.isHit(0.5)) await untilDelivers(stage, "with its clock set back");
      else {
        await broker.end("SIGKILL");
        await broker.start();
      }
      broker.setClock(0);
    },
  },
  "few descriptors": {
    times: 1,
    explains: [503],
    async run(stage) {
      const { fleet, dice, ledger } = stage;
      const broker = fleet.pick(dice);
      await broker.end("SIGKILL");
      await broker.start(fewDescriptors);
      await untilDelivers(stage, `with ${fewDescriptors} descriptors`);
      await stopPolitely(broker, ledger);
      await broker.start();
    },
  },
  overload: {
    times: 2,
    explains: [503],
    run: ({ crowd, dice }) => crowd.burst(dice.whole(100, 400), 20),
  },
  "hanging endpoints": {
    times: 1,
    explains: [],
    async run({ endpoints, dice }) {
      endpoints.mood = dice.pick(["hang", "cut"]);
      await pause(dice.whole(500, 4_000));
      endpoints.mood = "usual";
    },
  },
  "held bodies": {
    times: 1,
    explains: [503],
    async run({ fleet, dice }) {
      const broker = fleet.pick(dice);
      const head =
        "POST /topics/orders/api/events HTTP/1.1\r\nhost: 127.0.0.1\r\n" +
        `aeg-sas-key: ${topicKey}\r\ncontent-length: 1000000\r\n\r\n`;
      await holdConnections(broker, 300, head + " ".repeat(500_000), dice.whole(500, 2_000));
    },
  },
  "unread answers": {
    times: 1,
    explains: [],
    async run({ fleet, dice }) {
      const broker = fleet.pick(dice);
      const requests = "GET /docs HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".repeat(2_000);
      await holdConnections(broker, 10, requests, dice.whole(500, 2_000));
    },
  },
};

/** Every act as often as it says, in a new order each time. */
export function* dealActs(acts: Acts, dice: Dice): Generator<string> {
  for (;;) {
    const deck = Object.entries(acts).flatMap(([name, { times }]) =>
      Array.from({ length: times }, () => name),
    );
    while (deck.length > 0) yield deck.splice(dice.whole(0, deck.length - 1), 1)[0] as string;
  }
}

/** Something that is accepted from now on arrives. */
export async function untilDelivers({ ledger, endpoints }: Stage, how: string): Promise<void> {
  const before = ledger.accepted.size;
  const givesUpAt = performance.now() + deliversMsMax;
  const arrived = (id: string) => endpoints.times("healthy", id) > 0;
  while (![...ledger.accepted].slice(before).some(arrived)) {
    if (performance.now() > givesUpAt) return ledger.fault(`nothing is delivered ${how}`);
    await pause(100);
  }
}

export async function stopPolitely(broker: Broker, ledger: Ledger): Promise<void> {
  const begun = performance.now();
  const code = await broker.end("SIGTERM");
  ledger.stopMsMax = Math.max(ledger.stopMsMax, performance.now() - begun);
  if (code !== 0) ledger.fault(`a polite end gave ${code}`);
}

/** Connections that say something, and then neither go on nor read. */
async function holdConnections({ url }: Broker, count: number, text: string, ms: number) {
  const port = Number(new URL(url as string).port);
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    socket.on("error", () => {});
    socket.pause();
    return socket;
  });
  await pause(ms);
  for (const socket of sockets) socket.destroy();
}
