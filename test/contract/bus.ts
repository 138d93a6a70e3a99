// What Service Bus and Event Hubs have in common beyond the contract of sinks: Azure's own clients
// of both, and a stand-in for the services that speaks AMQP to them.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { PushDestination } from "../../src/core/subscription.ts";
import { busString, messageBytesMax, startBus } from "../fixtures/amqp.ts";
import { inReverse, openSender, openSink, parcelWith } from "../fixtures/destination.ts";
import { freePort, type Scope } from "../fixtures/webhook.ts";
import { answeredOf, noReplyOf, sinkContract } from "./sink.ts";

export interface BusKind {
  /** Of the configuration file. */
  readonly section: "serviceBusNamespaces" | "eventHubNamespaces";
  /** A destination in this namespace; the one that is declared is `bus`. */
  readonly within: (namespace: string) => PushDestination & { readonly resourceId: string };
}

/** A service with the namespace `bus`, and a sink that knows it by this connection string. */
export async function openBus(
  t: Scope,
  section: BusKind["section"],
  change = (connectionString: string) => connectionString,
) {
  const scope = inReverse(t);
  const bus = await startBus(scope);
  const connectionString = change(bus.connectionString);
  const { send } = openSender(scope, { [section]: { bus: { connectionString } } });
  return { bus, send };
}

export function busContract(name: string, { section, within }: BusKind): void {
  sinkContract(name, async (deps) => {
    const ends: (() => unknown)[] = [];
    const bus = await startBus({ after: (end) => ends.push(end) });
    const namespaces = {
      bus: { connectionString: bus.connectionString },
      nobody: { connectionString: busString(await freePort()) },
    };
    return {
      sink: openSink(deps, { [section]: namespaces }),
      destination: within("bus") as PushDestination,
      nowhere: within("nobody"),
      received: () => bus.transfers.map(({ messages }) => messages.map(({ body }) => body)),
      behave: (how) => bus.behave(how === "refuse" ? busy : how),
      reached: bus.reached,
      release: bus.release,
      closeEndpoint: async () => {
        for (const end of ends) await end();
      },
      breaksSilently: true,
    };
  });

  test(`${name}: a wrong key is a 401 that does not name it`, async (t) => {
    const { bus, send } = await openBus(t, section, (right) =>
      right.replace(/SharedAccessKey=[^;]*/, "SharedAccessKey=wrong-one"),
    );
    const outcome = answeredOf(await send(within("bus")));
    assert.equal(outcome.status, 401);
    assert.ok(!JSON.stringify(outcome).includes("wrong-one"));
    assert.equal(bus.transfers.length, 0);
  });

  test(`${name}: an id that is in no section leads nowhere`, async (t) => {
    const { send } = openSender(t, {});
    const { why, detail } = noReplyOf(await send(within("other")));
    assert.equal(why, "dns");
    assert.equal(detail, `${within("other").resourceId} is not in ${section}.`);
  });

  test(`${name}: an event that is too large is a 413 before it is sent (P-7)`, async (t) => {
    const { bus, send } = await openBus(t, section);
    const parcel = parcelWith(`{"id":"${"x".repeat(messageBytesMax)}"}`, {});
    assert.equal(answeredOf(await send(within("bus"), { parcel })).status, 413);
    assert.equal(bus.transfers.length, 0);
    const next = answeredOf(await send(within("bus")));
    assert.equal(next.status, 200, "and the next one is not disturbed");
  });

  test(`${name}: sends at the same time share one link`, async (t) => {
    const { bus, send } = await openBus(t, section);
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => send(within("bus"))));
    for (const outcome of outcomes) assert.equal(answeredOf(outcome).status, 200);
    assert.equal(bus.links.length, 1);
  });
}

const busy = { condition: "com.microsoft:server-busy", description: "Later." };
