// Publishing, watching, explaining, pausing and redriving from the command line, against a real
// broker and a real endpoint.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type CommandLine, openCommandLine } from "../fixtures/command-line.ts";
import { startProgram } from "../fixtures/program.ts";
import { openReceiver } from "../fixtures/receiver.ts";
import { freePort } from "../fixtures/scope.ts";

const account =
  "/subscriptions/S/resourceGroups/rg1/providers/Microsoft.Storage/storageAccounts/letters";

/** A broker with a topic and a subscription to a real endpoint. */
async function openScene(t: TestContext, options: readonly string[] = []) {
  const receiver = await openReceiver(t);
  const config = {
    topics: {
      orders: {
        key1: "orders-key",
        subscriptions: {
          billing: {
            destination: {
              endpointType: "WebHook",
              properties: { endpointUrl: `${receiver.url}/hook` },
            },
            filter: { subjectBeginsWith: "/orders/" },
          },
        },
      },
    },
  };
  const usual = ["--store", "memory", "--log-level", "debug"];
  const cli = await openCommandLine(t, [...usual, ...options], config);
  return { cli, receiver };
}

const idsIn = (bodies: readonly { readonly body: string }[]) =>
  bodies.flatMap(({ body }) => (JSON.parse(body) as { id: string }[]).map(({ id }) => id));

test("events are published from files, lines, the input and options, and reach the endpoint", async (t) => {
  const { cli, receiver } = await openScene(t);
  const event = (id: string) => ({ id, subject: "/orders/1", eventType: "t", data: {} });
  const one = cli.write("one.json", event("one"));
  const list = cli.write("list.json", [event("two"), event("three")]);
  const lines = cli.write(
    "lines.json",
    `${JSON.stringify(event("four"))}\n\n${JSON.stringify(event("five"))}\n`,
  );
  const published = (await cli.json(["publish", "-t", "orders", one, list, lines])) as object;
  assert.deepEqual(published, {
    topic: "orders",
    published: 5,
    ids: ["one", "two", "three", "four", "five"],
    subscriptions: ["billing"],
  });
  await cli.json("publish -t orders -", JSON.stringify(event("six")));
  await cli.json('publish -t orders --id seven --subject /orders/7 --type T --body {"a":1}');
  await cli.broker.told("delivery.attempted", 7);
  assert.deepEqual(idsIn(receiver.received).toSorted(), [
    "five",
    "four",
    "one",
    "seven",
    "six",
    "three",
    "two",
  ]);
  const seven = receiver.received.find(({ body }) => body.includes("seven"));
  const [arrived] = JSON.parse(seven?.body ?? "[]") as Record<string, unknown>[];
  assert.deepEqual(
    [arrived?.subject, arrived?.eventType, arrived?.data],
    ["/orders/7", "T", { a: 1 }],
  );
});

test("a publish says who gets the event, also that nobody does, and what to type next", async (t) => {
  const { cli } = await openScene(t);
  const publish = ["publish", "-t", "orders", "-o", "table", "--subject"];
  assert.equal(
    (await cli.run([...publish, "/orders/1", "--id", "first"])).out,
    "published first to orders\n1 subscription matched: billing\nnext: posthorn explain first\n",
  );
  assert.equal(
    (await cli.run([...publish, "/refunds/1", "--id", "it's second"])).out,
    "published it's second to orders\nno subscription matched: nobody gets this\n" +
      "next: posthorn explain 'it'\\''s second'\n",
  );
  const many = Array.from({ length: 21 }, () => ({ subject: "/orders/1", eventType: "t" }));
  const file = cli.write("many.json", many);
  assert.match(
    (await cli.run(["publish", "-t", "orders", "-o", "table", file])).out,
    /^published 21 events to orders\nnext: posthorn explain \S+\n$/,
  );
  const asked = ["--subject", "/refunds/2", "--query", "subscriptions"];
  assert.deepEqual(await cli.json(["publish", "-t", "orders", ...asked]), []);
});

test("a number keeps its digits on its way from a file to the endpoint", async (t) => {
  const { cli, receiver } = await openScene(t);
  const file = cli.write(
    "big.json",
    '{"id":"big","subject":"/orders/1","eventType":"t","data":{"n":12345678901234567890.10}}',
  );
  await cli.json(["publish", "-t", "orders", file]);
  await cli.broker.told("delivery.attempted", 1);
  assert.match(receiver.received[0]?.body ?? "", /"n":12345678901234567890\.10/);
});

test("a load is published at once in batches, with ids that show gaps", async (t) => {
  const { cli, receiver } = await openScene(t);
  const told = (await cli.json(
    "publish -t orders --count 100 --batch 10 --subject /orders/1 --size 100",
  )) as { run: string; published: number; requests: number; refused: number };
  assert.deepEqual([told.published, told.requests, told.refused], [100, 10, 0]);
  await cli.broker.told("delivery.attempted", 100);
  const expected = Array.from({ length: 100 }, (_, index) => `${told.run}-${index + 1}`);
  assert.deepEqual(idsIn(receiver.received).toSorted(), expected.toSorted());
});

test("every event of a load has the given data, and --size adds to it", async (t) => {
  const { cli, receiver } = await openScene(t);
  const load = "publish -t orders --count 3 --batch 3 --subject /orders/1";
  await cli.json(`${load} --body {"n":1}`);
  await cli.json(`${load} --body {"n":2} --size 4`);
  await cli.json(`${load} --body 7`);
  await cli.broker.told("delivery.attempted", 9);
  const data = receiver.received.flatMap(({ body }) =>
    (JSON.parse(body) as { data: unknown }[]).map((each) => JSON.stringify(each.data)),
  );
  assert.deepEqual(
    data.toSorted(),
    ['{"n":1}', '{"n":2,"fill":"xxxx"}', "7"].flatMap((each) => [each, each, each]).toSorted(),
  );
});

test("what cannot be published is told in one line", async (t) => {
  const { cli } = await openScene(t);
  const table: [string[], number, RegExp][] = [
    [["publish", "-t", "ordres"], 3, /there is no topic "ordres"; did you mean orders\?/],
    [["publish", "-t", "orders", "nowhere.json"], 2, /nowhere\.json cannot be read \(ENOENT\)/],
    [
      ["publish", "-t", "orders", cli.write("a.txt", "not json")],
      2,
      /a\.txt must be JSON: an event/,
    ],
    [["publish", "-t", "orders", "--body", "{"], 2, /--body must be JSON such as/],
    [["publish", "-t", "orders", "--count", "2", "--body", "{"], 2, /--body must be JSON such as/],
    [["publish", "-t", "orders", "--topic-key", "wrong"], 1, /\(Unauthorized\)/],
    [["publish", "-t", "orders", cli.write("b.json", { eventType: "t" })], 1, /\(BadRequest\)/],
  ];
  for (const [args, code, words] of table) {
    const ran = await cli.run(args);
    assert.equal(ran.code, code, ran.err);
    assert.match(ran.err, words);
    assert.match(ran.err, /^posthorn: [^\n]+\n$/);
  }
});

test("tail shows what happens while it happens, as lines or as objects", async (t) => {
  const { cli, receiver } = await openScene(t);
  receiver.answer = (_, count) => (count === 1 ? 503 : 200);
  const lines = cli.start("tail -o table --only published attempt catalog --for 1h");
  const objects = cli.start("tail -o json --only attempt catalog");
  // Each watches once it has shown a topic that is new.
  for (let number = 1; lines.lines.length === 0 || objects.lines.length === 0; number++) {
    await cli.json(`topic create -n other-${number}`);
  }
  await cli.json("publish -t orders --id first --subject /orders/1");
  await lines.said(/failed .*orders\/billing.* 503 Busy/);
  await cli.json("publish -t orders --id second --subject /orders/2");
  await lines.said(/delivered orders\/billing.* 200 Delivered/);
  const published = await lines.said(/published orders .*\(second\)/);
  assert.match(
    published,
    /^\d\d:\d\d:\d\d\.\d{3} published orders \S+ \(second\) \S+ \/orders\/2 → billing$/,
  );
  await objects.said(/"eventId":"second"/);
  const told = await objects.end("SIGINT");
  const seen = told.out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter(({ kind }) => kind === "attempt");
  assert.deepEqual(
    seen.map(({ attempt }) => [attempt.eventId, attempt.status]),
    [
      ["first", 503],
      ["second", 200],
    ],
  );
  assert.equal(told.code, 0, "an interrupt is how it ends");
  const one = cli.start("tail -o table --only catalog --count 1");
  for (let number = 1; one.lines.length === 0; number++) {
    await cli.json(`topic create -n more-${number}`);
  }
  assert.equal((await one.end()).code, 0, "and so is having seen enough");
});

test("tail says that the broker has stopped, and goes on when it is back", async (t) => {
  // A port that nobody else is given while the broker is away.
  const address = `127.0.0.1:${await freePort()}`;
  const { cli } = await openScene(t, ["--http", address]);
  const tail = cli.start("tail -o table --only catalog");
  const other = cli.start("tail -o table --only catalog");
  for (let number = 1; tail.lines.length === 0 || other.lines.length === 0; number++) {
    await cli.json(`topic create -n other-${number}`);
  }
  await cli.broker.end("SIGTERM");
  for (const each of [tail, other]) {
    await each.said(/^posthorn: the broker at \S+ has closed the stream; waiting for it$/);
  }
  assert.equal((await other.end("SIGINT")).code, 1, "it ended without its broker");
  const again = await startProgram([
    ...["--data", join(cli.folder, "data"), "--store", "memory", "--http", address],
  ]);
  t.after(() => again.end("SIGKILL"));
  await tail.said(/^posthorn: the broker at \S+ is back; what happened meanwhile is not shown$/);
  const before = tail.lines.length;
  for (let number = 1; tail.lines.length === before; number++) {
    await cli.json(`topic create -n later-${number}`);
  }
  assert.equal((await tail.end("SIGINT")).code, 0);
});

/** The story once it has an attempt: stories are noted beside the path of events. */
async function told(cli: CommandLine, id: string) {
  for (;;) {
    const { code, out } = await cli.run(["explain", id]);
    if (code !== 0) continue;
    const story = JSON.parse(out) as {
      deliveryStories: { subscription: string; attempts: { status: number }[] }[];
    };
    if ((story.deliveryStories[0]?.attempts.length ?? 0) > 0) return story;
  }
}

test("the story of an event is told and drawn, from its publish to its end", async (t) => {
  const { cli, receiver } = await openScene(t);
  receiver.answer = () => 503;
  await cli.json("publish -t orders --id told --subject /orders/1");
  await cli.broker.told("delivery.attempted", 1);
  const [delivery] = (await told(cli, "told")).deliveryStories;
  assert.deepEqual([delivery?.subscription, delivery?.attempts[0]?.status], ["billing", 503]);
  const drawn = await cli.run("explain told -o table");
  assert.match(drawn.out, /^event \S+ {2}id told\n {2}topic {4}orders\n/);
  assert.match(
    drawn.out,
    /\nbilling → http:\S+\/hook: waiting\n {2}├─ \S+ {2}attempt 1: 503 Busy in/,
  );
  assert.match(drawn.out, /\n {2}└─ next attempt \S+, 29 attempts left, alive until/);
  const unknown = await cli.run("explain nobody");
  assert.equal(unknown.code, 3);
  assert.match(unknown.err, /^posthorn: \(NotFound\) [^\n]+\n$/);
  const found = (await cli.json("event list -t orders --state waiting --query [].id")) as string[];
  assert.deepEqual(found, ["told"]);
});

test("a dry run says which clause an event does not fit", async (t) => {
  const { cli } = await openScene(t);
  const file = cli.write("event.json", { subject: "/refunds/1", eventType: "t" });
  const explain = ["event-subscription", "explain", "--topic-name", "orders", file];
  const [kept] = (await cli.json(explain)) as { matches: boolean; subscription: string }[];
  assert.deepEqual([kept?.subscription, kept?.matches], ["billing", false]);
  const given = [...explain, "--subject-begins-with", "/refunds/", "--query", "[].matches"];
  assert.deepEqual(await cli.json(given), [true]);
  const drawn = await cli.run([...explain, "-o", "table"]);
  assert.match(drawn.out, /^Subscription +Matches +Clause +Holds +Because\n/);
});

test("a subscription is paused and resumed, and an endpoint closed and opened, by hand", async (t) => {
  const { cli, receiver } = await openScene(t);
  const named = "-n billing --topic-name orders";
  const paused = (await cli.json(`event-subscription pause ${named} --query flow.kind`)) as string;
  assert.equal(paused, "paused");
  await cli.json("publish -t orders --id held --subject /orders/1");
  const status = (await cli.json(`event-subscription status ${named} --query waiting`)) as number;
  assert.equal(status, 1);
  assert.equal(receiver.received.length, 0);
  await cli.json(`event-subscription drain ${named} --rate 100`);
  await cli.broker.told("delivery.attempted", 1);
  assert.deepEqual(idsIn(receiver.received), ["held"]);
  const endpoint = `${receiver.url}/hook`;
  const close = ["endpoint", "close", endpoint, "--because", "moving house"];
  assert.equal(await cli.json([...close, "--query", "health.kind"]), "closed");
  await cli.json("publish -t orders --id late --subject /orders/1");
  const table = await cli.run("endpoint list -o table");
  assert.match(
    table.out,
    /closed .* 1 +0 +orders\/billing +closed by an operator since .*: moving house/,
  );
  await cli.json(["endpoint", "open", endpoint]);
  await cli.broker.told("delivery.attempted", 2);
  assert.deepEqual(idsIn(receiver.received), ["held", "late"]);
  const overview = (await cli.json("status --query counts.delivered")) as number;
  assert.equal(overview, 2);
});

test("what waits is skipped or hastened by hand", async (t) => {
  const { cli, receiver } = await openScene(t);
  receiver.answer = (_, count) => (count === 1 ? 503 : 200);
  const named = "-n billing --topic-name orders";
  await cli.json("publish -t orders --id slow --subject /orders/1");
  await cli.broker.told("delivery.attempted", 1);
  assert.deepEqual(await cli.json(`event-subscription hasten ${named}`), { hastened: 1 });
  await cli.broker.told("delivery.attempted", 2);
  await cli.json(`event-subscription pause ${named}`);
  await cli.json("publish -t orders --count 3 --subject /orders/1");
  assert.deepEqual(await cli.json(`event-subscription skip ${named}`), { skipped: 3 });
});

test("signing secrets are made, shown and followed by others", async (t) => {
  const { cli } = await openScene(t);
  const named = "-n billing --topic-name orders";
  const [first] = (await cli.json(`event-subscription signing rotate ${named}`)) as {
    secret: string;
  }[];
  assert.match(first?.secret ?? "", /^whsec_/);
  const both = (await cli.json(`event-subscription signing rotate ${named} --overlap 1h`)) as {
    secret: string;
  }[];
  assert.equal(both.length, 2);
  assert.equal(both[1]?.secret, first?.secret);
  assert.deepEqual(await cli.json(`event-subscription signing show ${named}`), both);
  assert.deepEqual(await cli.json(`event-subscription signing rotate ${named} --off`), []);
});

test("dead letters are listed, shown, tried without sending, and sent again", async (t) => {
  const receiver = await openReceiver(t);
  const folder = mkdtempSync(join(tmpdir(), "posthorn-letters-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const cli = await openCommandLine(
    t,
    [
      "--store",
      "memory",
      "--handshake",
      "off",
      "--dead-letter-pause",
      "PT0S",
      "--log-level",
      "debug",
    ],
    { storageAccounts: { [account]: { folder } } },
  );
  await cli.json("topic create -n orders");
  await cli.json([
    ...["event-subscription", "create", "-n", "billing", "--source-resource-id", "orders"],
    ...["--endpoint", `${receiver.url}/hook`],
    ...["--deadletter-endpoint", `${account}/blobServices/default/containers/dead`],
  ]);
  /** Attempts at the endpoint; what is written as a dead letter is an attempt, too. */
  const sends = (count: number) =>
    cli.broker.until(() => {
      const all = cli.broker.facts.filter(({ fact }) => fact === "delivery.attempted");
      return all.filter(({ stage }) => stage === "deliver").length >= count;
    });
  receiver.answer = () => 400;
  await cli.json("publish -t orders --count 3 --batch 3");
  await cli.broker.told("delivery.deadLettered", 3);
  const letters = (await cli.json("deadletter list")) as { id: string; reason: string }[];
  assert.deepEqual(
    letters.map(({ reason }) => reason),
    Array<string>(3).fill("UndeliverableDueToHttpBadRequest"),
  );
  const [group] = (await cli.json("deadletter list --groups")) as { count: number }[];
  assert.equal(group?.count, 3);
  const [first] = letters;
  const shown = (await cli.json(["deadletter", "show", first?.id ?? ""])) as { record: string };
  assert.match(shown.record, /"deadLetterReason"/);
  const dry = (await cli.json("deadletter redrive --all --dry-run")) as {
    state: string;
    total: number;
  };
  assert.deepEqual([dry.state, dry.total], ["dryRun", 3]);
  const before = receiver.received.length;
  receiver.answer = () => 200;
  const table = await cli.run("deadletter redrive --all --rate 100 -o table");
  assert.equal(table.code, 0, table.err);
  assert.match(
    table.out,
    /^Id +State +To +Total +Sent +Failed +Skipped\n-.*\n\S+ +done .* 3 +3 +0 +0\n$/,
  );
  await sends(6);
  assert.deepEqual(
    idsIn(receiver.received.slice(before)).toSorted(),
    idsIn(receiver.received.slice(0, before)).toSorted(),
  );
  // One event goes at once; the next would have to wait.
  type Redrive = { readonly id: string; readonly state: string; readonly sent: number };
  const slow = (await cli.json("deadletter redrive --all --rate 0.01 --no-wait")) as Redrive;
  await sends(7);
  const stopped = (await cli.json(["redrive", "stop", slow.id])) as Redrive;
  assert.deepEqual([stopped.state, stopped.sent], ["stopped", 1]);
  const resumed = (await cli.json(["redrive", "resume", slow.id, "--no-wait"])) as Redrive;
  assert.deepEqual([resumed.id, resumed.state], [slow.id, "running"]);
  await sends(8);
  await cli.json(["redrive", "stop", slow.id]);
  const [latest] = (await cli.json("redrive list")) as Redrive[];
  assert.deepEqual([latest?.id, latest?.state, latest?.sent], [slow.id, "stopped", 2]);
  const left = cli.start("deadletter redrive --all --rate 0.01 --force -o json");
  await cli.broker.told("redrive.started", 3);
  const { err } = await left.end("SIGINT");
  assert.match(err, /stopped; go on with `posthorn redrive resume \S+`\n$/);
  const listed = await cli.run("deadletter list -o table");
  assert.match(listed.out, /^Event +Subscription +Type +Reason /);
  assert.ok(!listed.out.includes(first?.id ?? ""), "long ids are for -o wide");
  assert.ok((await cli.run("deadletter list -o wide")).out.includes(first?.id ?? ""));
  assert.match((await cli.run("redrive resume nowhere")).err, /There is no redrive "nowhere"/);
  const none = await cli.run("deadletter show nowhere");
  assert.equal(none.code, none.err.includes("(NotFound)") ? 3 : 1, none.err);
  assert.match(none.err, /^posthorn: [^\n]+\n$/);
});

test("a delivered event is sent again by its id, to who matches or to who is named", async (t) => {
  const { cli, receiver } = await openScene(t);
  await cli.json("publish -t orders --id first --subject /orders/1");
  await cli.broker.told("delivery.attempted", 1);
  const again = await cli.run("event resend first -o table");
  assert.match(
    again.out,
    /^sent first to orders again\n1 subscription matched: billing\nnext: posthorn explain \S+\n$/,
  );
  await cli.broker.told("delivery.attempted", 2);
  assert.deepEqual(idsIn(receiver.received), ["first", "first"]);
  assert.equal((await cli.run("event resend first -n nobody")).code, 3);
});
