// What must be true of every run of several brokers, whatever happened to them.

import { usualRhythm } from "../../../src/store/cluster/slot-keeper.ts";
import type { ClusterRun, ClusterSend } from "./world.ts";

/** What is wrong with a broker may show this long before and after: a lease, and a send. */
const slackMs = usualRhythm.leaseMs + 2 * usualRhythm.beatMs + 30_000;

export function judgeCluster(run: ClusterRun): readonly string[] {
  return [
    ...run.faults,
    ...(run.left > 0 ? [`${run.left} deliveries wait though all is well`] : []),
    ...ownersOnly(run),
    ...neverEarly(run),
    ...accountedFor(run),
    ...onceOnly(run),
    ...heldBack(run),
  ];
}

/** No send without the slot, by the database's word: not after a freeze, not after a cut. */
function* ownersOnly({ sends }: ClusterRun): Iterable<string> {
  for (const send of sends) {
    if (send.owner === send.process.name) continue;
    yield `${name(send)} is sent by ${send.process.name}, and the slot is ${send.owner}'s`;
  }
}

function* neverEarly({ sends }: ClusterRun): Iterable<string> {
  for (const send of sends) {
    // The clocks of the processes differ by seconds, and due times are written by them.
    if (send.earlyMs > 0) yield `${name(send)} is sent ${send.earlyMs} ms before it is due`;
  }
}

function* accountedFor({ publishes, sends, removed }: ClusterRun): Iterable<string> {
  const taken = new Set(
    sends.flatMap(({ isTaken, subscription, events }) =>
      isTaken ? events.map((event) => `${event}/${subscription}`) : [],
    ),
  );
  for (const { id, isAccepted, wanted } of publishes) {
    if (!isAccepted) continue;
    for (const subscription of wanted) {
      if (removed.has(subscription) || taken.has(`${id}/${subscription}`)) continue;
      yield `${id} is lost for ${subscription}`;
    }
  }
}

/** Twice at once, or again after a success: only if something was wrong with the first sender. */
function* onceOnly({ sends }: ClusterRun): Iterable<string> {
  const byDelivery = Map.groupBy(
    sends.flatMap((send) => send.events.map((event) => ({ event, send }))),
    ({ event, send }) => `${event}/${send.subscription}`,
  );
  for (const all of byDelivery.values()) {
    for (const [index, { send }] of all.entries()) {
      for (const { send: before } of all.slice(0, index)) {
        const isOverlap = before.endedAt > send.begunAt;
        if (!isOverlap && !before.isTaken) continue;
        if (before.process.isDisturbed(before.begunAt, send.begunAt, slackMs)) continue;
        const how = isOverlap ? "while it is under way" : "after it was taken";
        yield `${name(send)} is sent by ${send.process.name} ${how} from ${before.process.name}`;
      }
    }
  }
}

/** Paused at any broker is paused at the one that sends. */
function* heldBack({ holds, sends, processes }: ClusterRun): Iterable<string> {
  for (const { subscription, from, until } of holds) {
    if (processes.some((process) => process.isDisturbed(from, from, slackMs))) continue;
    for (const send of sends) {
      if (send.subscription !== subscription) continue;
      if (send.begunAt <= from || send.begunAt >= until) continue;
      yield `${name(send)} is sent ${send.begunAt - from} ms after its pause was answered`;
    }
  }
}

function name({ events, subscription, begunAt }: ClusterSend): string {
  return `${events.join(",")} for ${subscription} at ${new Date(begunAt).toISOString().slice(11)}`;
}
