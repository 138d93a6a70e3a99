import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import {
  chronicleContract,
  type OpenChronicle,
  plainRetention,
} from "../../../test/contract/chronicle.ts";
import { startAt } from "../../../test/contract/fixture.ts";
import {
  accepted,
  attempted,
  bad,
  billing,
  busy,
  cleared,
  deliveryOf,
  eventNamed,
  ok,
  subscriptionOf,
  warehouse,
} from "../../../test/fixtures/story-notes.ts";
import type { Instant } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import { Members } from "../../core/routing/members.ts";
import { membersOf } from "../../core/story/chronicle.ts";
import type { Asked } from "../asked-thread.ts";
import { decompress } from "./compress.ts";
import { StoryEngine } from "./engine.ts";
import { type StoryAsk, StoryFront, type StoryLink, type StoryLook } from "./front.ts";
import { hashOf } from "./ids.ts";
import { batchNotesMax, Packer } from "./pack.ts";
import { openStoryReader } from "./reader-thread.ts";
import { storyMigrations } from "./schema.ts";
import { openStories, prepareStories } from "./statements.ts";
import { openStoryInline, openStoryThread } from "./thread.ts";

function openFront(link: StoryLink, reader?: Asked<StoryLook>) {
  let now = startAt;
  const cuts: number[] = [];
  const facts: string[] = [];
  const chronicle = new StoryFront({
    link,
    ...(reader && { reader }),
    clock: { now: () => now, after: () => () => {} },
    activity: { begin: () => () => {} },
    log: {
      fact(_level, name, fields) {
        facts.push(name);
        if (name === "story.cut") cuts.push(fields.events as number);
      },
    },
    gatherMs: 0,
  });
  const setNow = (next: Instant) => {
    now = next;
  };
  return { chronicle, cuts, facts, setNow };
}

const openInMemory: OpenChronicle = async (retention = {}) => {
  const engine = new StoryEngine({
    path: ":memory:",
    retention: { ...plainRetention, ...retention },
  });
  return openFront(openStoryInline(engine));
};

// An empty file has 200 KB.
const sizes = { small: 600_000, each: 1_000 };
chronicleContract("the chronicle in SQLite", openInMemory, { sizes });

const retention = plainRetention;

function scratch(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-story-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "story.db");
}

test("stories outlive the broker, on a thread of their own", async (t) => {
  const path = scratch(t);
  const first = openFront(await openStoryThread({ path, retention }));
  const event = eventNamed("a");
  first.chronicle.note(accepted("a", { event, to: [warehouse.id], number: 5 }));
  first.chronicle.note(attempted("a", busy));
  await first.chronicle.close();
  const link = await openStoryThread({ path, retention });
  assert.equal(link.wasClosed, true, "whatever was noted is there");
  const second = openFront(link);
  second.chronicle.note(attempted("a", ok, { delivery: deliveryOf("a", { attempts: 1 }) }));
  const entry = await second.chronicle.find("id-a");
  assert.equal(entry?.text, event.text);
  assert.equal(entry?.roll?.length, 2);
  const [passage] = entry?.passages ?? [];
  assert.equal(passage?.state, "delivered");
  assert.deepEqual(
    passage?.notes.map((note) => note.kind === "attempted" && [note.number, note.status]),
    [
      [1, 503],
      [2, 200],
    ],
  );
  await second.chronicle.close();
  await second.chronicle.close();
});

test("a chronicle that was not closed says so, and up to where it knew", async (t) => {
  const path = scratch(t);
  const fresh = new StoryEngine({ path, retention });
  assert.deepEqual([fresh.wasClosed, fresh.lastStored], [false, 0]);
  const packer = new Packer({ notesMax: 9, charsMax: 9, texts: "all" }, startAt);
  packer.add(accepted("a", { number: 41 }));
  packer.add(accepted("b", { number: 42 }));
  packer.add(accepted("c", { number: null, to: [] }));
  fresh.write(packer.take(), startAt);
  fresh.kill();
  const again = new StoryEngine({ path, retention });
  assert.deepEqual([again.wasClosed, again.lastStored], [false, 42]);
  again.close();
  const closed = new StoryEngine({ path, retention });
  assert.equal(closed.wasClosed, true);
  closed.close();
});

test("without room, texts are left out first, then what succeeded, and failures last", () => {
  const charsMax = 100;
  const packer = new Packer({ notesMax: 4, charsMax, texts: "all" }, startAt);
  const engine = new StoryEngine({ path: ":memory:", retention });
  packer.add(accepted("a"));
  packer.add(accepted("b"));
  packer.add(attempted("a", busy));
  packer.add(attempted("b", busy));
  packer.add(accepted("c"));
  packer.add(attempted("a", ok));
  for (let number = 1; number <= 6; number++) {
    packer.add(attempted("b", bad, { delivery: deliveryOf("b", { attempts: number }) }));
  }
  const { dropped, ...batch } = packer.take();
  assert.equal(dropped, 4, "one publish, one success and two of six failures");
  engine.write(batch, startAt);
  assert.notEqual(engine.find("a")?.text, null);
  assert.equal(engine.find("b")?.text, null, "the second text had no room");
  assert.notEqual(engine.find("b")?.roll, null, "but who was asked is known");
  assert.equal(engine.find("c"), null);
  assert.equal(engine.find("a")?.passages[0]?.state, "waiting");
  assert.equal(engine.find("b")?.passages[0]?.notes.length, 5);
  packer.add(accepted("c"));
  assert.equal(packer.take().dropped, 0, "there is room again");
  engine.close();
});

test("what came while no stories were kept is introduced by whoever recalls it", async (t) => {
  const path = scratch(t);
  const first = openFront(await openStoryThread({ path, retention }));
  await first.chronicle.close();
  const { chronicle } = openFront(await openStoryThread({ path, retention }));
  chronicle.note(attempted("a", busy));
  assert.equal(await chronicle.find("a"), null, "a clean stop left nothing unknown");
  chronicle.note({ kind: "recalled", subscription: warehouse, delivery: deliveryOf("a") });
  chronicle.note(attempted("a", busy));
  assert.equal((await chronicle.find("id-a"))?.passages[0]?.notes.length, 1);
  await chronicle.close();
});

test("who was asked is written once, and told again when it was forgotten", async () => {
  const engine = new StoryEngine({ path: ":memory:", retention });
  const inline = openStoryInline(engine);
  const told: number[] = [];
  const ask = (asked: StoryAsk) => {
    if (asked.kind === "write") told.push(asked.batch.rolls.length);
    return inline.ask(asked);
  };
  const { chronicle, setNow } = openFront({ ...inline, ask });
  const note = async (name: string, at: Instant) => {
    chronicle.note(accepted(name, { at, to: [], roll: new Members([warehouse, billing]) }));
    assert.equal((await chronicle.find(name))?.roll?.length, 2, name);
  };
  await note("a", startAt);
  await note("b", startAt);
  const laterAt = startAt + 2 * retention.keptMs;
  setNow(laterAt);
  await chronicle.find("a");
  assert.equal(await chronicle.find("a"), null, "forgotten, and with it who was asked");
  await note("c", laterAt);
  await note("d", laterAt);
  assert.deepEqual(told, [1, 0, 1, 0]);
  await chronicle.close();
});

test("of many who were asked, only those beside one that changed are told again", async () => {
  const engine = new StoryEngine({ path: ":memory:", retention });
  const inline = openStoryInline(engine);
  const told: number[] = [];
  let isBroken = false;
  const ask = (asked: StoryAsk) => {
    if (isBroken) return Promise.reject(new Error("disk I/O error"));
    if (asked.kind === "write") told.push(asked.batch.blocks.length);
    return inline.ask(asked);
  };
  const { chronicle, setNow } = openFront({ ...inline, ask });
  const many = new Members(
    Array.from({ length: 200 }, (_, place) => subscriptionOf(place + 1, `s${place}`)),
  );
  const asked: [event: string, names: string[]][] = [];
  const note = async (name: string, at: Instant) => {
    asked.push([name, [...many].map((member) => member.name)]);
    chronicle.note(accepted(name, { at, to: [], roll: new Members(many) }));
    await chronicle.find(name);
  };
  const namesOf = async (event: string) => (await chronicle.find(event))?.roll?.map((m) => m.name);
  await note("a", startAt);
  many.put(subscriptionOf(7, "other", { revision: 2 }));
  await note("b", startAt);
  many.remove(150);
  await note("c", startAt + 1);
  assert.deepEqual(told, [4, 1, 1]);
  for (const [event, names] of asked) assert.deepEqual(await namesOf(event), names);
  const laterAt = startAt + retention.keptMs + 1;
  setNow(laterAt);
  await note("d", laterAt);
  await note("e", laterAt);
  assert.equal(await chronicle.find("a"), null);
  assert.deepEqual(await namesOf("c"), asked[2]?.[1], "what others have as well is still there");
  isBroken = true;
  many.put(subscriptionOf(9, "lost", { revision: 3 }));
  await assert.rejects(note("f", laterAt));
  isBroken = false;
  await note("g", laterAt);
  assert.deepEqual(await namesOf("g"), asked.at(-1)?.[1], "and all is told again after a failure");
  await chronicle.close();
});

test("a disk that fails costs stories and nothing else", async () => {
  const engine = new StoryEngine({ path: ":memory:", retention });
  const inline = openStoryInline(engine);
  let isBroken = true;
  const ask = (asked: StoryAsk) =>
    isBroken ? Promise.reject(new Error("disk I/O error")) : inline.ask(asked);
  const { chronicle, facts } = openFront({ ...inline, ask });
  chronicle.note(accepted("a"));
  await assert.rejects(chronicle.find("a"), (error) => {
    assert.ok(error instanceof Refusal);
    return error.code === "Unavailable";
  });
  assert.deepEqual(facts, ["story.missed"]);
  isBroken = false;
  chronicle.note(accepted("b"));
  assert.equal((await chronicle.find("b"))?.event, "b");
  assert.equal(await chronicle.find("a"), null);
  await chronicle.close();
});

test("a search looks through so much at a time, and says where to go on", async () => {
  const engine = new StoryEngine({ path: ":memory:", retention, lookedThroughMax: 10 });
  const { chronicle } = openFront(openStoryInline(engine));
  for (let index = 0; index < 25; index++) {
    chronicle.note(accepted(`e${index}`, { subject: index % 20 === 2 ? "rare" : "common" }));
  }
  const pages: string[] = [];
  let after: string | undefined;
  do {
    const asked = { subject: "rare", limit: 5, ...(after === undefined ? {} : { after }) };
    const { found, next } = await chronicle.search(asked);
    pages.push(found.map(({ event }) => event).join());
    after = next ?? undefined;
  } while (after !== undefined);
  assert.deepEqual(pages, ["e22", "", "e2"]);
  await chronicle.close();
});

test("a search within a range of time looks through nothing else", async () => {
  const engine = new StoryEngine({ path: ":memory:", retention, lookedThroughMax: 10 });
  const { chronicle } = openFront(openStoryInline(engine));
  for (let index = 0; index < 100; index++) {
    chronicle.note(accepted(`e${index}`, { at: startAt + index * 1_000 }));
  }
  const range = { from: startAt + 5_000, to: startAt + 9_000 };
  const { found, next } = await chronicle.search({ ...range, limit: 50 });
  assert.deepEqual(
    found.map(({ event }) => event),
    ["e9", "e8", "e7", "e6", "e5"],
  );
  assert.equal(next, null, "the range is over");
  const none = await chronicle.search({ ...range, subject: "elsewhere", limit: 50 });
  assert.deepEqual([none.found.length, none.next], [0, null]);
  await chronicle.close();
});

test("whoever reads in a burst waits for one batch, not for all that waits", async () => {
  const asked: { readonly kind: string; readonly notes: number }[] = [];
  const writes: (() => void)[] = [];
  const link: StoryLink = {
    ...{ wasClosed: true, lastStored: 0, setAside: null },
    ask(ask) {
      asked.push({ kind: ask.kind, notes: ask.kind === "write" ? ask.batch.notes : 0 });
      if (ask.kind === "search") return Promise.resolve({ found: [], next: null });
      const written = { cut: 0, more: false, rolls: [], held: 0 };
      return new Promise((resolve) => writes.push(() => resolve(written)));
    },
    close: () => Promise.resolve(),
  };
  const { chronicle } = openFront(link);
  const burst = 5 * batchNotesMax;
  for (let index = 0; index < burst; index++) chronicle.note(accepted(`e${index}`));
  await chronicle.search({ limit: 5 });
  assert.deepEqual(asked, [
    { kind: "write", notes: batchNotesMax },
    { kind: "search", notes: 0 },
  ]);
  const closing = chronicle.close();
  while (asked.reduce((sum, { notes }) => sum + notes, 0) < burst || writes.length > 0) {
    writes.shift()?.();
    await new Promise((go) => setImmediate(go));
  }
  await closing;
  assert.ok(asked.every(({ notes }) => notes <= batchNotesMax));
});

/** A disk that does nothing until it is let. */
function openStuck({ isDeaf = false } = {}) {
  let abandoned = 0;
  const asked: StoryAsk[] = [];
  const waiting: (() => void)[] = [];
  const link: StoryLink = {
    ...{ wasClosed: true, lastStored: 0, setAside: null },
    ask(ask) {
      asked.push(ask);
      if (ask.kind === "search") return Promise.resolve({ found: [], next: null });
      const written = { cut: 0, more: false, rolls: [], held: 0 };
      return new Promise((resolve) => waiting.push(() => resolve(written)));
    },
    close: () => (isDeaf ? new Promise(() => {}) : Promise.resolve()),
    abandon() {
      abandoned += 1;
    },
  };
  const rings: (() => void)[] = [];
  const facts: string[] = [];
  let missed = 0;
  const chronicle = new StoryFront({
    ...{ link, reader: link, gatherMs: 1_000, activity: { begin: () => () => {} } },
    clock: {
      now: () => startAt,
      after(_ms, call) {
        rings.push(call);
        return () => {};
      },
    },
    log: { fact: (_level, name, { notes, reason }) => facts.push(`${name} ${notes} ${reason}`) },
    meter: {
      count(name, _labels, by = 1) {
        assert.equal(name, "posthorn_story_missed_total");
        missed += by;
      },
    },
  });
  const ring = () => {
    for (const call of rings.splice(0)) call();
  };
  const counts = { missed: () => missed, abandoned: () => abandoned };
  return { chronicle, asked, waiting, ring, facts, ...counts };
}

test("reading while the disk is slow leaves no more than one batch with it", async () => {
  const { chronicle, asked, waiting, ring } = openStuck();
  for (let index = 0; index < 50; index++) {
    chronicle.note(accepted(`e${index}`));
    const reading = chronicle.search({ limit: 1 });
    ring();
    await reading;
  }
  assert.equal(asked.filter(({ kind }) => kind !== "search").length, 1);
  const closing = chronicle.close();
  waiting.shift()?.();
  while (waiting.length === 0) await new Promise((go) => setImmediate(go));
  waiting.shift()?.();
  await closing;
  const notes = asked.map((ask) => (ask.kind === "write" ? ask.batch.notes : 0));
  assert.equal(notes.filter((count) => count > 0).join(), "1,49");
});

test("a stop does not wait for a disk that hangs, and counts what it leaves out", async () => {
  const { chronicle, ring, facts, missed } = openStuck();
  chronicle.note(accepted("a"));
  ring();
  chronicle.note(accepted("b"));
  chronicle.note(attempted("b", ok));
  const closing = chronicle.close();
  ring();
  await closing;
  assert.deepEqual(facts, ["story.missed 2 stopped"]);
  assert.equal(missed(), 2);
});

test("a stop does not wait for a thread that does not end", async () => {
  const { chronicle, ring, abandoned } = openStuck({ isDeaf: true });
  let isClosed = false;
  const closing = chronicle.close().then(() => {
    isClosed = true;
  });
  while (!isClosed) {
    ring();
    await new Promise((go) => setImmediate(go));
  }
  await closing;
  assert.equal(abandoned(), 2, "the reader and the writer");
});

test("what is over soon is written once, and a crash says what was not written", async (t) => {
  const path = scratch(t);
  const engine = new StoryEngine({ path, retention });
  const packer = new Packer({ notesMax: 99, charsMax: 9_999, texts: "all" }, startAt);
  const write = (isPressed: boolean) => engine.write(packer.take(), startAt, isPressed);
  packer.add(accepted("a", { number: 7 }));
  packer.add(accepted("b", { number: 8, roll: new Members([warehouse]) }));
  packer.add(attempted("b", ok));
  assert.equal(write(false).held, 1, "a is under way");
  assert.deepEqual([engine.find("a"), engine.find("b")?.number], [null, 8]);
  packer.add(attempted("a", ok));
  assert.equal(write(false).held, 0);
  assert.equal(engine.find("a")?.passages[0]?.state, "delivered");
  assert.equal(engine.find("a")?.text, eventNamed("a").text);
  packer.add(accepted("c", { number: 9 }));
  packer.add(accepted("d", { number: 10 }));
  packer.add(attempted("d", ok));
  write(false);
  engine.kill();
  const again = new StoryEngine({ path, retention });
  assert.equal(again.lastStored, 8, "c is to be recalled");
  assert.equal(again.find("d")?.passages[0]?.state, "delivered");
  again.close();
});

test("what is cleared while it is held does not wait any more", async () => {
  const engine = new StoryEngine({ path: ":memory:", retention });
  const packer = new Packer({ notesMax: 99, charsMax: 9_999, texts: "all" }, startAt);
  packer.add(accepted("a"));
  assert.equal(engine.write(packer.take(), startAt, false).held, 1);
  packer.add(cleared());
  assert.equal(engine.write(packer.take(), startAt, false).held, 0);
  assert.equal(engine.find("a")?.passages[0]?.state, "dropped");
  engine.close();
});

test("a note about an event that was long delivered is added to its story", async () => {
  const engine = new StoryEngine({ path: ":memory:", retention });
  const { chronicle } = openFront(openStoryInline(engine));
  for (const name of ["a", "b", "c"]) {
    chronicle.note(accepted(name, { to: [warehouse.id], number: 3 }));
    chronicle.note(attempted(name, ok));
  }
  const before = await chronicle.find("b");
  chronicle.note(attempted("b", busy, { counts: false, isLate: true }));
  const after = await chronicle.find("b");
  assert.equal(after?.passages[0]?.notes.length, 2);
  assert.deepEqual(
    { ...after, passages: null },
    { ...before, passages: null },
    "and nothing else of it changes",
  );
  assert.deepEqual(
    (await chronicle.search({ limit: 9 })).found.map(({ event }) => event),
    ["c", "b", "a"],
  );
  assert.equal((await chronicle.search({ id: "id-b", limit: 9 })).found.length, 1);
  await chronicle.close();
});

test("a note about an event that was delivered earlier in the same batch is not lost", async () => {
  const engine = new StoryEngine({ path: ":memory:", retention });
  const packer = new Packer({ notesMax: 9_999, charsMax: 999_999, texts: "all" }, startAt);
  packer.add(accepted("a"));
  packer.add(attempted("a", ok));
  for (let index = 0; index < 150; index += 1) {
    packer.add(accepted(`e${index}`));
    packer.add(attempted(`e${index}`, ok));
  }
  packer.add(attempted("a", busy, { counts: false, isLate: true }));
  packer.add(accepted("z"));
  packer.add(attempted("z", ok));
  engine.write(packer.take(), startAt);
  assert.equal(engine.find("a")?.passages[0]?.notes.length, 2);
  for (const name of ["e0", "e149", "z"]) {
    assert.equal(engine.find(name)?.passages[0]?.notes.length, 1);
  }
  engine.close();
});

test("events that took the same course keep their own notes", async () => {
  const engine = new StoryEngine({ path: ":memory:", retention });
  const packer = new Packer({ notesMax: 99, charsMax: 9_999, texts: "all" }, startAt);
  const durations = [3, 3, 5, 3];
  for (const [index, ms] of durations.entries()) {
    packer.add(accepted(`e${index}`));
    packer.add(attempted(`e${index}`, ok, { endedAt: startAt + ms, startedAt: startAt }));
  }
  engine.write(packer.take(), startAt);
  const kept = durations.map((_, index) => engine.find(`e${index}`)?.passages[0]?.notes[0]);
  assert.deepEqual(
    kept.map((note) => note?.kind === "attempted" && note.durationMs),
    durations,
  );
  engine.close();
});

test("a search finds what was delivered and what was not in one order, page by page", async () => {
  const engine = new StoryEngine({ path: ":memory:", retention, lookedThroughMax: 40 });
  const { chronicle } = openFront(openStoryInline(engine));
  const names: string[] = [];
  for (let index = 0; index < 300; index++) {
    const name = `e${index}`;
    // Late ones among them: batches overlap in time.
    const at = startAt + 100 * (index % 7 === 0 ? index + 9 : index);
    names.push(`${String(at)} ${String(index).padStart(3, "0")} ${name}`);
    chronicle.note(accepted(name, { at, subject: index % 2 === 0 ? "even" : "odd" }));
    if (index % 3 > 0) chronicle.note(attempted(name, ok));
    if (index % 50 === 49) await chronicle.find("nobody");
  }
  const inOrder = names.sort().reverse();
  for (const subject of ["even", "odd", "*"]) {
    const found: string[] = [];
    let after: string | undefined;
    do {
      const asked = { subject, limit: 7, ...(after === undefined ? {} : { after }) };
      const page = await chronicle.search(asked);
      found.push(...page.found.map(({ event }) => event));
      after = page.next ?? undefined;
    } while (after !== undefined);
    const isWanted = (index: number) =>
      subject === "*" || (index % 2 === 0) === (subject === "even");
    const expected = inOrder.map((name) => name.split(" ")[2] ?? "");
    assert.deepEqual(
      found,
      expected.filter((name) => isWanted(Number(name.slice(1)))),
      subject,
    );
  }
  await chronicle.close();
});

test("a file of an earlier release is opened, and its stories are there", async (t) => {
  const path = scratch(t);
  const database = new DatabaseSync(path);
  database.exec(
    `${storyMigrations[0]}; PRAGMA user_version = 1; UPDATE closings SET is_closed = 1`,
  );
  const values = "1, 'old', 'id-old', 'orders', NULL, '/s', 'sold', 5, 3, 0, '|1:d:warehouse|'";
  database.exec(`INSERT INTO entries VALUES (${values}, '{"seats":[],"notes":[]}');
    INSERT INTO rolls VALUES (4, 1, '${JSON.stringify(membersOf([warehouse, billing]))}');
    INSERT INTO ids VALUES (0, ${hashOf("old")}, 1);
    INSERT INTO texts VALUES (1, 4, '{}')`);
  database.close();
  const engine = new StoryEngine({ path, retention: { ...retention, keptMs: 2 * startAt } });
  assert.deepEqual([engine.wasClosed, engine.lastStored], [true, 3]);
  const { chronicle } = openFront(openStoryInline(engine));
  chronicle.note(accepted("new"));
  chronicle.note(attempted("new", ok));
  const { found } = await chronicle.search({ limit: 9 });
  assert.deepEqual(
    found.map(({ event }) => event),
    ["new", "old"],
  );
  const old = await chronicle.find("old");
  assert.deepEqual(
    old?.roll?.map(({ name }) => name),
    [warehouse.name, billing.name],
  );
  await chronicle.close();
});

test("a damaged file is set aside, and stories begin again", async (t) => {
  const path = scratch(t);
  const text = "not a database, however long it may be ".repeat(40);
  for (const number of [1, 2]) {
    writeFileSync(path, text);
    const link = await openStoryThread({ path, retention });
    await link.close();
    assert.equal(link.setAside, `${path}.damaged-${number}`);
    assert.equal(readFileSync(link.setAside, "utf8"), text);
  }
  const link = await openStoryThread({ path, retention });
  await link.close();
  assert.equal(link.setAside, null);
});

test("stories in memory leave no file behind", () => {
  new StoryEngine({ path: ":memory:", retention: plainRetention }).close();
  assert.ok(!existsSync(":memory:"));
});

test("a file of a later release is refused in words", async (t) => {
  const later = scratch(t);
  const database = openStories(later);
  database.exec("PRAGMA user_version = 999");
  database.close();
  await assert.rejects(openStoryThread({ path: later, retention }), {
    message: /^The stories are of schema version 999; this release knows up to \d+\.$/,
  });
});

test("reading goes on while writing does not, and shows what has been written", async (t) => {
  const path = scratch(t);
  const link = await openStoryThread({ path, retention });
  const held = Promise.withResolvers<void>();
  let isHeld = false;
  const slow: StoryLink = {
    ...link,
    async ask(ask) {
      if (isHeld && (ask.kind === "write" || ask.kind === "step")) await held.promise;
      return await link.ask(ask);
    },
  };
  let ring = () => {};
  const clock = {
    now: () => startAt,
    after: (_ms: number, call: () => void) => {
      ring = call;
      return () => {};
    },
  };
  const chronicle = new StoryFront({
    ...{ link: slow, reader: openStoryReader({ path }), clock, gatherMs: 0 },
    ...{ activity: { begin: () => () => {} }, log: { fact: () => {} } },
  });
  const ids = async () => (await chronicle.search({ limit: 9 })).found.map(({ event }) => event);
  chronicle.note(accepted("a"));
  assert.deepEqual(await ids(), ["a"], "what was noted just before is there");
  isHeld = true;
  chronicle.note(accepted("b"));
  const reading = ids();
  ring();
  assert.deepEqual(await reading, ["a"], "it does not wait for a disk that hangs");
  const finding = chronicle.find("a");
  ring();
  assert.equal((await finding)?.event, "a");
  held.resolve();
  await chronicle.close();
});

test("a file of the version that did not compress sheets is read on, and written on", (t) => {
  const path = scratch(t);
  const engine = new StoryEngine({ path, retention });
  const packer = new Packer({ notesMax: 99, charsMax: 9_999, texts: "all" }, startAt);
  const write = (...names: string[]) => {
    for (const name of names) {
      packer.add(accepted(name));
      packer.add(attempted(name, ok));
    }
    engine.write(packer.take(), startAt);
  };
  write("a", "b");
  const before = [engine.find("a"), engine.find("b"), engine.search({ limit: 9 })];
  const database = new DatabaseSync(path);
  const sheet = database.prepare("SELECT heads, stories, texts FROM sheets").get();
  const { heads, stories, texts } = sheet as Record<"heads" | "stories" | "texts", Uint8Array>;
  database
    .prepare("UPDATE sheets SET heads = ?, stories = ?, texts = ?")
    .run(String(decompress(heads)), String(decompress(stories)), decompress(texts));
  database.close();
  assert.deepEqual([engine.find("a"), engine.find("b"), engine.search({ limit: 9 })], before);
  packer.add(attempted("b", busy, { counts: false, isLate: true }));
  write("c");
  assert.equal(engine.find("b")?.passages[0]?.notes.length, 2, "lifted from its sheet");
  assert.equal(engine.find("b")?.text, eventNamed("b").text);
  assert.equal(engine.find("c")?.text, eventNamed("c").text);
  engine.close();
});

test("a sheet whose bytes have changed is noticed, and the next start sets the file aside", async (t) => {
  const path = scratch(t);
  const link = await openStoryThread({ path, retention });
  const { chronicle } = openFront(link);
  t.after(() => chronicle.close());
  chronicle.note(accepted("a"));
  chronicle.note(attempted("a", ok));
  await chronicle.find("a");
  const database = new DatabaseSync(path);
  const { texts } = database.prepare("SELECT texts FROM sheets").get() as { texts: Uint8Array };
  // In what it says, not in how it is packed: only the checksum can tell.
  texts.set(Buffer.from("told"), Buffer.from(texts).indexOf("sold"));
  database.prepare("UPDATE sheets SET texts = ?").run(texts);
  database.close();
  await assert.rejects(chronicle.find("a"), /cannot be read/);
  await chronicle.close();
  const again = await openStoryThread({ path, retention });
  await again.close();
  assert.equal(again.setAside, `${path}.damaged-1`);
});

test("what waits is found among thousands that came at the same time", (t) => {
  const engine = new StoryEngine({ path: scratch(t), retention });
  const packer = new Packer({ notesMax: 99_999, charsMax: 99_999_999, texts: "all" }, startAt);
  const write = () => {
    while (packer.size > 0) engine.write(packer.take(), startAt);
  };
  // More than share a bin of ids.
  const names = Array.from({ length: 9_000 }, (_, index) => `e${index}`);
  for (const name of names) packer.add(accepted(name));
  write();
  const some = ["e0", "e4000", "e8191", "e8192", "e8999"];
  for (const name of some) packer.add(attempted(name, busy));
  packer.add({ kind: "lost", at: startAt, event: "e8999", subscription: warehouse.id });
  write();
  const tellingsOf = (name: string) => {
    const passage = engine.find(name)?.passages[0];
    return [passage?.state, passage?.notes.map(({ kind }) => kind)];
  };
  for (const name of some.slice(0, 4))
    assert.deepEqual(tellingsOf(name), ["waiting", ["attempted"]]);
  assert.deepEqual(tellingsOf("e8999"), ["unknown", ["attempted", "lost"]]);
  assert.deepEqual(tellingsOf("e4001"), ["waiting", []], "nobody else");
  engine.close();
});

test("no statement looks at all entries", () => {
  const database = openStories(":memory:");
  const scanning: string[] = [];
  for (const [name, { sourceSQL }] of Object.entries(prepareStories(database))) {
    for (const { detail } of database.prepare(`EXPLAIN QUERY PLAN ${sourceSQL}`).all()) {
      if (/SCAN (entries|ids|parts|texts)\b/.test(String(detail))) scanning.push(name);
    }
  }
  // These stop after the first few.
  assert.deepEqual(scanning, ["lastStored", "oldestGivenUp"]);
  database.close();
});
