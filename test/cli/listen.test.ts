// `posthorn listen` as a real process that a real broker sends to.

import assert from "node:assert/strict";
import { test } from "node:test";
import { openCommandLine } from "../fixtures/command-line.ts";
import { openReceiver } from "../fixtures/receiver.ts";
import { freePort } from "../fixtures/scope.ts";

const quick = ["--store", "memory", "--log-level", "debug"];

test("it subscribes itself, shows what arrives, and says at its end what came how often", async (t) => {
  const cli = await openCommandLine(t, quick);
  await cli.json("topic create -n orders");
  const listener = cli.start(
    "listen -p 0 --subscribe orders -n mine -o table --status 500*1 --then ok",
  );
  await listener.said(/^subscribed to orders as mine$/);
  await listener.said(/the validation event → 200$/);
  const listed = (await cli.json(
    "event-subscription list --location local --query [].name",
  )) as string[];
  assert.deepEqual(listed, ["mine"]);
  await cli.json('publish -t orders --id a-1 --type T --subject S --body {"amount":12}');
  await listener.said(/EventGrid, 1 event for MINE → 500$/);
  await cli.json("publish -t orders --id a-2");
  await cli.json("publish -t orders --id a-4");
  await cli.json("event-subscription hasten -n mine --topic-name orders");
  await listener.said(/EventGrid, 1 event for MINE, sent once before → 200$/);
  await cli.broker.told("delivery.attempted", 4);
  const { code, out } = await listener.end("SIGINT");
  assert.equal(code, 0);
  assert.match(out, /\n {2}a-1 {2}T {2}S\n {4}\{\n {6}"amount": 12\n {4}\}\n/);
  assert.match(out, /\nthe subscription mine is removed\n/);
  assert.match(
    out,
    /\n4 requests with 4 events, 3 different ids accepted\nno duplicates\ngaps: a-3\n$/,
  );
  assert.deepEqual(await cli.json("event-subscription list --location local"), []);
});

test("in a pipe each request is an object, and the ledger is the last; so many are enough", async (t) => {
  const cli = await openCommandLine(t, quick);
  await cli.json("topic create -n orders --input-schema cloudeventschemav1_0");
  const listener = cli.start("listen -p 0 --subscribe orders --keep -n kept --count 5 --quiet");
  await listener.said(/^subscribed to orders as kept$/);
  await cli.json("publish -t orders --count 5 --batch 5");
  const { code, out, err } = await listener.end();
  assert.equal(code, 0);
  const [handshake, ...rest] = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    [handshake.kind, handshake.method, handshake.answer],
    ["options", "OPTIONS", "200"],
  );
  const ledger = rest.at(-1);
  assert.deepEqual(
    rest.slice(0, -1).map(({ schema, answer }) => [schema, answer]),
    Array(5).fill(["CloudEvents", "200"]),
  );
  assert.deepEqual(
    [ledger.kind, ledger.accepted, ledger.duplicates, ledger.gaps],
    ["ledger", 5, [], []],
  );
  await cli.broker.told("delivery.attempted", 5);
  const attempts = cli.broker.facts.filter(({ fact }) => fact === "delivery.attempted");
  assert.deepEqual(new Set(attempts.map(({ status }) => status)), new Set([200]), "all were told");
  assert.match(
    err,
    /^listening on http:\/\/127\.0\.0\.1:\d+\n/,
    "what it says of itself is told beside",
  );
  const kept = (await cli.json(
    "event-subscription list --location local --query [].name",
  )) as string[];
  assert.deepEqual(kept, ["kept"]);
});

test("connections are broken off, and the broker takes that for what it is", async (t) => {
  const cli = await openCommandLine(t, quick);
  await cli.json("topic create -n orders");
  const listener = cli.start("listen -p 0 --subscribe orders -o table --drop 100%");
  await listener.said(/^subscribed to orders as listen-/);
  await cli.json("publish -t orders");
  await listener.said(/→ connection closed$/);
  await cli.broker.told("delivery.attempted", 1);
  const fact = cli.broker.facts.find(({ fact: name }) => name === "delivery.attempted");
  assert.equal(fact?.outcome, "SocketError");
  assert.match((await listener.end("SIGTERM")).out, /never accepted: /);
});

test("Retry-After is told, and an answer is held back as long as it is to be", async (t) => {
  const cli = await openCommandLine(t, quick);
  await cli.json("topic create -n orders");
  const listener = cli.start(
    "listen -p 0 --subscribe orders -o table --status 429 --retry-after 77 --delay 300ms",
  );
  await listener.said(/^subscribed to/);
  await cli.json("publish -t orders");
  await cli.broker.told("delivery.attempted", 1);
  const fact = cli.broker.facts.find(({ fact: name }) => name === "delivery.attempted");
  assert.match(JSON.stringify(fact), /Retry-After asks for 1 min 17 s/);
  await listener.end("SIGINT");
});

test("what is signed is checked: the right secret is taken, another is a 401 and code 1", async (t) => {
  const cli = await openCommandLine(t, quick);
  await cli.json("topic create -n orders");
  const secret = `whsec_${Buffer.alloc(24, "right").toString("base64")}`;
  const other = `whsec_${Buffer.alloc(24, "wrong").toString("base64")}`;
  const good = cli.start(
    `listen -p 0 --subscribe orders -n good -o table --signing-secret ${secret} --secret ${secret}`,
  );
  const bad = cli.start(
    `listen -p 0 --subscribe orders -n bad -o table --signing-secret ${secret} --secret ${other}`,
  );
  await Promise.all([good.said(/^subscribed/), bad.said(/^subscribed/)]);
  await cli.json("publish -t orders");
  await good.said(/→ 200$/);
  await bad.said(/→ 401, because it is signed with another secret$/);
  await cli.broker.told("delivery.attempted", 2);
  const [right, wrong] = await Promise.all([good.end("SIGINT"), bad.end("SIGINT")]);
  assert.equal(right.code, 0);
  assert.match(right.out, /signatures: 1 good, 0 bad\n$/);
  assert.equal(wrong.code, 1);
  assert.match(wrong.out, /signatures: 0 good, 1 bad\n$/);
});

test("a port that is taken, and a topic that is not there, are one line", async (t) => {
  const cli = await openCommandLine(t, quick);
  const first = cli.start("listen -p 0 -o table");
  const port = /:(\d+)$/.exec(await first.said(/^listening on/))?.[1];
  const second = await cli.run(`listen -p ${port}`);
  assert.equal(second.code, 1);
  assert.match(second.err, /^posthorn: listen EADDRINUSE[^\n]*--port\n$/);
  const lost = await cli.run("listen -p 0 --subscribe nowhere");
  assert.equal(lost.code, 3);
  assert.match(lost.err, /\nposthorn: there is no topic "nowhere"; .* -n nowhere creates it\n$/);
});

test("a kept subscription is taken up again by the next listener on the same port", async (t) => {
  const cli = await openCommandLine(t, quick);
  await cli.json("topic create -n orders");
  const port = await freePort();
  const listen = `listen -p ${port} --subscribe orders --keep --count 1 -o table`;
  const first = cli.start(listen);
  await first.said(new RegExp(`^subscribed to orders as listen-${port}$`));
  await cli.json("publish -t orders");
  assert.equal((await first.end()).code, 0);
  const second = cli.start(listen);
  await second.said(new RegExp(`^subscribed to orders as listen-${port}$`));
  await cli.json("publish -t orders");
  assert.equal((await second.end()).code, 0);
  assert.deepEqual(await cli.json("event-subscription list --location local --query [].name"), [
    `listen-${port}`,
  ]);
});

test("deliveries are passed on to an application, and its answers come back", async (t) => {
  const cli = await openCommandLine(t, quick);
  await cli.json("topic create -n orders");
  const application = await openReceiver(t);
  application.answer = (_, count) => (count === 1 ? 500 : 200);
  const line = `listen -p 0 --subscribe orders -n mine -o table --forward-to ${application.url}/hook?a=1`;
  const listener = cli.start(line);
  await listener.said(/^subscribed to orders as mine$/);
  await cli.json("trigger BlobCreated -t orders --id first");
  await listener.said(/1 event for MINE → 500 from 127\.0\.0\.1:\d+ in \d+ ms$/);
  await cli.json("event-subscription hasten -n mine --topic-name orders");
  await listener.said(/sent once before → 200 from/);
  assert.deepEqual(
    application.received.map(({ path }) => path),
    ["/hook?a=1", "/hook?a=1"],
    "the handshake is answered by the listener",
  );
  const [request] = application.received;
  assert.equal(request?.headers["aeg-subscription-name"], "MINE");
  const [event] = JSON.parse(request?.body ?? "[]") as Record<string, unknown>[];
  assert.deepEqual([event?.id, event?.eventType], ["first", "Microsoft.Storage.BlobCreated"]);
  await cli.broker.told("delivery.attempted", 2);
  const attempts = cli.broker.facts.filter(({ fact }) => fact === "delivery.attempted");
  assert.deepEqual(
    attempts.map(({ status }) => status),
    [500, 200],
  );
  assert.equal((await listener.end("SIGINT")).code, 0);
});

test("an application that is away is answered for with 502", async (t) => {
  const cli = await openCommandLine(t, quick);
  await cli.json("topic create -n orders");
  const listener = cli.start(
    "listen -p 0 --subscribe orders -o table --forward-to http://127.0.0.1:1234/",
  );
  await listener.said(/^subscribed to orders/);
  await cli.json("publish -t orders");
  await listener.said(/→ 502, because 127\.0\.0\.1:1234 cannot be reached \(ECONNREFUSED\)$/);
  await listener.end("SIGINT");
});

test("samples are published in the topic's schema, and own ones are read from a folder", async (t) => {
  const cli = await openCommandLine(t, quick);
  await cli.json("topic create -n clouds --input-schema cloudeventschemav1_0");
  const sample = (await cli.json("trigger secretnearexpiry -t clouds")) as {
    event: { type: string; data: { ObjectType: string } };
  };
  assert.equal(sample.event.type, "Microsoft.KeyVault.SecretNearExpiry");
  assert.equal(sample.event.data.ObjectType, "Secret");
  cli.write("Order.Placed.json", { subject: "/orders/7", data: { amount: 12 } });
  const own = (await cli.json(`trigger Order.Placed -t clouds --samples ${cli.folder}`)) as {
    event: object;
  };
  const { subject, data } = own.event as { subject: string; data: object };
  assert.deepEqual([subject, data], ["/orders/7", { amount: 12 }]);
  const wrong = await cli.run("trigger BlobCreatd -t clouds");
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /did you mean Microsoft\.Storage\.BlobCreated\?/);
});
