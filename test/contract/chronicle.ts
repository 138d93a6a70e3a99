// The contract of a chronicle, as a suite that each of them runs from its own few-line test.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Instant } from "../../src/core/ports.ts";
import { Refusal } from "../../src/core/refusal.ts";
import { Members } from "../../src/core/routing/members.ts";
import type { Chronicle, EventQuery, Retention } from "../../src/core/story/chronicle.ts";
import type { AcceptedNote, StoryNote } from "../../src/core/story/note.ts";
import {
  accepted,
  attempted,
  bad,
  billing,
  busy,
  cleared,
  deliveryOf,
  ended,
  eventNamed,
  ok,
  subscriptionOf,
  warehouse,
} from "../fixtures/story-notes.ts";
import { startAt } from "./fixture.ts";

export interface ChronicleHarness {
  readonly chronicle: Chronicle;
  /** Told of what was given up on and had to be forgotten. */
  readonly cuts: number[];
  setNow(now: Instant): void;
}

export type OpenChronicle = (retention?: Partial<Retention>) => Promise<ChronicleHarness>;

const dayMs = 86_400_000;
export const plainRetention: Retention = { keptMs: 7 * dayMs, bytesMax: 64 * 1_048_576 };

async function namesFound(chronicle: Chronicle, query: Partial<EventQuery>): Promise<string[]> {
  const names: string[] = [];
  let after: string | undefined;
  for (let pages = 0; pages < 1_000; pages++) {
    const asked = { limit: 3, ...query, ...(after === undefined ? {} : { after }) };
    const { found, next } = await chronicle.search(asked);
    assert.ok(found.length <= asked.limit);
    names.push(...found.map(({ event }) => event));
    if (next === null) return names;
    after = next;
  }
  return assert.fail("the pages have no end");
}

async function statesOf(chronicle: Chronicle, id: string): Promise<string[]> {
  const entry = await chronicle.find(id);
  return (entry?.passages ?? []).map(({ name, state }) => `${name} ${state}`);
}

export function chronicleContract(
  name: string,
  open: OpenChronicle,
  { sizes }: { readonly sizes: { readonly small: number; readonly each: number } },
): void {
  const proves = (
    sentence: string,
    prove: (harness: ChronicleHarness) => Promise<void>,
    retention: Partial<Retention> = {},
  ) =>
    test(sentence, { timeout: 60_000 }, async () => {
      const harness = await open(retention);
      try {
        await prove(harness);
      } finally {
        await harness.chronicle.close();
      }
    });

  describe(name, () => {
    proves("what was noted is found at once, by either id", async ({ chronicle }) => {
      chronicle.note(accepted("a", { to: [warehouse.id, billing.id], number: 7 }));
      chronicle.note(attempted("a", ok));
      const entry = await chronicle.find("a");
      assert.ok(entry);
      const { event, id, topic, subject, type, acceptedAt, number, acceptedWith } = entry;
      assert.deepEqual(
        { event, id, topic, subject, type, acceptedAt, number, acceptedWith },
        {
          ...{ event: "a", id: "id-a", topic: "orders", subject: "/shop/a", type: "sold" },
          ...{ acceptedAt: startAt, number: 7, acceptedWith: "key1" },
        },
      );
      assert.deepEqual(await statesOf(chronicle, "id-a"), [
        "warehouse delivered",
        "billing waiting",
      ]);
      assert.equal(await chronicle.find("b"), null);
    });

    proves(
      "events that are alike are told apart by all they do not share",
      async ({ chronicle }) => {
        const trace = { parent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`, state: null };
        const others: Record<string, Partial<AcceptedNote>> = {
          plain: {},
          again: {},
          time: { at: startAt + 1 },
          type: { type: "sent" },
          subject: { subject: '/else \\ "quoted"' },
          idOfMarks: { id: 'x"\\y' },
          domain: { domainTopic: "north" },
          keyed: { acceptedWith: "key2" },
          nobody: { to: [] },
          both: { to: [warehouse.id, billing.id] },
          swapped: { to: [billing.id, warehouse.id] },
          traced: { event: eventNamed("traced", { trace }) },
          versioned: { event: eventNamed("versioned", { dataVersion: "2" }) },
          enveloped: { event: eventNamed("enveloped", { envelope: "{}" }) },
          wide: { event: eventNamed("wide", { text: '{"id":"ü€"}' }) },
          last: {},
        };
        const names = Object.keys(others);
        for (const [index, name] of names.entries()) {
          chronicle.note(accepted(name, { number: index + 1, ...others[name] }));
        }
        const attempts: Record<string, Parameters<typeof attempted>[2]> = {
          time: { at: startAt + 7 },
          type: { batch: 3 },
          subject: { health: "recovering" },
          domain: { counts: false },
          keyed: { isLate: true },
          both: { subscription: billing },
          traced: { delivery: deliveryOf("traced", { attempts: 2 }) },
        };
        const sent = (name: string) => attempted(name, ok, { batch: 9, ...attempts[name] });
        for (const name of names) chronicle.note(sent(name));
        for (const [index, name] of names.entries()) {
          const wanted = accepted(name, { number: index + 1, ...others[name] });
          const { id, subject, type, domainTopic, acceptedWith, number, at, event, to } = wanted;
          const entry = await chronicle.find(name);
          assert.ok(entry, name);
          const { text, traceparent, dataVersion, envelope, bytes } = entry;
          assert.deepEqual(
            {
              ...{ id: entry.id, subject: entry.subject, type: entry.type, number: entry.number },
              ...{ domainTopic: entry.domainTopic, acceptedWith: entry.acceptedWith },
              ...{ at: entry.acceptedAt, text, traceparent, dataVersion, envelope, bytes },
            },
            {
              ...{ id, subject, type, number, domainTopic, acceptedWith, at, text: event.text },
              ...{ traceparent: event.trace?.parent ?? null, dataVersion: event.dataVersion },
              ...{ envelope: event.envelope, bytes: Buffer.byteLength(event.text) },
            },
            name,
          );
          const { subscription, counts, ...attempt } = sent(name);
          const wantedBy = to.includes(subscription.id) ? to : [...to, subscription.id];
          const state = (of: number) =>
            of === subscription.id && counts ? "delivered" : ("waiting" as const);
          assert.deepEqual(
            entry.passages.map((one) => [one.subscription, one.state]),
            wantedBy.map((of) => [of, state(of)]),
            name,
          );
          const [note] =
            entry.passages.find((one) => one.subscription === subscription.id)?.notes ?? [];
          assert.ok(note?.kind === "attempted");
          assert.deepEqual(
            [note.at, note.number, note.batch, note.health, note.isLate, note.counts, note.excerpt],
            [
              ...[attempt.startedAt, attempt.number, attempt.batch, attempt.health, attempt.isLate],
              ...[counts, "fine"],
            ],
            name,
          );
        }
        assert.deepEqual((await namesFound(chronicle, {})).sort(), names.toSorted());
      },
    );

    proves("an attempt is kept with all that people ask about", async ({ chronicle }) => {
      chronicle.note(accepted("a"));
      const request = { method: "POST", headers: { "aeg-sas-key": "x", n: "v" }, body: "[]" };
      const outcome = { ...busy, exchanged: { request, head: "HTTP/1.1 503 Busy\r\nServer: s" } };
      chronicle.note(attempted("a", outcome, { batch: 3, health: "recovering, 2 at once" }));
      const [passage] = (await chronicle.find("a"))?.passages ?? [];
      assert.equal(passage?.endpoint, "http://127.0.0.1:9/hook");
      assert.deepEqual(passage?.notes, [
        {
          kind: "attempted",
          stage: "deliver",
          number: 1,
          at: startAt,
          durationMs: 500,
          outcome: "Busy",
          status: 503,
          detail: null,
          excerpt: "try later",
          isLate: false,
          batch: 3,
          decision: "retry",
          words:
            "503: at least 30 s; step 1 of the schedule is 10 s; random addition 1.5 s; " +
            "next attempt 2021-07-01T12:00:32.000Z; 29 attempts and 23 h 59 min left",
          nextDueAt: startAt + 32_000,
          reason: null,
          health: "recovering, 2 at once",
          counts: true,
          place: null,
          wire: {
            method: "POST",
            headers: [
              ["aeg-sas-key", "(hidden)"],
              ["n", "v"],
            ],
            body: "[]",
            size: 2,
            answer: [["server", "s"]],
          },
        },
      ]);
    });

    proves("a delivery goes through its states in the order of its notes", async (harness) => {
      const { chronicle } = harness;
      const seen: string[] = [];
      const note = async (each: StoryNote) => {
        chronicle.note(each);
        seen.push(...(await statesOf(chronicle, "a")));
      };
      const letter = { delivery: deliveryOf("a", { stage: "deadLetter" as const }) };
      await note(accepted("a"));
      await note(attempted("a", busy));
      await note(attempted("a", ok, { counts: false }));
      await note(ended("a", { decision: "deadLetter", nextDueAt: startAt + 9 }));
      await note(attempted("a", busy, letter));
      const written = { container: "box", path: "W/1.json", url: "u", etag: "e", bytes: 1 };
      const taken = { kind: "answered", status: 201, written } as const;
      await note(attempted("a", taken, letter));
      assert.deepEqual(
        seen.map((state) => state.replace("warehouse ", "")),
        ["waiting", "waiting", "waiting", "deadLettering", "deadLettering", "deadLettered"],
      );
      const [passage] = (await chronicle.find("a"))?.passages ?? [];
      const last = passage?.notes.at(-1);
      assert.ok(last?.kind === "attempted");
      assert.deepEqual(last.place, { account: "", container: "box", blob: "W/1.json" });
      chronicle.note(accepted("b"));
      chronicle.note(attempted("b", bad));
      assert.deepEqual(await statesOf(chronicle, "b"), ["warehouse dropped"]);
    });

    proves("notes of one event may come at any distance from each other", async ({ chronicle }) => {
      chronicle.note(accepted("a", { to: [warehouse.id, billing.id] }));
      assert.equal((await chronicle.find("a"))?.passages.length, 2);
      for (let number = 0; number < 5; number++) {
        chronicle.note(attempted("a", busy, { delivery: deliveryOf("a", { attempts: number }) }));
        chronicle.note({
          ...attempted("a", busy, { delivery: deliveryOf("a", { attempts: number }) }),
          subscription: billing,
        });
        const passages = (await chronicle.find("a"))?.passages ?? [];
        const counts = passages.map(({ notes }) => notes.length);
        assert.deepEqual(counts, [number + 1, number + 1]);
      }
    });

    proves("who did not want an event is known as long as it is kept", async ({ chronicle }) => {
      const event = eventNamed("a");
      chronicle.note(accepted("a", { event, to: [] }));
      chronicle.note(accepted("b", { to: [warehouse.id, billing.id] }));
      const entry = await chronicle.find("a");
      assert.equal(entry?.text, event.text);
      assert.deepEqual(
        entry?.roll?.map(({ subscription, name, whyNot }) => [subscription, name, whyNot]),
        [
          [1, "warehouse", null],
          [2, "billing", null],
        ],
      );
      assert.deepEqual(entry?.roll?.[0]?.filter, warehouse.filter);
      const wanted = await chronicle.find("b");
      assert.equal(wanted?.roll, null, "nothing is to be explained");
      assert.equal(wanted?.text, eventNamed("b").text, "it can be sent again");
      const idle = subscriptionOf(3, "idle", { isActive: false, state: "AwaitingManualAction" });
      chronicle.note(accepted("c", { to: [1], roll: new Members([warehouse, idle]) }));
      const other = await chronicle.find("c");
      assert.equal(other?.roll?.[1]?.whyNot, "AwaitingManualAction");
    });

    proves("each event keeps who was considered for it among many", async ({ chronicle }) => {
      const members = new Members(
        Array.from({ length: 150 }, (_, place) => subscriptionOf(place + 1, `s${place}`)),
      );
      const asked: string[][] = [];
      for (let place = 0; place < 6; place++) {
        members.put(subscriptionOf(30 * place + 1, `new${place}`, { revision: place + 2 }));
        members.remove(100 + place);
        asked.push([...members].map(({ name }) => name));
        chronicle.note(accepted(`e${place}`, { to: [], roll: new Members(members) }));
        if (place % 2 === 0) await chronicle.find(`e${place}`);
      }
      for (const [place, names] of asked.entries()) {
        const entry = await chronicle.find(`e${place}`);
        assert.deepEqual(
          entry?.roll?.map(({ name }) => name),
          names,
        );
      }
    });

    proves("what an operator did to a delivery is kept among its notes", async ({ chronicle }) => {
      const words = "due now: asked for by an operator";
      const delivery = deliveryOf("a");
      chronicle.note(accepted("a"));
      chronicle.note({
        ...{ kind: "steered", at: startAt + 5, subscription: warehouse, delivery },
        ...{ words, nextDueAt: startAt + 5 },
      });
      const [passage] = (await chronicle.find("a"))?.passages ?? [];
      assert.deepEqual(passage?.notes, [
        { kind: "steered", at: startAt + 5, words, nextDueAt: startAt + 5 },
      ]);
    });

    proves("of events that a publisher gave one id the latest is found", async ({ chronicle }) => {
      const note = (name: string, at: number, number: number) =>
        chronicle.note(accepted(name, { id: "same", at, number }));
      note("first", startAt, 1);
      note("second", startAt, 2);
      assert.equal((await chronicle.find("same"))?.event, "second", "of the same time");
      note("third", startAt + 9, 3);
      note("fourth", startAt + 8, 4);
      assert.equal((await chronicle.find("same"))?.event, "third");
    });

    proves("what was accepted unseen is made up for by what comes later", async ({ chronicle }) => {
      const event = eventNamed("old", { publishedAt: startAt - 1_000 });
      chronicle.note(attempted("old", busy, { delivery: deliveryOf("old", { event }) }));
      const entry = await chronicle.find("id-old");
      assert.deepEqual(
        [entry?.event, entry?.subject, entry?.type, entry?.acceptedWith, entry?.acceptedAt],
        ["old", "/shop/old", "sold", "unknown", startAt - 1_000],
      );
      assert.deepEqual(await statesOf(chronicle, "old"), ["warehouse waiting"]);
      chronicle.note(accepted("old", { event, at: startAt - 1_000 }));
      assert.equal((await chronicle.find("old"))?.acceptedWith, "key1");
      assert.deepEqual(await statesOf(chronicle, "old"), ["warehouse waiting"]);
    });

    proves("after a crash what waits is recalled, and what does not is lost", async (harness) => {
      const { chronicle } = harness;
      const delivery = deliveryOf("old", { stage: "deadLetter" });
      chronicle.note({ kind: "recalled", subscription: warehouse, delivery });
      assert.deepEqual(await statesOf(chronicle, "old"), ["warehouse deadLettering"]);
      chronicle.note(accepted("a"));
      chronicle.note(attempted("a", ok));
      chronicle.note({ kind: "recalled", subscription: warehouse, delivery: deliveryOf("a") });
      assert.deepEqual(await statesOf(chronicle, "a"), ["warehouse delivered"], "known already");
      chronicle.note(accepted("b"));
      const lost = { kind: "lost", at: startAt, subscription: warehouse.id } as const;
      for (const event of ["a", "b", "nobody"]) chronicle.note({ ...lost, event });
      assert.deepEqual(await statesOf(chronicle, "a"), ["warehouse delivered"]);
      assert.deepEqual(await statesOf(chronicle, "b"), ["warehouse unknown"]);
      assert.equal(await chronicle.find("nobody"), null);
    });

    proves("clearing ends what waits for a subscription, and nothing else", async (harness) => {
      const { chronicle } = harness;
      const both = [warehouse.id, billing.id];
      for (let number = 1; number <= 4; number++) {
        chronicle.note(accepted(`e${number}`, { to: both, number }));
      }
      chronicle.note(attempted("e1", ok));
      chronicle.note(ended("e3", { decision: "deadLetter" }));
      chronicle.note(cleared({ stage: "deliver", through: 3, reason: "Skipped" }));
      const states = async () =>
        (await Promise.all(["e1", "e2", "e3", "e4"].map((name) => statesOf(chronicle, name)))).map(
          (each) => each.map((text) => text.split(" ")[1]).join(" "),
        );
      assert.deepEqual(await states(), [
        "delivered waiting",
        "dropped waiting",
        "deadLettering waiting",
        "waiting waiting",
      ]);
      chronicle.note(cleared());
      assert.deepEqual(await states(), [
        "delivered waiting",
        "dropped waiting",
        "dropped waiting",
        "dropped waiting",
      ]);
      const notes = (await chronicle.find("e4"))?.passages[0]?.notes;
      assert.deepEqual(
        notes?.map((note) => "reason" in note && note.reason),
        ["SubscriptionDeleted"],
      );
    });

    proves("a search finds by each of its words, the latest first", async ({ chronicle }) => {
      const at = (seconds: number) => startAt + seconds * 1_000;
      const red = { subject: "/shop/red", type: "Shop.Sold" };
      chronicle.note(accepted("a", { at: at(0), ...red }));
      chronicle.note(accepted("b", { at: at(1), subject: "/shop/BLUE/x", type: "shop.sold" }));
      chronicle.note(
        accepted("c", { at: at(2), event: { ...eventNamed("c"), topic: "Other" }, to: [] }),
      );
      chronicle.note(accepted("d", { at: at(3), to: [billing.id], type: "shop_moved" }));
      chronicle.note(accepted("e", { at: at(3), id: "id-a", subject: "50%_off" }));
      chronicle.note(attempted("a", ok));
      chronicle.note(attempted("b", bad));
      const cases: readonly (readonly [Partial<EventQuery>, string])[] = [
        [{}, "edcba"],
        [{ limit: 2 }, "edcba"],
        [{ limit: 500 }, "edcba"],
        [{ id: "a" }, "a"],
        [{ id: "id-a" }, "ea"],
        [{ id: "id-a", limit: 1 }, "ea"],
        [{ id: "none" }, ""],
        [{ subject: "shop/blue" }, "b"],
        [{ subject: "/shop/*" }, "dcba"],
        [{ subject: "shop/*" }, ""],
        [{ subject: "*X" }, "b"],
        [{ subject: "/*/RED" }, "a"],
        [{ subject: "%_" }, "e"],
        [{ subject: "50_" }, ""],
        [{ subject: "ä" }, ""],
        [{ type: "SHOP.SOLD" }, "ba"],
        [{ type: "shop" }, ""],
        [{ type: "shop*" }, "dba"],
        [{ topic: "ORDERS" }, "edba"],
        [{ topic: "other" }, "c"],
        [{ subscription: "Billing" }, "d"],
        [{ subscription: "bill" }, ""],
        [{ subscription: "bill*" }, "d"],
        [{ subscription: "*HOUSE*" }, "eba"],
        [{ topic: "*th*" }, "c"],
        [{ words: ["hop.s"] }, "ba"],
        [{ words: ["SHOP", "red"] }, "a"],
        [{ words: ["id-a"] }, "ea"],
        [{ words: ["illin"] }, "d"],
        [{ words: ["other"] }, "c"],
        [{ words: ["%_of"] }, "e"],
        [{ words: ["ä"] }, ""],
        [{ words: ["shop*"] }, "dba"],
        [{ idPart: "d-A" }, "ea"],
        [{ idPart: "sold" }, ""],
        [{ states: ["delivered", "dropped"] }, "ba"],
        [{ states: ["dropped", "waiting"] }, "edb"],
        [{ subscription: "warehouse" }, "eba"],
        [{ state: "delivered" }, "a"],
        [{ state: "dropped" }, "b"],
        [{ state: "waiting" }, "ed"],
        [{ state: "waiting", subscription: "warehouse" }, "e"],
        [{ state: "dropped", subscription: "billing" }, ""],
        [{ state: "deadLettered" }, ""],
        [{ from: at(1), to: at(2) }, "cb"],
        [{ from: at(4) }, ""],
        [{ to: at(0), type: "shop.sold" }, "a"],
      ];
      for (const [query, names] of cases) {
        const found = await namesFound(chronicle, query);
        assert.equal(found.join(""), names, JSON.stringify(query));
      }
    });

    proves("pages hold still while events come in", async ({ chronicle }) => {
      for (let index = 0; index < 10; index++) chronicle.note(accepted(`a${index}`));
      const first = await chronicle.search({ limit: 4 });
      for (let index = 0; index < 5; index++) chronicle.note(accepted(`b${index}`));
      assert.ok(first.next);
      const second = await chronicle.search({ limit: 6, after: first.next });
      const names = [...first.found, ...second.found].map(({ event }) => event);
      assert.deepEqual(
        names,
        [9, 8, 7, 6, 5, 4, 3, 2, 1, 0].map((index) => `a${index}`),
      );
      assert.equal(second.next, null);
    });

    proves("a cursor that no answer gave is refused", async ({ chronicle }) => {
      for (const after of ["", "x", "1-", "-1", "1-2-3", "!!-!!", "a".repeat(500)]) {
        await assert.rejects(chronicle.search({ limit: 1, after }), (error) => {
          assert.ok(error instanceof Refusal);
          assert.match(error.message, /^after must be/);
          return error.code === "InvalidSetting";
        });
      }
    });

    proves("who listens is told every note, until it has heard enough", async ({ chronicle }) => {
      const heard: string[] = [];
      const stop = chronicle.listen(({ kind }) => heard.push(kind));
      chronicle.note(accepted("a"));
      chronicle.note(attempted("a", ok));
      stop();
      chronicle.note(accepted("b"));
      assert.deepEqual(heard, ["accepted", "attempted"]);
    });

    proves("what was delivered is forgotten when it is old, and nothing else", async (harness) => {
      const { chronicle, setNow, cuts } = harness;
      for (const name of ["delivered", "dropped", "waiting"]) chronicle.note(accepted(name));
      chronicle.note(accepted("unwanted", { to: [] }));
      chronicle.note(attempted("delivered", ok));
      chronicle.note(attempted("dropped", bad));
      assert.equal((await namesFound(chronicle, {})).length, 4);
      setNow(startAt + 8 * dayMs);
      chronicle.note(accepted("young", { at: startAt + 8 * dayMs }));
      chronicle.note(attempted("young", ok));
      await chronicle.find("young");
      assert.deepEqual(await namesFound(chronicle, {}), ["young", "waiting", "dropped"]);
      chronicle.note(attempted("waiting", ok));
      await chronicle.find("waiting");
      assert.deepEqual(await namesFound(chronicle, {}), ["young", "dropped"]);
      assert.deepEqual(cuts, []);
    });

    proves(
      "what is given up on goes for want of room only, after all that was delivered",
      async ({ chronicle, cuts }) => {
        const text = JSON.stringify({ id: "x", data: "x".repeat(sizes.each) });
        const note = (name: string, at: Instant) =>
          chronicle.note(
            accepted(name, { at, event: { ...eventNamed(name), text }, to: [warehouse.id] }),
          );
        note("waiting", startAt);
        for (let index = 0; index < 300; index++) {
          note(`given-${index}`, startAt + index);
          chronicle.note(attempted(`given-${index}`, bad));
          note(`good-${index}`, startAt + index);
          chronicle.note(attempted(`good-${index}`, ok));
        }
        for (let steps = 0; steps < 10; steps++) await chronicle.find("x");
        const found = await namesFound(chronicle, { limit: 500 });
        assert.equal(found.at(-1), "waiting", "never forgotten");
        const given = found.filter((name) => name.startsWith("given"));
        const good = found.filter((name) => name.startsWith("good"));
        assert.ok(given.length > 0, "the latest of them are there");
        assert.ok(given.length < 300, "the oldest of them had to go");
        assert.ok(!given.includes("given-0"));
        assert.ok(given.includes("given-299"));
        assert.deepEqual(good.length, 0, "what was delivered went first");
        const cut = cuts.reduce((sum, count) => sum + count, 0);
        assert.equal(cut, 300 - given.length, "and each that went is told");
      },
      { bytesMax: sizes.small },
    );

    test("whatever is noted, what waits or was given up on is not forgotten for its age", async () => {
      const step = fc.record({
        name: fc.constantFrom("a", "b", "c", "d"),
        act: fc.constantFrom("ok", "busy", "bad", "late"),
        afterMs: fc.integer({ min: 0, max: 6 * dayMs }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
          const { chronicle, setNow, cuts } = await open();
          const known = new Map<string, string>();
          let now = startAt;
          for (const { name, act, afterMs } of steps) {
            now += afterMs;
            setNow(now);
            if (!known.has(name)) {
              chronicle.note(accepted(name, { at: now }));
              known.set(name, "waiting");
            }
            const outcome = act === "ok" ? ok : act === "bad" ? bad : busy;
            const isOver = known.get(name) !== "waiting";
            if (!isOver) chronicle.note(attempted(name, outcome, { at: now }));
            if (!isOver && act === "ok") known.set(name, "delivered");
            if (!isOver && act === "bad") known.set(name, "dropped");
          }
          const found = await namesFound(chronicle, {});
          for (const [name, state] of known) {
            if (state === "delivered") continue;
            assert.ok(found.includes(name), `${name} is ${state}`);
            assert.deepEqual(await statesOf(chronicle, name), [`warehouse ${state}`]);
          }
          assert.deepEqual(cuts, []);
          await chronicle.close();
        }),
        { numRuns: 40 },
      );
    });
  });
}
