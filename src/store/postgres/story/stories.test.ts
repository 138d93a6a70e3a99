import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  chronicleContract,
  type OpenChronicle,
  plainRetention,
} from "../../../../test/contract/chronicle.ts";
import { startAt } from "../../../../test/contract/fixture.ts";
import { type Postgres, startPostgres } from "../../../../test/fixtures/postgres.ts";
import {
  accepted,
  attempted,
  billing,
  busy,
  cleared,
  deliveryOf,
  ok,
  warehouse,
} from "../../../../test/fixtures/story-notes.ts";
import type { Instant } from "../../../core/ports.ts";
import type { Entry } from "../../../core/story/chronicle.ts";
import type { StoryNote } from "../../../core/story/note.ts";
import { parseTarget, type Target } from "../../../core/text/connection-string.ts";
import type { Aftermath } from "../../story/engine.ts";
import { StoryFront, type StoryLink } from "../../story/front.ts";
import { Packer } from "../../story/pack.ts";
import { Database } from "../database.ts";
import { openStories } from "./stories.ts";
import { storyBlocks, storyTables } from "./tables.ts";

const clock = {
  now: () => Date.now(),
  after(ms: number, act: () => void) {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
};

describe("stories in PostgreSQL", () => {
  const ends: (() => unknown)[] = [];
  let postgres: Postgres;
  let databases = 0;
  before(async () => {
    postgres = await startPostgres({ after: (end) => ends.push(end) });
  });
  after(async () => {
    for (const end of ends) await end();
  });

  /** In a schema that nobody has used. */
  async function newPlace(): Promise<string> {
    const url = `${postgres.url("postgres")}?schema=stories_${databases++}`;
    const database = connect(url);
    const { schema } = parseTarget(url, null) as Target;
    await database.query({ text: `create schema ${schema}` });
    for (const text of `${storyTables};${storyBlocks}`.replace(/^\s*--.*$/gm, "").split(";")) {
      if (text.trim() !== "") await database.query({ text });
    }
    await database.close();
    return url;
  }

  function connect(url: string): Database {
    const target = parseTarget(url, null) as Target;
    const log = { fact: () => {} };
    return new Database({ target, clock, log, connectionsMax: 2, name: "test" });
  }

  function openAt(url: string, broker: string, retention = plainRetention) {
    let now = startAt;
    const cuts: number[] = [];
    const database = connect(url);
    const chronicle = new StoryFront({
      link: openStories({ database, broker, retention, sweepMs: 0 }),
      clock: { now: () => now, after: () => () => {} },
      activity: { begin: () => () => {} },
      log: {
        fact(_level, name, fields) {
          if (name === "story.cut") cuts.push(fields.events as number);
          if (name === "story.missed") throw new Error(String(fields.reason));
        },
      },
      gatherMs: 0,
    });
    const close = chronicle.close.bind(chronicle);
    chronicle.close = async () => {
      await close();
      await database.close();
    };
    const setNow = (next: Instant) => {
      now = next;
    };
    return { chronicle, cuts, setNow };
  }

  const open: OpenChronicle = async (retention = {}) =>
    openAt(await newPlace(), "one", { ...plainRetention, ...retention });
  chronicleContract("in PostgreSQL", open, { sizes: { small: 400_000, each: 2_000 } });

  test("two brokers tell one story, whoever writes first", async () => {
    const url = await newPlace();
    const [one, other] = [openAt(url, "one"), openAt(url, "other")];
    const first = attempted("a", busy);
    const second = attempted("a", ok, {
      delivery: deliveryOf("a", { attempts: 1 }),
      startedAt: startAt + 60_000,
    });
    // The broker that delivered it is the first to write, then the one that failed, then the one
    // that accepted it.
    other.chronicle.note(second);
    await other.chronicle.find("a");
    one.chronicle.note(first);
    one.chronicle.note(accepted("a", { to: [warehouse.id, billing.id] }));
    const told = [await one.chronicle.find("a"), await other.chronicle.find("id-a")];
    assert.deepEqual(told[0], told[1]);
    assert.equal(told[0]?.acceptedWith, "key1");
    assert.deepEqual(
      told[0]?.passages.map(({ name, state, notes }) => [name, state, notes.length]).toSorted(),
      [
        ["billing", "waiting", 0],
        ["warehouse", "delivered", 2],
      ],
    );
    const notes = told[0]?.passages.find(({ name }) => name === "warehouse")?.notes ?? [];
    assert.deepEqual(
      notes.map((note) => note.kind === "attempted" && note.number),
      [1, 2],
    );
    await Promise.all([one.chronicle.close(), other.chronicle.close()]);
  });

  test("what another broker sends is held where it was accepted, and is one row in the end", async () => {
    const url = await newPlace();
    const database = connect(url);
    const retention = plainRetention;
    const openLink = (broker: string) => openStories({ database, broker, retention });
    const [here, there] = [openLink("here"), openLink("there")];
    const write = (link: StoryLink, note: StoryNote) => {
      const packer = new Packer({ charsMax: 10_000, notesMax: 10, texts: "all" }, "foreign");
      packer.add(note);
      const batch = packer.take();
      return link.ask({ kind: "write", batch, now: startAt, isPressed: false });
    };
    const find = async () => (await there.ask({ kind: "find", id: "a" })) as Entry | null;
    assert.equal(((await write(here, accepted("a"))) as Aftermath).held, 1);
    assert.equal(await find(), null);
    assert.equal(((await write(there, attempted("a", ok))) as Aftermath).held, 0);
    assert.equal((await find())?.acceptedWith, "unknown");
    await here.ask({ kind: "step", now: startAt });
    const told = await find();
    assert.equal(told?.acceptedWith, "key1");
    assert.equal(told?.text, accepted("a").event.text);
    assert.deepEqual(
      told?.passages.map(({ name, state, notes }) => [name, state, notes.length]),
      [["warehouse", "delivered", 1]],
    );
    assert.deepEqual(await database.query({ text: "select count(*) from story_parts" }), [[0]]);
    await write(here, accepted("b"));
    await here.close();
    assert.ok(await there.ask({ kind: "find", id: "b" }), "what was held is written at the end");
    await write(there, accepted("c"));
    await database.close();
    await there.close();
  });

  test("what was accepted elsewhere just before its subscription was deleted ends as dropped", async () => {
    const url = await newPlace();
    const database = connect(url);
    const openLink = (broker: string) =>
      openStories({ database, broker, retention: plainRetention });
    const [here, there] = [openLink("here"), openLink("there")];
    const write = (link: StoryLink, note: StoryNote) => {
      const packer = new Packer({ charsMax: 10_000, notesMax: 10, texts: "all" }, "foreign");
      packer.add(note);
      return link.ask({ kind: "write", batch: packer.take(), now: startAt, isPressed: false });
    };
    assert.equal(((await write(here, accepted("a"))) as Aftermath).held, 1);
    assert.equal(((await write(there, cleared())) as Aftermath).held, 1, "it looks again later");
    await here.ask({ kind: "step", now: startAt });
    const step = (now: Instant) => there.ask({ kind: "step", now }) as Promise<Aftermath>;
    assert.deepEqual([(await step(startAt)).held, (await step(startAt)).more], [1, false]);
    assert.equal((await step(startAt + 5_000)).held, 0);
    const told = (await there.ask({ kind: "find", id: "a" })) as Entry | null;
    assert.deepEqual(
      told?.passages.map(({ name, state }) => [name, state]),
      [["warehouse", "dropped"]],
    );
    await Promise.all([here.close(), there.close()]);
    await database.close();
  });

  test("one broker removes what is old, for all", async () => {
    const url = await newPlace();
    const [one, other] = [openAt(url, "one"), openAt(url, "other")];
    for (const { chronicle } of [one, other]) {
      chronicle.note(accepted("old"));
      chronicle.note(attempted("old", ok));
      await chronicle.find("old");
    }
    const weekMs = 7 * 86_400_000;
    other.setNow(startAt + 2 * weekMs);
    await other.chronicle.find("old");
    await other.chronicle.find("old");
    assert.ok(await other.chronicle.find("old"), "that is the work of the first");
    one.setNow(startAt + 2 * weekMs);
    await one.chronicle.find("old");
    assert.equal(await one.chronicle.find("old"), null);
    assert.equal(await other.chronicle.find("old"), null);
    await Promise.all([one.chronicle.close(), other.chronicle.close()]);
  });

  test("brokers that write about the same events at once do not lose a note", async () => {
    const url = await newPlace();
    const brokers = ["one", "two", "three"].map((name) => openAt(url, name));
    const names = Array.from({ length: 200 }, (_, number) => `e${number}`);
    await Promise.all(
      brokers.map(async ({ chronicle }, broker) => {
        for (const name of names) {
          const delivery = deliveryOf(name, { attempts: broker });
          chronicle.note(attempted(name, busy, { delivery }));
          if (name.endsWith("9")) await chronicle.find(name);
        }
        await chronicle.find("e0");
      }),
    );
    for (const name of names) {
      const [passage] = (await brokers[0]?.chronicle.find(name))?.passages ?? [];
      assert.equal(passage?.notes.length, 3, name);
    }
    await Promise.all(brokers.map(({ chronicle }) => chronicle.close()));
  });

  test("characters that the database does not take do not stop a batch", async () => {
    const { chronicle } = await open();
    chronicle.note(accepted("a", { id: "i\0d", subject: "s\0", type: "\ud800" }));
    assert.equal((await chronicle.find("i\0d"))?.event, "a");
    assert.equal((await chronicle.search({ id: "i\0d", limit: 5 })).found.length, 1);
    await chronicle.close();
  });
});
