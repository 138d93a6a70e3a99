// Through a real PgBouncer: with a session per connection a broker works as without one, and
// sessions that are shared are noticed and refused.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  namesOf,
  queueOf,
  routedTo,
  startAt,
  subscriptionDraft,
  topicDraft,
  want,
} from "../../../test/contract/fixture.ts";
import { openPostgres, serveAll } from "../../../test/contract/postgres.ts";
import { startPgBouncer } from "../../../test/fixtures/pgbouncer.ts";
import { startPostgres } from "../../../test/fixtures/postgres.ts";
import { parseTarget } from "../../core/text/connection-string.ts";
import { realClock } from "../../runtime/clock/real.ts";
import { examineServer } from "./open.ts";

async function poolerOf(url: string) {
  const target = parseTarget(url, null);
  assert.ok(typeof target !== "string");
  const findings = await examineServer({ target, clock: realClock() });
  return findings.find(({ check }) => check === "database pooler");
}

test("with a session per connection brokers work, and hear each other's notices", async (t) => {
  const server = await startPostgres(t);
  const through = await startPgBouncer(t, server, "session");
  const url = through(await server.newDatabase());
  assert.equal((await poolerOf(url))?.state, "fine");
  const owner = await openPostgres(url);
  await serveAll(owner);
  const other = await openPostgres(url);
  t.after(async () => {
    await other.close();
    await owner.close();
  });
  await owner.putTopic(topicDraft());
  const { id } = await owner.putSubscription(subscriptionDraft());
  await other.catchUp();
  const woken = Promise.withResolvers<void>();
  owner.onWake(({ queue }) => {
    if (queue.subscription === id) woken.resolve();
  });
  await other.append(routedTo([id], "one"), startAt);
  await woken.promise;
  const { deliveries } = await owner.claim(queueOf(id), want());
  assert.deepEqual(namesOf(deliveries), ["one"]);
});

test("a pooler that shares sessions is refused in words", async (t) => {
  const server = await startPostgres(t);
  const through = await startPgBouncer(t, server, "transaction");
  const url = through(await server.newDatabase());
  const pooler = await poolerOf(url);
  assert.equal(pooler?.state, "unusable");
  assert.match(pooler?.advice ?? "", /pool_mode = session/);
  assert.equal(await poolerOf(await server.newDatabase()), undefined);
});
