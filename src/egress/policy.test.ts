import assert from "node:assert/strict";
import type { LookupAddress } from "node:dns";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { Refusal } from "../core/refusal.ts";
import { blockedCode, guard, openEgressPolicy } from "./policy.ts";

const publicOnly = openEgressPolicy({ blocked: ["public-only"], allowed: [] });

test("public-only blocks whatever is not the public network, however it is written", () => {
  const urls = [
    ...["127.0.0.1", "127.9.9.9", "2130706433", "0x7f.1", "0177.0.0.1", "0.0.0.0", "127.1"],
    ...["10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1"],
    ...["169.254.169.254", "168.63.129.16", "100.100.100.200", "224.0.0.1", "255.255.255.255"],
    ...["[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]"],
    ...["[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"],
    ...["[::127.0.0.1]", "[::ffff:0:127.0.0.1]", "[100::1]", "[1fff::1]", "[3fff::1]", "[5f00::1]"],
    ...["[fec0::1]", "[ff02::1]", "192.88.99.1"],
  ];
  for (const host of urls) {
    const { hostname } = new URL(`http://${host}/`);
    const address = hostname.replace(/^\[|\]$/g, "");
    assert.equal(Object(publicOnly.whyBlocked(address)).code, blockedCode, host);
  }
  for (const address of [
    "93.184.216.34",
    "172.32.0.1",
    "11.0.0.1",
    "2606:2800:220:1::1",
    "3ffe::1",
  ]) {
    assert.equal(publicOnly.whyBlocked(address), null, address);
  }
});

test("an address of a link is judged without the link's name", () => {
  assert.notEqual(publicOnly.whyBlocked("fe80::1%eth0"), null);
});

test("what is allowed goes before what is blocked", () => {
  const policy = openEgressPolicy({ blocked: ["public-only"], allowed: ["10.20.0.0/16"] });
  assert.equal(policy.whyBlocked("10.20.1.1"), null);
  assert.notEqual(policy.whyBlocked("10.21.1.1"), null);
});

test("nothing is blocked by default", () => {
  const policy = openEgressPolicy({ blocked: [], allowed: [] });
  assert.equal(policy.whyBlocked("127.0.0.1"), null);
});

test("a network that cannot be one is refused by name", () => {
  for (const network of ["private-ish", "10.0.0.0/33", "::1/129", "10.0.0.0/8/8", ""]) {
    assert.throws(
      () => openEgressPolicy({ blocked: [network], allowed: [] }),
      (error) => error instanceof Refusal && /egress-block must be a network/.test(error.message),
    );
  }
});

function look(policy: typeof publicOnly, isAll: boolean) {
  return new Promise<{ error: unknown; found: string | LookupAddress[] }>((resolve) => {
    policy.lookup("localhost", { all: isAll }, (error, found) => resolve({ error, found }));
  });
}

test("a name is judged by what it leads to", async () => {
  const { error } = await look(publicOnly, true);
  assert.equal((error as { code?: string }).code, blockedCode);
  const open = openEgressPolicy({ blocked: ["private"], allowed: [] });
  assert.ok((await look(open, true)).found.length > 0);
  assert.equal(typeof (await look(open, false)).found, "string");
});

test("a connection of somebody else's code to a blocked address carries nothing", async (t) => {
  let bytes = 0;
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      bytes += chunk.length;
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await assert.rejects(
    guard(publicOnly, () => fetch(url)),
    (error) => Object((error as Error).cause).code === blockedCode,
  );
  assert.equal(bytes, 0);
  assert.equal((await guard(undefined, () => fetch(url))).status, 200);
  assert.ok(bytes > 0);
});
