// What is done to a broker, one act at a time, and which answers of 5xx each of them explains. The
// deck is dealt whole before it is shuffled again, so that every act has its share of a long run.

import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { startProgram } from "../fixtures/program.ts";
import type { Dice } from "../sim/dice.ts";
import { type Broker, topicKey } from "./broker.ts";
import type { Endpoints } from "./endpoints.ts";
import type { Ledger } from "./ledger.ts";
import { type Crowd, pause } from "./publishers.ts";

export interface Stage {
  readonly broker: Broker;
  readonly crowd: Crowd;
  readonly dice: Dice;
  readonly endpoints: Endpoints;
  readonly ledger: Ledger;
  /** The folder of the store, and one to break copies of it in. */
  readonly data: string;
  readonly scratch: string;
}

export interface Act {
  /** How often it is in the deck. */
  readonly times: number;
  readonly explains: readonly number[];
  run(stage: Stage): Promise<void>;
}

export const acts: Readonly<Record<string, Act>> = {
  kill: {
    times: 5,
    explains: [],
    async run({ broker }) {
      await broker.end("SIGKILL");
      await broker.start();
    },
  },
  "kill under load": {
    times: 4,
    // What is over the bound on memory may be refused by 503 before the kill.
    explains: [503],
    async run({ broker, crowd, dice }) {
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
    async run({ broker, ledger }) {
      const code = await broker.end("SIGTERM");
      if (code !== 0) ledger.fault(`a polite end gave ${code}`);
      await broker.start();
    },
  },
  freeze: {
    times: 2,
    explains: [],
    async run({ broker, dice }) {
      broker.signal("SIGSTOP");
      await pause(dice.whole(200, 5_000));
      broker.signal("SIGCONT");
    },
  },
  "full disk": {
    times: 2,
    explains: [503, 507],
    async run({ broker, dice }) {
      broker.limitFiles("16384");
      await pause(dice.whole(200, 3_000));
      if (dice.isHit(0.3)) {
        await broker.end("SIGKILL");
        await broker.start();
      } else broker.limitFiles("unlimited");
      await broker.untilReady();
    },
  },
  "broken stories": {
    times: 1,
    explains: [],
    async run({ broker, data, dice }) {
      await broker.end("SIGKILL");
      const file = join(data, "story.db");
      if (dice.isHit(0.5)) writeFileSync(file, "this is no database".repeat(1_000));
      else truncateSync(file, Math.floor(statSync(file).size / 2));
      await broker.start();
    },
  },
  "broken store": {
    times: 1,
    explains: [],
    async run(stage) {
      await stage.broker.end("SIGKILL");
      await startBroken(stage);
      await stage.broker.start();
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
    async run({ broker, dice }) {
      const head =
        "POST /topics/orders/api/events HTTP/1.1\r\nhost: 127.0.0.1\r\n" +
        `aeg-sas-key: ${topicKey}\r\ncontent-length: 1000000\r\n\r\n`;
      await holdConnections(broker, 300, head + " ".repeat(500_000), dice.whole(500, 2_000));
    },
  },
  "unread answers": {
    times: 1,
    explains: [],
    async run({ broker, dice }) {
      const requests = "GET /docs HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".repeat(2_000);
      await holdConnections(broker, 10, requests, dice.whole(500, 2_000));
    },
  },
};

/** Every act as often as it says, in a new order each time. */
export function* dealActs(dice: Dice): Generator<string> {
  for (;;) {
    const deck = Object.entries(acts).flatMap(([name, { times }]) =>
      Array.from({ length: times }, () => name),
    );
    while (deck.length > 0) yield deck.splice(dice.whole(0, deck.length - 1), 1)[0] as string;
  }
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

const breaks: Readonly<Record<string, (store: string) => void>> = {
  "an empty file": (store) => truncateSync(store, 0),
  "half a file": (store) =>
    truncateSync(store, Math.floor(statSync(store).size / 2 / 4_096) * 4_096),
  "another file": (store) => writeFileSync(store, "this is no database".repeat(10_000)),
  "no log": (store) => rmSync(`${store}-wal`, { force: true }),
  "no journal": (store) => rmSync(store.replace(/\.db$/, ".journal"), { force: true }),
};

/** A copy of the store is broken, and must be refused in one line. */
async function startBroken({ data, dice, ledger, scratch }: Stage): Promise<void> {
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { mode: 0o700 });
  for (const name of readdirSync(data).filter((each) => each.startsWith("store"))) {
    copyFileSync(join(data, name), join(scratch, name));
  }
  const name = dice.pick(Object.keys(breaks));
  // A log of nothing is not missed.
  const hasLog = statSync(join(scratch, "store.db-wal"), { throwIfNoEntry: false })?.size ?? 0;
  if (name === "no log" && hasLog === 0) return;
  // Nor is the journal of a store that was closed.
  const seal = readFileSync(join(scratch, "store.seal"), "utf8");
  if (name === "no journal" && !seal.startsWith("journal")) return;
  breaks[name]?.(join(scratch, "store.db"));
  const started = await startProgram(["--data", scratch]).catch((error: Error) => error);
  if (started instanceof Error) {
    const [, words = ""] = started.message.split("before it was up: ");
    const isOneLine = words.trim().split("\n").length === 1 && words.includes(scratch);
    if (!isOneLine) ledger.fault(`a store with ${name} was refused with ${words}`);
  } else {
    await started.end("SIGKILL");
    ledger.fault(`a store with ${name} was taken for a good one`);
  }
}
