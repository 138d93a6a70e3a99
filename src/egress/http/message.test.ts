import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parcelOf } from "../../../test/contract/sink.ts";
import type { DeliverySchema, Event } from "../../core/event.ts";
import type { DeliveryHeader, Subscription } from "../../core/subscription.ts";
import { linesOf } from "./connection.ts";
import {
  excerptOf,
  headerText,
  type Post,
  postOf,
  silenceOf,
  targetOf,
  wordsOf,
} from "./message.ts";

const targetAt = (url: string) => targetOf({ kind: "webhook", url });

test("a request goes to the whole URL, query and all, without its fragment", () => {
  assert.deepEqual(targetAt("https://hooks.example.com:8443/a/b?code=s%3Dcret&x=1#top"), {
    origin: "https://hooks.example.com:8443",
    path: "/a/b?code=s%3Dcret&x=1",
    url: "https://hooks.example.com:8443/a/b?code=s%3Dcret&x=1",
  });
  assert.equal(targetAt("http://example.com")?.path, "/");
});

test("what is no URL of the web has no target", () => {
  for (const url of ["", "hooks", "/hook", "http://", "ftp://example.com/", "mailto:a@b.c"]) {
    assert.equal(targetAt(url), null, url);
  }
});

test("one event is an array of one, many are an array of all (D-4)", () => {
  assert.equal(postOf(parcelOf(['{"id":1}']), "/").body, '[{"id":1}]');
  assert.equal(postOf(parcelOf(['{"id":1}', '{"id":2}']), "/").body, '[{"id":1},{"id":2}]');
});

test("headers that are known as lines are those of the record, in its order", () => {
  const schemas: DeliverySchema[] = [
    "EventGridSchema",
    "CloudEventSchemaV1_0",
    "CustomInputSchema",
  ];
  fc.assert(
    fc.property(
      fc.constantFrom(...schemas),
      fc.string({ unit: "binary" }),
      fc.nat(),
      fc.constantFrom(
        null,
        { maxEvents: 1, preferredBytes: 64_000 },
        { maxEvents: 9, preferredBytes: 64_000 },
      ),
      (deliverySchema, dataVersion, attempts, batch) => {
        const { subscription, deliveries } = parcelOf([eventGrid]);
        const [first] = deliveries;
        assert.ok(first);
        const event = { ...first.event, dataVersion };
        const parcel = {
          subscription: { ...subscription, deliverySchema, batch },
          deliveries: [{ ...first, attempts, event }],
        };
        const { lines, headers } = postOf(parcel, "/hook");
        assert.equal(lines, linesOf(headers));
        assert.equal(postOf(parcel, "/api/events").lines, undefined);
      },
    ),
  );
});

const eventGrid = JSON.stringify({
  id: "1807",
  topic: "/t",
  subject: "motorcycles",
  data: { make: "Ducati" },
  eventType: "recordInserted",
  eventTime: "2017-08-10T21:03:07Z",
  dataVersion: "1.0",
  metadataVersion: "1",
});
const converted =
  '{"specversion":"1.0","id":"1807","source":"/t","subject":"motorcycles",' +
  '"type":"recordInserted","time":"2017-08-10T21:03:07Z","dataschema":"#1.0",' +
  '"data":{"make":"Ducati"}}';
const envelope = JSON.stringify({ id: "made", topic: "/t", dataVersion: "2.0" });

/** A parcel of `count` events like this one, for a subscription with these terms. */
function postFor(
  event: Partial<Event>,
  terms: Partial<Subscription> = {},
  count = 1,
): Pick<Post, "headers" | "body"> {
  const { subscription, deliveries } = parcelOf(Array(count).fill(event.text ?? eventGrid));
  return postOf(
    {
      subscription: { ...subscription, ...terms },
      deliveries: deliveries.map((each) => ({ ...each, event: { ...each.event, ...event } })),
    },
    "/",
  );
}

/** The headers that depend on the schema. */
function schemaHeaders({ headers }: Pick<Post, "headers">) {
  const names = ["content-type", "aeg-metadata-version", "aeg-data-version"];
  return names.map((name) => headers[name]);
}

test("an event goes out in the schema that its subscription asks for", () => {
  const json = "application/json; charset=utf-8";
  const cloud = "application/cloudevents+json; charset=utf-8";
  const custom: Partial<Event> = {
    schema: "CustomEventSchema",
    text: '{"n":1.0}',
    envelope,
    dataVersion: "2.0",
  };
  const cloudEvent: Partial<Event> = {
    schema: "CloudEventSchemaV1_0",
    text: '{"specversion":"1.0","x":1.0}',
    dataVersion: "",
  };
  const asGrid = `[${envelope.slice(0, -1)},"data":{"n":1.0}}]`;
  const table: readonly (readonly [Partial<Event>, DeliverySchema, string, unknown[]])[] = [
    [{}, "EventGridSchema", `[${eventGrid}]`, [json, "1", "1.0"]],
    [{}, "CloudEventSchemaV1_0", converted, [cloud, "1.0", undefined]],
    [cloudEvent, "CloudEventSchemaV1_0", cloudEvent.text ?? "", [cloud, "1.0", undefined]],
    [custom, "CustomInputSchema", '[{"n":1.0}]', [json, "1", "2.0"]],
    [custom, "EventGridSchema", asGrid, [json, "1", "2.0"]],
  ];
  for (const [event, deliverySchema, body, headers] of table) {
    const post = postFor(event, { deliverySchema });
    assert.equal(post.body, body);
    assert.deepEqual(schemaHeaders(post), headers);
  }
});

test("batched CloudEvents are an array, also a batch of one (B-5)", () => {
  const type = "application/cloudevents-batch+json; charset=utf-8";
  const batch = { maxEvents: 10, preferredBytes: 65_536 };
  for (const count of [1, 3]) {
    const post = postFor({}, { deliverySchema: "CloudEventSchemaV1_0", batch }, count);
    assert.equal(post.body, `[${Array(count).fill(converted).join()}]`);
    assert.deepEqual(schemaHeaders(post), [type, "1.0", undefined]);
  }
  const alone = { ...batch, maxEvents: 1 };
  const post = postFor({}, { deliverySchema: "CloudEventSchemaV1_0", batch: alone });
  assert.equal(post.body, converted);
});

const text = '{"id":"1","data":{"key1":"v\\u00e9","n":1.0,"b":true,"o":{},"z":null,"a.b":"dots"}}';

function ownHeaders(...headers: readonly DeliveryHeader[]) {
  const parcel = parcelOf([text, '{"data":{"key1":"second"}}']);
  const subscription = { ...parcel.subscription, headers };
  return postOf({ ...parcel, subscription }, "/").headers;
}

function dynamic(name: string, sourceField: string): DeliveryHeader {
  return { name, kind: "dynamic", sourceField };
}

test("a subscription's own headers go with every delivery (C-1)", () => {
  const sent = ownHeaders(
    { name: "X-Tenant", kind: "static", value: "contoso", isSecret: true },
    dynamic("x-key", "data.key1"),
    dynamic("x-number", "data.n"),
    dynamic("x-truth", "data.b"),
    dynamic("x-id", "id"),
  );
  assert.equal(sent["X-Tenant"], "contoso", "in the letter case that it was written in");
  assert.equal(sent["x-key"], "v%C3%A9", "of the first event, and as a header can carry it");
  assert.equal(sent["x-number"], "1.0", "as it was written");
  assert.equal(sent["x-truth"], "true");
  assert.equal(sent["x-id"], "1");
});

test("a header whose value is not in the event is left out (C-1)", () => {
  const plain = ownHeaders();
  for (const path of [
    "data.none",
    "data.z",
    "data.o",
    "data",
    "none.key1",
    "data.key1.x",
    "__proto__",
  ]) {
    assert.deepEqual(ownHeaders(dynamic("x-key", path)), plain, path);
  }
});

test("of the broker's own headers only the user agent gives way", () => {
  const own = (name: string) =>
    ownHeaders({ name, kind: "static", value: "mine", isSecret: false });
  assert.equal(own("User-Agent")["User-Agent"], "mine");
  assert.equal(Object.keys(own("User-Agent")).length, Object.keys(ownHeaders()).length);
  assert.equal(own("AEG-Event-Type")["aeg-event-type"], "Notification");
});

test("printable ASCII is a header's value as it is", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme-ascii" }), (text) => {
      assert.equal(headerText(text), text);
    }),
  );
});

test("no text breaks a header, adds one, or makes it long", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 3_000 }), fc.nat(3), (text, times) => {
      const value = headerText(text.repeat(times));
      assert.match(value, /^[ -~]*$/);
      assert.ok(value.length <= 4_096);
      if (!text.includes("%")) assert.doesNotThrow(() => decodeURIComponent(value));
    }),
  );
});

test("a long header ends with a whole character, never inside an escape", () => {
  for (const character of ["ä", "€", "😀", "\n"]) {
    const escaped = encodeURIComponent(character);
    for (let before = 0; before < escaped.length; before += 1) {
      const value = headerText("x".repeat(before) + character.repeat(4_096));
      assert.equal(value.slice(before), escaped.repeat((value.length - before) / escaped.length));
      assert.ok(value.length > 4_096 - escaped.length, character);
    }
  }
});

test("what is not printable ASCII is percent-encoded in a header", () => {
  assert.equal(headerText("1.0\r\nx-evil: 1"), "1.0%0D%0Ax-evil: 1");
  assert.equal(headerText("v\t2\u007f\u0000"), "v%092%7F%00");
  assert.equal(headerText("Größe 😀"), "Gr%C3%B6%C3%9Fe %F0%9F%98%80");
  assert.equal(headerText("half \ud83d"), "half %EF%BF%BD");
  assert.equal(headerText("100%"), "100%");
});

const failures: readonly (readonly [string, string])[] = [
  ["ECONNREFUSED", "connection"],
  ["ECONNRESET", "connection"],
  ["EPIPE", "connection"],
  ["EHOSTUNREACH", "connection"],
  ["EMFILE", "connection"],
  ["HPE_INVALID_CONSTANT", "connection"],
  ["ENOTFOUND", "dns"],
  ["EAI_AGAIN", "dns"],
  ["EAI_FAIL", "dns"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "tls"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "tls"],
  ["CERT_HAS_EXPIRED", "tls"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "tls"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "tls"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "tls"],
  ["EPROTO", "tls"],
  ["INVALID_CA", "tls"],
];

for (const [code, why] of failures) {
  test(`${code} is a failure of ${why} (D-5)`, () => {
    assert.equal(silenceOf(Object.assign(new Error("no"), { code })), why);
  });
}

test("a failure without a code is one of the connection, and always has words", () => {
  assert.equal(silenceOf(new Error("no")), "connection");
  assert.equal(wordsOf(new Error("no")), "no");
  assert.equal(wordsOf(Object.assign(new AggregateError([]), { code: "E" })), "E");
  assert.equal(wordsOf(new TypeError()), "TypeError");
});

test("an excerpt is the beginning of the answer, in whole characters", () => {
  assert.equal(excerptOf([], 4), "");
  assert.equal(excerptOf([Buffer.from("ab"), Buffer.from("cdef")], 4), "abcd");
  assert.equal(excerptOf([Buffer.from("abü")], 4), "abü");
  assert.equal(excerptOf([Buffer.from("abcü")], 4), "abc");
  assert.equal(excerptOf([Buffer.from([0x61, 0xff])], 4), "a\ufffd");
});

test("a trace context is sent as headers, which a subscription's own headers may replace", () => {
  const trace = { parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", state: "a=1" };
  const parcel = parcelOf(['{"id":1}']);
  const { traceparent, tracestate } = postOf({ ...parcel, trace }, "/").headers;
  assert.deepEqual({ traceparent, tracestate }, { traceparent: trace.parent, tracestate: "a=1" });
  const without = postOf(parcel, "/").headers;
  assert.equal("traceparent" in without || "tracestate" in without, false);
  const headers = [
    { name: "TraceParent", kind: "static", value: "mine", isSecret: false },
  ] as const satisfies DeliveryHeader[];
  const subscription = { ...parcel.subscription, headers };
  const replaced = postOf({ ...parcel, subscription, trace }, "/").headers;
  assert.equal(replaced.TraceParent, "mine");
  assert.equal("traceparent" in replaced, false);
});
