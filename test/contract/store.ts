// The contract of a store, as a suite that each of them runs from its own few-line test. It
// holds for a store that others use at the same time: it never assumes that nothing else is
// there, and takes what a standing claim brings.
//
// What a store cannot do it leaves out of its harness, and the cases that need it say that they
// were skipped.

import { describe, type TestContext, test } from "node:test";
import type { Store } from "../../src/core/ports.ts";
import type { SubscriptionId } from "../../src/core/subscription.ts";
import { claimCases } from "./claims.ts";
import { durabilityCases } from "./durability.ts";
import { subscriptionDraft, topicDraft, type WholeStore } from "./fixture.ts";
import { pullCases } from "./pull.ts";
import { registryCases } from "./registry.ts";
import { removalCases } from "./removals.ts";
import { settlementCases } from "./settlements.ts";
import { sharingCases } from "./sharing.ts";
import { steeringCases } from "./steering.ts";

export interface Harness {
  readonly store: WholeStore;
  /** Ends the store as a crash would and opens it again, where it keeps what it accepted. */
  reopen?(): Promise<WholeStore>;
  /** Another holder of the same store at the same time. */
  second?(): Promise<Store>;
  /** How many events are kept, counted where they are kept. */
  bodies?(): Promise<number>;
  close(): Promise<void>;
}

/** A store with a topic `orders` and three subscriptions of it. */
export interface Scene {
  readonly store: WholeStore;
  readonly harness: Harness;
  readonly ids: readonly [SubscriptionId, SubscriptionId, SubscriptionId];
  readonly skip: (reason: string) => void;
}

export type Cases = (
  on: (sentence: string, prove: (scene: Scene) => Promise<void>) => void,
) => void;

const groups: readonly Cases[] = [
  claimCases,
  settlementCases,
  pullCases,
  removalCases,
  registryCases,
  sharingCases,
  steeringCases,
  durabilityCases,
];

export function storeContract(name: string, open: () => Promise<Harness>): void {
  describe(name, () => {
    for (const cases of groups) {
      cases((sentence, prove) => {
        test(sentence, { timeout: 20_000 }, (context) => runCase(open, prove, context));
      });
    }
  });
}

async function runCase(
  open: () => Promise<Harness>,
  prove: (scene: Scene) => Promise<void>,
  context: TestContext,
): Promise<void> {
  const harness = await open();
  try {
    const { store } = harness;
    await store.putTopic(topicDraft());
    const subscribe = async (name: string) =>
      (await store.putSubscription(subscriptionDraft({ name }))).id;
    const ids = [
      await subscribe("warehouse"),
      await subscribe("billing"),
      await subscribe("shop"),
    ] as const;
    await prove({ store, harness, ids, skip: (reason) => context.skip(reason) });
  } finally {
    await harness.close();
  }
}
