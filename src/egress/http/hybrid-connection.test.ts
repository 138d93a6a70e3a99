// Hybrid connections and functions: destinations that take posts at an address from the file. The
// relay is a stand-in that checks the token as the service does; the function app answers as a host
// would.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { test } from "node:test";
import {
  answeredOf,
  type Behaviour,
  noReplyOf,
  type OpenSinkWorld,
  sinkContract,
} from "../../../test/contract/sink.ts";
import {
  openSender,
  openSink,
  parcelWith,
  resourceIds,
} from "../../../test/fixtures/destination.ts";
import { freePort, serve } from "../../../test/fixtures/webhook.ts";
import type { AzureSections } from "../../core/azure/resources.ts";
import type { PushDestination } from "../../core/subscription.ts";

const [keyName, key] = ["send", "bm90IGEgc2VjcmV0"];

const relayAt = (port: number) => ({
  connectionString:
    `Endpoint=sb://127.0.0.1:${port};SharedAccessKeyName=${keyName};` +
    `SharedAccessKey=${key};UseDevelopmentEmulator=true`,
});

const relay = (namespace: string, name = "orders"): PushDestination => ({
  kind: "hybridConnection",
  resourceId: resourceIds.relay(namespace, name),
});

const functionOf = (app: string, name = "onOrder"): PushDestination => ({
  kind: "azureFunction",
  resourceId: resourceIds.functionOf(app, name),
});

/** As the relay checks it: what it signs is the escaped address, the key is used as written. */
function isToken(headers: IncomingHttpHeaders, path: string, now: number): boolean {
  const text = String(headers.servicebusauthorization).replace(/^SharedAccessSignature /, "");
  const fields = new URLSearchParams(text);
  const [sr = "", se] = [fields.get("sr") ?? "", fields.get("se")];
  const signed = `${encodeURIComponent(sr)}\n${se}`;
  const wanted = createHmac("sha256", key).update(signed).digest("base64");
  const isMeant = sr === `http://${headers.host}${path}`.toLowerCase();
  return fields.get("sig") === wanted && isMeant && Number(se) * 1000 > now;
}

const worldOf =
  (
    section: keyof AzureSections,
    at: (port: number) => object,
    to: (name: string) => PushDestination,
  ) =>
  async (deps: Parameters<OpenSinkWorld<PushDestination>>[0]) => {
    const ends: (() => unknown)[] = [];
    const held: ServerResponse[] = [];
    let behaviour: Behaviour = "accept";
    const endpoint = await serve({ after: (end) => ends.push(end) }, (response, { socket }) => {
      if (behaviour === "hold") held.push(response);
      else if (behaviour === "breakOff") socket.destroy();
      else response.writeHead(behaviour === "accept" ? 202 : 503).end();
    });
    const sections = { [section]: { here: at(endpoint.port), nobody: at(await freePort()) } };
    return {
      sink: openSink(deps, sections),
      destination: to("here"),
      nowhere: to("nobody"),
      received: () =>
        endpoint.arrived.map(({ body }) =>
          (JSON.parse(body) as unknown[]).map((event) => JSON.stringify(event)),
        ),
      behave: (how: Behaviour) => {
        behaviour = how;
      },
      reached: endpoint.reached,
      release: () => {
        for (const response of held.splice(0)) response.writeHead(200).end();
      },
      closeEndpoint: async () => {
        for (const end of ends) await end();
      },
    };
  };

sinkContract("a hybrid connection", worldOf("relayNamespaces", relayAt, relay));

const appAt = (port: number) => ({ url: `http://127.0.0.1:${port}`, key: "hush" });
sinkContract("a function", worldOf("functionApps", appAt, functionOf));

test("a relay gets a webhook's request, with a token that is good for an hour (C-1)", async (t) => {
  const endpoint = await serve(t, (response) => response.writeHead(200).end());
  const { send, clock } = openSender(t, { relayNamespaces: { relay: relayAt(endpoint.port) } });
  const parcel = parcelWith('{"id":"a","data":{"k":"v"}}', {
    headers: [
      { kind: "static", name: "Authorization", value: "for whoever listens", isSecret: true },
      { kind: "dynamic", name: "x-key", sourceField: "data.k" },
    ],
  });
  assert.equal(answeredOf(await send(relay("relay"), { parcel })).status, 200);
  const [arrived] = endpoint.arrived;
  assert.ok(arrived);
  assert.deepEqual([arrived.method, arrived.path], ["POST", "/orders"]);
  assert.equal(arrived.body, '[{"id":"a","data":{"k":"v"}}]');
  const { headers } = arrived;
  assert.ok(isToken(headers, "/orders", clock.now() + 3_599_000));
  assert.ok(!isToken(headers, "/orders", clock.now() + 3_600_000));
  assert.ok(!isToken(headers, "/others", clock.now()));
  assert.equal(headers.authorization, "for whoever listens");
  assert.equal(headers["x-key"], "v");
  assert.equal(headers["aeg-event-type"], "Notification");
});

test("what the relay or its listener answers is the answer, and nobody there is a 404", async (t) => {
  let status = 0;
  const endpoint = await serve(t, (response) => response.writeHead(status).end());
  const { send } = openSender(t, { relayNamespaces: { relay: relayAt(endpoint.port) } });
  for (status of [404, 401, 413, 503, 204]) {
    assert.equal(answeredOf(await send(relay("relay"))).status, status);
  }
  const { why, detail } = noReplyOf(await send(relay("other")));
  assert.equal(why, "dns");
  assert.match(detail ?? "", /hybridConnections\/orders is not in relayNamespaces\.$/);
});

test("a function is posted to where its host listens, with the system key", async (t) => {
  const endpoint = await serve(t, (response) => response.writeHead(202).end());
  const url = `http://127.0.0.1:${endpoint.port}`;
  const { send } = openSender(t, {
    functionApps: { open: { url }, guarded: { url, key: "a+b=" } },
  });
  assert.equal(answeredOf(await send(functionOf("open"))).status, 202);
  assert.equal(answeredOf(await send(functionOf("guarded", "on order"))).status, 202);
  assert.deepEqual(
    endpoint.arrived.map(({ path }) => path),
    [
      "/runtime/webhooks/EventGrid?functionName=onOrder",
      "/runtime/webhooks/EventGrid?functionName=on%20order&code=a%2Bb%3D",
    ],
  );
  const { detail } = noReplyOf(await send(functionOf("gone")));
  assert.match(detail ?? "", /functions\/onOrder is not in functionApps\.$/);
});
