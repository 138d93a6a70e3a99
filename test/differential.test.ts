// The memory store is the model; here the embedded store keeps step with it, and so does the one on
// PostgreSQL. Random rounds of operations go through both, and after every round the answers, the
// counts and every page of what waits must be the same. Some rounds meet a disk that fails at one
// of their statements: what the embedded store says has failed must not have happened. Of a server
// the operations are asked one by one: what is asked at once may be done in any order.
//
// What is not compared, and why:
//
//   numbers of events, leases,      each store counts for itself; they are compared by rank:
//   subscriptions; revisions        events by the order of pages, the others by growing
//   nextDueAt in the past           both mean "now"
//   the order of a claim with       the embedded store has two indexes for it; compared as a
//   sinceBefore                     set, and without limits, which would choose differently
//   what a standing claim is        the model has none; every claim is followed by a look,
//   brought                         which ends its standing
//   registry writes in a round      operations that are under way at once may be taken in any
//   with others                     order; they have rounds of their own
//   when a drop is told             the embedded store tells later; compared by the counts
//   a clock that goes back          Clock never does

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { postgresHarness } from "./contract/postgres.ts";
import {
  type Kind,
  kinds,
  type Other,
  openEmbedded,
  Pair,
  type Round,
  type Step,
} from "./differential/pair.ts";
import { withTimeToShrink } from "./differential/shrink.ts";

type Registering = Extract<Round, { readonly draws: readonly number[] }>;

const roundsPerRun = 40;
const runs = 40;
const runsOnServer = 4;
/** How often more runs are made because some kind of operation has not succeeded yet. */
const moreRunsMax = 30;

const draws = fc.array(fc.nat(1000), { minLength: 8, maxLength: 24 });
const step = fc.record({
  kind: fc.oneof(
    {
      weight: 12,
      arbitrary: fc.constantFrom<Step["kind"]>(
        ...(["append", "claim", "claim", "claimOld", "settle", "settle"] as const),
      ),
    },
    { weight: 3, arbitrary: fc.constantFrom<Step["kind"]>("skip", "hasten", "hastenOne") },
  ),
  draws,
});
const fault = fc.record({
  untouched: fc.nat(25),
  failuresMax: fc.constantFrom(1, Number.POSITIVE_INFINITY),
});
const round: fc.Arbitrary<Round> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant("steps" as const),
      steps: fc.array(step, { minLength: 1, maxLength: 4 }),
      fault: fc.option(fault, { freq: 3 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("tick" as const), ms: fc.nat(15) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom<Registering["kind"]>(
        "putTopic",
        "putTopic",
        "putSubscription",
        "putSubscription",
        "putSubscription",
        "putSubscription",
        "removeSubscription",
        "removeTopic",
      ),
      draws,
    }),
  },
);

test("the embedded store answers as the memory store does", async () => {
  await keepStep(async () => openEmbedded(), { runs, wanted: kinds });
});

const openOnServer = postgresHarness();

test("the PostgreSQL store answers as the memory store does", async () => {
  const wanted = kinds.filter((kind) => kind !== "roundFailed" && kind !== "appendFailed");
  await keepStep(async () => (await openOnServer()).store, { runs: runsOnServer, wanted });
});

async function keepStep(
  open: () => Promise<Other>,
  { runs: numRuns, wanted }: { readonly runs: number; readonly wanted: readonly Kind[] },
): Promise<void> {
  const succeeded = new Set<Kind>();
  const missing = () => wanted.filter((kind) => !succeeded.has(kind));
  const inStep = fc.asyncProperty(
    fc.array(round, { minLength: roundsPerRun, maxLength: roundsPerRun }),
    withTimeToShrink(async (rounds) => {
      const other = await open();
      try {
        const pair = await Pair.open(succeeded, other);
        for (const one of rounds) await pair.play(one);
        await pair.close();
      } finally {
        await other.close();
      }
    }),
  );
  for (let more = 0; more <= moreRunsMax && (more === 0 || missing().length > 0); more++) {
    await fc.assert(inStep, { numRuns });
  }
  assert.deepEqual(missing(), [], "every kind of operation has succeeded at least once");
}
