// The crash proof: the real broker on the real disk, published to from several connections, killed
// with SIGKILL at random moments while its endpoints fail now and then. At the end every accepted
// event is accounted for: delivered, or still waiting. The ledger is printed.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { SqliteEngine } from "../src/store/sqlite/engine.ts";
import { startProgram } from "./fixtures/program.ts";

const kills = 20;
const publishers = 4;
const subscriptions = ["steady", "moody", "gone-at-times"] as const;
const key = "crash-key";

type Books = Readonly<Record<(typeof subscriptions)[number], Book>>;

test(`nothing accepted is lost over ${kills} kills of the process (D-1, D-2)`, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-crash-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const seen: Books = { steady: new Book(), moody: new Book(), "gone-at-times": new Book() };
  const weather = { isCalm: false };
  const port = await listenForEvents(t, seen, weather);
  const settings = ["--config", writeConfig(folder, port), "--data", join(folder, "data")];
  let program = await startProgram(settings);
  t.after(() => program.end("SIGKILL"));

  const crowd = new Crowd(program.url);
  const { accepted } = crowd;
  const publishing = Array.from({ length: publishers }, (_, number) => crowd.publish(number));
  for (let kill = 1; kill <= kills; kill += 1) {
    await crowd.hasAccepted(accepted.size + 20 + Math.floor(Math.random() * 200));
    crowd.url = null;
    assert.equal(await program.end("SIGKILL"), "SIGKILL");
    program = await startProgram(settings);
    crowd.goOnAt(program.url);
  }
  crowd.isOver = true;
  await Promise.all(publishing);

  // Calm: endpoints are well. What failed at the last is due again within its schedule, so not all
  // of it arrives while we watch; the rest must be waiting in the store.
  weather.isCalm = true;
  await seen.steady.has(accepted);
  assert.equal(await program.end("SIGTERM"), 0);

  const waiting = readWaiting(join(folder, "data", "store.db"));
  for (const name of subscriptions) {
    const delivered = seen[name].counts;
    const kept = waiting.get(name) ?? new Set();
    const lost = [...accepted].filter((id) => !delivered.has(id) && !kept.has(id));
    const twice = [...delivered.values()].filter((count) => count > 1).length;
    t.diagnostic(
      `${name}: accepted ${accepted.size}, delivered ${delivered.size}, waiting ${kept.size}, ` +
        `more than once ${twice}, lost ${lost.length}`,
    );
    assert.deepEqual(lost, []);
  }
  t.diagnostic(
    `kills ${kills}, publishes without an answer ${crowd.unanswered}, refused ${crowd.refused}`,
  );
  assert.ok(accepted.size > kills * 20);
});

/** Publishers, each of one event at a time, who remember what was accepted. */
class Crowd {
  readonly accepted = new Set<string>();
  unanswered = 0;
  refused = 0;
  isOver = false;
  /** Null while the broker is dead. */
  url: string | null;
  #onUp: (() => void)[] = [];
  #onAccepted: (() => void) | null = null;

  constructor(url: string) {
    this.url = url;
  }

  goOnAt(url: string): void {
    this.url = url;
    for (const resume of this.#onUp.splice(0)) resume();
  }

  async hasAccepted(count: number): Promise<void> {
    while (this.accepted.size < count) {
      await new Promise<void>((resolve) => {
        this.#onAccepted = resolve;
      });
    }
  }

  async publish(publisher: number): Promise<void> {
    for (let count = 0; !this.isOver; count += 1) {
      if (this.url === null) await new Promise<void>((resolve) => this.#onUp.push(resolve));
      const id = `${publisher}-${count}`;
      try {
        const answer = await fetch(`${this.url}/topics/orders/api/events`, {
          method: "POST",
          headers: { "aeg-sas-key": key },
          body: JSON.stringify([{ ...event, id }]),
        });
        await answer.arrayBuffer();
        if (answer.status === 200) this.accepted.add(id);
        else this.refused += 1;
      } catch {
        // It may have been stored or not; nobody was promised anything.
        this.unanswered += 1;
      }
      this.#onAccepted?.();
    }
  }
}

const event = {
  subject: "crash",
  eventType: "test",
  eventTime: "2030-01-01T00:00:00Z",
  data: { filling: "x".repeat(500) },
  dataVersion: "1",
};

/** What one endpoint has accepted. */
class Book {
  readonly counts = new Map<string, number>();
  #onEntry: (() => void) | null = null;

  enter(id: string): void {
    this.counts.set(id, (this.counts.get(id) ?? 0) + 1);
    this.#onEntry?.();
  }

  async has(ids: ReadonlySet<string>): Promise<void> {
    while (!ids.isSubsetOf(new Set(this.counts.keys()))) {
      await new Promise<void>((resolve) => {
        this.#onEntry = resolve;
      });
    }
  }
}

/**
 * One server for all endpoints. In the bad phase some answers are failures, and some never come.
 */
async function listenForEvents(
  t: TestContext,
  seen: Books,
  weather: { readonly isCalm: boolean },
): Promise<number> {
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const name = request.url?.slice(1) as keyof Books;
      const luck = weather.isCalm || name === "steady" ? 1 : Math.random();
      if (name === "gone-at-times" && luck < 0.05) {
        request.socket.destroy();
        return;
      }
      if (luck < 0.03) {
        response.writeHead(503).end();
        return;
      }
      for (const { id } of JSON.parse(Buffer.concat(chunks).toString()) as { id: string }[]) {
        seen[name].enter(id);
      }
      response.end();
    });
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function writeConfig(folder: string, port: number): string {
  const path = join(folder, "config.json");
  const declared = subscriptions.map((name) => [
    name,
    {
      destination: {
        endpointType: "WebHook",
        properties: { endpointUrl: `http://127.0.0.1:${port}/${name}` },
      },
    },
  ]);
  const topics = { orders: { key1: key, subscriptions: Object.fromEntries(declared) } };
  writeFileSync(path, JSON.stringify({ topics }));
  return path;
}

/** The ids of the events still waiting, by subscription, from the file itself. */
function readWaiting(path: string): Map<string, Set<string>> {
  const engine = new SqliteEngine({ path });
  const run = <T>(op: Parameters<SqliteEngine["run"]>[0][number]): T => {
    const [answer] = engine.run([op]).answers;
    assert.equal(answer?.kind, "done");
    return (answer as { value: T }).value;
  };
  const { subscriptions: known } = run<{ subscriptions: { id: number; name: string }[] }>({
    kind: "catalog",
  });
  const waiting = new Map<string, Set<string>>();
  for (const { id, name } of known) {
    const ids = new Set<string>();
    const queue = { subscription: id, stage: "deliver" } as const;
    for (let after = 0; ; ) {
      const page = run<{ id: { event: number }; event: { text: string } }[]>({
        kind: "waiting",
        queue,
        after,
        limit: 1000,
      });
      for (const { event } of page) ids.add((JSON.parse(event.text) as { id: string }).id);
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.id.event;
    }
    waiting.set(name, ids);
  }
  engine.close();
  return waiting;
}
