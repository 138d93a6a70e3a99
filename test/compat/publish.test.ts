// The official client publishes to the real program: every schema, every credential, both wires.
// What arrives at an endpoint is judged by the client's own deserializer.

import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { AzureKeyCredential, AzureSASCredential, type TokenCredential } from "@azure/core-auth";
import {
  EventGridDeserializer,
  EventGridPublisherClient,
  type EventGridPublisherClientOptions,
  generateSharedAccessSignature,
} from "@azure/eventgrid";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { Refusal } from "../../src/core/refusal.ts";
import { listen } from "../../src/runtime/http/listener.ts";
import { MemoryStore } from "../../src/store/memory.ts";
import { openPublishRoutes, key as topicKey } from "../fixtures/publish-routes.ts";
import { freePort } from "../fixtures/webhook.ts";
import { type CompatBroker, key1, key2, openCompatBroker, signIn } from "./broker.ts";

const judge = new EventGridDeserializer();
const issuer = "https://sts.example/tenant/";
const jwksFile = join(tmpdir(), `posthorn-jwks-${process.pid}.json`);
const entraKeys = await generateKeyPair("RS256");
let broker: CompatBroker;
let ownPort: number;

before(async () => {
  const jwk = await exportJWK(entraKeys.publicKey);
  writeFileSync(jwksFile, JSON.stringify({ keys: [{ ...jwk, kid: "k", use: "sig" }] }));
  ownPort = await freePort();
  const mapped = {
    inputSchemaMappingType: "Json",
    properties: {
      id: { sourceField: "number" },
      eventType: { sourceField: "kind" },
      subject: { sourceField: "about.what" },
      dataVersion: { defaultValue: "1.0" },
    },
  };
  const ce = { inputSchema: "CloudEventSchemaV1_0" };
  const custom = { inputSchema: "CustomEventSchema", inputSchemaMapping: mapped };
  broker = await openCompatBroker(
    {
      keyed: {},
      signed: {},
      borne: {},
      judged: {},
      cloud: { ...ce, subscription: { eventDeliverySchema: "CloudEventSchemaV1_0" } },
      custom: { ...custom, subscription: { eventDeliverySchema: "CustomInputSchema" } },
      mapped: { ...custom, subscription: { eventDeliverySchema: "EventGridSchema" } },
      converted: { subscription: { eventDeliverySchema: "CloudEventSchemaV1_0" } },
      strict: { disableLocalAuth: true },
      walled: { inboundIpRules: [{ ipMask: "192.0.2.0/24", action: "Allow" }] },
      closed: { publicNetworkAccess: "Disabled" },
      ported: { port: ownPort },
      worded: { key1: "local-key", key2: "other-key" },
    },
    ["--entra-issuer", issuer, "--entra-jwks", jwksFile],
  );
});

after(async () => {
  await broker?.close();
  rmSync(jwksFile, { force: true });
});

const plain = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } } as const;

function urlOf(topic: string, base = broker.http): string {
  return `${base}/topics/${topic}/api/events`;
}

type Credential = AzureKeyCredential | AzureSASCredential | TokenCredential;

function clientAt(
  url: string,
  credential: Credential = new AzureKeyCredential(key1),
  options: EventGridPublisherClientOptions = {},
) {
  const trusting = { ...plain, tlsOptions: { ca: broker.ca }, ...options };
  return new EventGridPublisherClient(url, "EventGrid", credential, trusting);
}

function bearer(token: string): TokenCredential {
  return { getToken: async () => ({ token, expiresOnTimestamp: Date.now() + 3_600_000 }) };
}

const event = {
  subject: "orders/1",
  eventType: "Order.Placed",
  dataVersion: "1.0",
  data: { n: 1 },
};

/** What the client tells its user of a refusal. */
async function refusalOf(sending: Promise<unknown>) {
  const error = (await sending.then(
    () => assert.fail("it was accepted"),
    (reason: unknown) => reason,
  )) as { statusCode: number; code: string; message: string; details: unknown };
  return error;
}

test("either key publishes, in plain HTTP and over TLS", async () => {
  for (const base of [broker.http, broker.https]) {
    for (const key of [key1, key2]) {
      await clientAt(urlOf("keyed", base), new AzureKeyCredential(key)).send([event]);
    }
  }
  assert.equal((await broker.arrived("keyed", 4)).length, 4);
});

test("a wrong key is a 401 that the client shows with the service's words", async () => {
  const key = new AzureKeyCredential("d3Jvbmc=");
  const { statusCode, code, message, details } = await refusalOf(
    clientAt(urlOf("keyed"), key).send([event]),
  );
  assert.deepEqual([statusCode, code], [401, "Unauthorized"]);
  assert.match(message, /^The request authorization key is not authorized for 127\.0\.0\.1/);
  assert.match(JSON.stringify(details), /"details":\[\{"code":"Unauthorized"/);
});

test("a SAS token of the client's own making publishes, in plain HTTP and over TLS", async () => {
  for (const base of [broker.http, broker.https]) {
    for (const key of [key1, key2]) {
      const url = urlOf("signed", base);
      const expiresOn = new Date(Date.now() + 600_000);
      const credential = new AzureKeyCredential(key);
      const token = await generateSharedAccessSignature(url, credential, expiresOn);
      await clientAt(url, new AzureSASCredential(token)).send([event]);
    }
  }
  assert.equal((await broker.arrived("signed", 4)).length, 4);
});

test("a SAS token is refused when it has expired, is for another topic, or has no base64 key", async () => {
  const make = (topic: string, lifeMs: number, key = key1) =>
    generateSharedAccessSignature(
      urlOf(topic),
      new AzureKeyCredential(key),
      new Date(Date.now() + lifeMs),
    );
  const send = async (topic: string, token: string) =>
    await refusalOf(clientAt(urlOf(topic), new AzureSASCredential(token)).send([event]));
  const old = await send("signed", await make("signed", -60_000));
  assert.deepEqual([old.statusCode, old.code], [401, "Unauthorized"]);
  assert.match(old.message, /^The SAS token has expired/);
  const other = await send("signed", await make("keyed", 60_000));
  assert.match(other.message, /^The SAS token is for .*, which is not this topic\.$/);
  const foreign = await send("signed", await make("signed", 60_000, "d3Jvbmc="));
  assert.match(foreign.message, /^The signature of the SAS token was made with neither key/);
  const worded = await send("worded", await make("worded", 60_000, "local-key"));
  assert.match(
    worded.message,
    /^SAS tokens are signed with a base64 key, and the keys of this top/,
  );
});

test("bearer tokens publish over TLS: the broker's own, the admin key, and Entra's", async () => {
  const entra = new SignJWT({ iss: issuer, aud: "https://eventgrid.azure.net", roles: [] })
    .setProtectedHeader({ alg: "RS256", kid: "k", typ: "JWT" })
    .setExpirationTime("1h")
    .sign(entraKeys.privateKey);
  for (const token of [await signIn(broker), broker.adminKey, await entra]) {
    await clientAt(urlOf("borne", broker.https), bearer(token)).send([event]);
    await clientAt(urlOf("strict", broker.https), bearer(token)).send([event]);
  }
  await broker.arrived("borne", 3);
  await broker.arrived("strict", 3);
});

test("a bearer token that is not good is a 401, and so is a key where only tokens count", async () => {
  const table: readonly (readonly [string, Credential, RegExp])[] = [
    ["borne", bearer("nonsense"), /^The bearer token is neither the admin key nor a well-formed/],
    [
      "borne",
      bearer(
        await new SignJWT({ iss: issuer, aud: "https://management.azure.com" })
          .setProtectedHeader({ alg: "RS256", kid: "k" })
          .setExpirationTime("1h")
          .sign(entraKeys.privateKey),
      ),
      /^The bearer token is not meant for this broker: its claim "aud" does not fit/,
    ],
    ["strict", new AzureKeyCredential(key1), /^Local authentication is disabled for this topic/],
  ];
  for (const [topic, credential, words] of table) {
    const client = clientAt(urlOf(topic, broker.https), credential);
    const { statusCode, code, message } = await refusalOf(client.send([event]));
    assert.deepEqual([statusCode, code], [401, "Unauthorized"]);
    assert.match(message, words);
  }
});

test("a topic behind a firewall, or closed to the public, is a 403", async () => {
  for (const [topic, words] of [
    ["walled", /^Publishing to 127\.0\.0\.1:\d+ by client 127\.0\.0\.1 is rejected because of IpA/],
    ["closed", /^Publishing to 127\.0\.0\.1:\d+ is rejected because its public network access/],
  ] as const) {
    const refused = await refusalOf(clientAt(urlOf(topic)).send([event]));
    assert.deepEqual([refused.statusCode, refused.code], [403, "Forbidden"]);
    assert.match(refused.message, words);
  }
});

test("a topic is found by a port of its own, over both wires and with every credential", async () => {
  for (const scheme of ["http", "https"]) {
    const url = `${scheme}://127.0.0.1:${ownPort}/api/events`;
    const credential = new AzureKeyCredential(key1);
    const expiresOn = new Date(Date.now() + 60_000);
    const token = await generateSharedAccessSignature(url, credential, expiresOn);
    await clientAt(url, credential).send([event]);
    await clientAt(url, new AzureSASCredential(token)).send([event]);
  }
  const token = bearer(await signIn(broker));
  await clientAt(`https://127.0.0.1:${ownPort}/api/events`, token).send([event]);
  assert.equal((await broker.arrived("ported", 5)).length, 5);
});

test("what is too large is a 413 that the client does not send again", async () => {
  let sent = 0;
  const client = clientAt(urlOf("keyed"), undefined, {
    retryOptions: { maxRetries: 3 },
    additionalPolicies: [
      {
        position: "perRetry",
        policy: {
          name: "count",
          sendRequest(request, next) {
            sent++;
            return next(request);
          },
        },
      },
    ],
  });
  const large = { ...event, data: { text: "x".repeat(1_100_000) } };
  const { statusCode, code } = await refusalOf(client.send([large]));
  assert.deepEqual([statusCode, code], [413, "RequestEntityTooLarge"]);
  assert.equal(sent, 1);
});

test("an unknown topic is a 404, and an event without a subject a 400 that names it", async () => {
  const unknown = await refusalOf(clientAt(urlOf("nowhere")).send([event]));
  assert.deepEqual([unknown.statusCode, unknown.code], [404, "NotFound"]);
  const { subject: _, ...rest } = event;
  // To the client this is a custom event, which it leaves as it is.
  const credential = new AzureKeyCredential(key1);
  const client = new EventGridPublisherClient(urlOf("keyed"), "Custom", credential, plain);
  const malformed = await refusalOf(client.send([{ ...rest, id: "1" }]));
  assert.deepEqual([malformed.statusCode, malformed.code], [400, "BadRequest"]);
  assert.match(malformed.message, /subject/);
});

test("a 429 with Retry-After is waited out by the client, which sends the same again", async (t) => {
  class BusyStore extends MemoryStore {
    asked = 0;

    override async append(...given: Parameters<MemoryStore["append"]>) {
      if (++this.asked === 1) throw new Refusal("TooManyRequests", "busy", { retryAfterMs: 1 });
      return await super.append(...given);
    }
  }
  const store = new BusyStore();
  const ingress = await openPublishRoutes({ store });
  const subscription = await ingress.subscribe();
  const listener = await listen(ingress.routes, {
    ...{ host: "127.0.0.1", port: 0, log: { fact: () => {} }, ids: { next: () => "r" } },
    bodyBytesMax: 1_048_576,
  });
  t.after(() => listener.close());
  const url = `${listener.url}/topics/orders/api/events`;
  const client = new EventGridPublisherClient(url, "EventGrid", new AzureKeyCredential(topicKey), {
    allowInsecureConnection: true,
  });
  await client.send([{ ...event, id: "same" }]);
  assert.equal(store.asked, 2);
  const [kept, ...more] = await ingress.waiting(subscription);
  assert.equal(more.length, 0);
  assert.equal(JSON.parse(kept?.text ?? "").id, "same");
});

test("what an endpoint receives is an Event Grid event to the client's deserializer", async () => {
  await clientAt(urlOf("judged")).send([{ ...event, id: "1", eventTime: new Date(0) }]);
  const [came] = await broker.arrived("judged", 1);
  const [read, ...more] = await judge.deserializeEventGridEvents(came?.body ?? "");
  assert.equal(more.length, 0);
  assert.deepEqual(
    { ...read, eventTime: read?.eventTime.toISOString() },
    {
      ...event,
      id: "1",
      eventTime: "1970-01-01T00:00:00.000Z",
      topic:
        "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn" +
        "/providers/Microsoft.EventGrid/topics/judged",
      metadataVersion: "1",
    },
  );
});

test("CloudEvents keep their extensions and their bytes", async () => {
  const options = { ...plain, tlsOptions: { ca: broker.ca } };
  const client = new EventGridPublisherClient(
    urlOf("cloud"),
    "CloudEvent",
    new AzureKeyCredential(key1),
    options,
  );
  const bytes = new Uint8Array([0, 1, 254, 255]);
  const common = { source: "/shop", type: "Order.Placed", subject: "orders/1" };
  await client.send([
    { ...common, id: "1", data: { n: 1 }, extensionAttributes: { tenant: "blue", traceid: "x" } },
    { ...common, id: "2", data: bytes, datacontenttype: "application/octet-stream" },
  ]);
  const came = await broker.arrived("cloud", 2);
  const read = await Promise.all(came.map(({ body }) => judge.deserializeCloudEvents(body)));
  const [first, second] = read.flat().toSorted((one, other) => one.id.localeCompare(other.id));
  assert.deepEqual(first?.extensionAttributes, { tenant: "blue", traceid: "x" });
  assert.deepEqual(first?.data, { n: 1 });
  assert.equal(first?.source, "/shop");
  assert.deepEqual(new Uint8Array(second?.data as Uint8Array), bytes);
  assert.equal(second?.datacontenttype, "application/octet-stream");
});

test("events of a custom schema arrive as they are, and as Event Grid events where mapped", async () => {
  const own = { number: "n-1", kind: "Order.Placed", about: { what: "orders/1" }, more: [1, null] };
  for (const topic of ["custom", "mapped"]) {
    const credential = new AzureKeyCredential(key1);
    await new EventGridPublisherClient(urlOf(topic), "Custom", credential, plain).send([own]);
  }
  const [asIs] = await broker.arrived("custom", 1);
  assert.deepEqual(JSON.parse(asIs?.body ?? ""), [own]);
  const [mapped] = await broker.arrived("mapped", 1);
  const [read] = await judge.deserializeEventGridEvents(mapped?.body ?? "");
  assert.deepEqual(
    [read?.id, read?.eventType, read?.subject, read?.dataVersion, read?.data],
    ["n-1", "Order.Placed", "orders/1", "1.0", own],
  );
});

test("an Event Grid event that is delivered as a CloudEvent is one to the deserializer", async () => {
  await clientAt(urlOf("converted")).send([{ ...event, id: "1" }]);
  const [came] = await broker.arrived("converted", 1);
  const [read] = await judge.deserializeCloudEvents(came?.body ?? "");
  assert.deepEqual([read?.id, read?.type, read?.subject], ["1", "Order.Placed", "orders/1"]);
  assert.deepEqual(read?.data, { n: 1 });
  assert.match(read?.source ?? "", /\/providers\/Microsoft\.EventGrid\/topics\/converted$/);
});
