// The egress policy from outside: what a broker that may not call its own machine does with
// endpoints there, with a handshake, and with a storage account that Azure's own client speaks to.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { openVirtualBroker } from "./fixtures/virtual-broker.ts";
import type { Scope } from "./fixtures/webhook.ts";

/** Counts connections, and bytes that came on them. */
async function openTrap(t: Scope) {
  const trap = { port: 0, connections: 0, bytes: 0 };
  const server = createServer((socket) => {
    trap.connections += 1;
    socket.on("data", (chunk) => {
      trap.bytes += chunk.length;
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    });
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  trap.port = (server.address() as { port: number }).port;
  return trap;
}

test("nothing is sent to a blocked address, by number or by name", async (t) => {
  const trap = await openTrap(t);
  const webhook = (host: string) => ({
    destination: {
      endpointType: "WebHook",
      properties: { endpointUrl: `http://${host}:${trap.port}/hook` },
    },
  });
  const subscriptions = {
    number: webhook("127.0.0.1"),
    name: webhook("localhost"),
    odd: webhook("0x7f.1"),
    mapped: webhook("[::ffff:127.0.0.1]"),
  };
  const broker = await openVirtualBroker(t, subscriptions, ["--egress-block", "loopback"]);
  await broker.publish("a");
  const { value } = (await broker.api("GET", "/events")) as { value: { id: string }[] };
  const story = JSON.stringify(await broker.api("GET", `/events/${value[0]?.id}`));
  assert.equal(trap.connections, 0);
  assert.equal(story.match(/is blocked by the egress policy of this broker/g)?.length, 4, story);
});

test("a handshake with a blocked address fails in words, and shows no answer", async (t) => {
  const trap = await openTrap(t);
  const broker = await openVirtualBroker(t, {}, [
    "--egress-block",
    "loopback",
    "--handshake",
    "on",
  ]);
  const properties = { endpointUrl: `http://localhost:${trap.port}/hook` };
  const destination = { endpointType: "WebHook", properties };
  await broker.arm("PUT", "/inner", { properties: { destination } });
  const words = /blocked by the egress policy/;
  const path = "/topics/orders/subscriptions/inner/handshake";
  for (let view = ""; !words.test(view); ) {
    await broker.advance("PT30S");
    view = JSON.stringify(await broker.api("GET", path));
  }
  assert.equal(trap.connections, 0);
});

test("without a policy the same endpoint is called", async (t) => {
  const trap = await openTrap(t);
  const properties = { endpointUrl: `http://127.0.0.1:${trap.port}/hook` };
  const destination = { endpointType: "WebHook", properties };
  const broker = await openVirtualBroker(t, { open: { destination } });
  await broker.publish("a");
  assert.ok(trap.bytes > 0);
});

test("a network that cannot be one is refused at start", async (t) => {
  await assert.rejects(openVirtualBroker(t, {}, ["--egress-block", "10.0.0.0/99"]), /egress-block/);
});
