// Over real sockets: the listeners together, and ports that come and go with topics.

import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request as plainly } from "node:http";
import { type RequestOptions, request as securely } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { Refusal } from "../../core/refusal.ts";
import type { Route } from "../../core/request.ts";
import { type Certificates, givenCertificates, keptCertificates } from "../access/certificate.ts";
import { type ListenersOptions, openListeners } from "./listeners.ts";

interface Fact {
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const free = { host: "127.0.0.1", port: 0 };

function says(body: string): Route {
  return { method: "GET", path: "/who", handle: () => ({ status: 200, body }) };
}

function openFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function open(t: TestContext, options: Partial<ListenersOptions> = {}) {
  const folder = openFolder(t);
  const facts: Fact[] = [];
  const waiting = new Set<() => void>();
  const listeners = await openListeners({
    http: free,
    https: free,
    certificates: keptCertificates({ folder }),
    routes: [says("the broker")],
    routesOf: (topic) => [says(topic)],
    log: {
      fact(_, name, fields) {
        facts.push({ name, fields });
        for (const look of waiting) look();
      },
    },
    ids: { next: () => "request" },
    bodyBytesMax: 1000,
    bodiesBytesMax: 1_000_000,
    ...options,
  });
  t.after(() => listeners.close());
  /** The next fact of this name, removed. */
  const told = (name: string): Promise<Fact["fields"]> =>
    new Promise((resolve) => {
      const look = () => {
        const place = facts.findIndex((fact) => fact.name === name);
        if (place < 0) return;
        waiting.delete(look);
        resolve(facts.splice(place, 1)[0]?.fields ?? {});
      };
      waiting.add(look);
      look();
    });
  return { ...listeners, folder, facts, told };
}

function ask(url: string, ca?: string, more: RequestOptions = {}): Promise<string> {
  const send = url.startsWith("https") ? securely : plainly;
  return new Promise((resolve, reject) => {
    const options = { agent: false, ...(ca === undefined ? {} : { ca }), ...more };
    send(`${url}/who`, options, (heard) => {
      text(heard).then(resolve, reject);
    })
      .on("error", reject)
      .end();
  });
}

test("plain HTTP and TLS serve the same routes, with a certificate made for the purpose", async (t) => {
  const { http, https, folder, close } = await open(t);
  assert.match(http ?? "", /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.match(https ?? "", /^https:\/\/127\.0\.0\.1:\d+$/);
  const ca = readFileSync(join(folder, "ca.pem"), "utf8");
  assert.equal(await ask(http ?? ""), "the broker");
  assert.equal(await ask(https ?? "", ca), "the broker");
  await assert.rejects(ask(https ?? ""), /certificate/);
  await close();
  await close();
  await assert.rejects(ask(http ?? ""), /ECONNREFUSED/);
  await assert.rejects(ask(https ?? "", ca), /ECONNREFUSED/);
});

test("either may be off, and without TLS no certificate is made", async (t) => {
  const never: Certificates = { caFile: null, identity: () => assert.fail("nobody asked for it") };
  const plain = await open(t, { https: null, certificates: never });
  assert.equal(plain.https, null);
  assert.equal(await ask(plain.http ?? ""), "the broker");
  const secure = await open(t, { http: null });
  assert.equal(secure.http, null);
  const ca = readFileSync(join(secure.folder, "ca.pem"), "utf8");
  assert.equal(await ask(secure.https ?? "", ca), "the broker");
});

test("a certificate that is none, or a port that is taken, leaves nothing open", async (t) => {
  const file = join(openFolder(t), "nothing.pem");
  const certificates = givenCertificates({ certFile: file, keyFile: file });
  await assert.rejects(open(t, { certificates }), Refusal);
  const squatter = createServer().listen(0, "127.0.0.1");
  t.after(() => squatter.close());
  await once(squatter, "listening");
  const taken = { host: "127.0.0.1", port: (squatter.address() as AddressInfo).port };
  await assert.rejects(open(t, { https: taken }), /EADDRINUSE/);
});

test("a topic with a port of its own is found there, in plain HTTP and over TLS", async (t) => {
  const { offer, told, folder } = await open(t);
  await offer([
    { topic: "orders", port: 0 },
    { topic: "returns", port: 0 },
  ]);
  const ca = readFileSync(join(folder, "ca.pem"), "utf8");
  for (const topic of ["orders", "returns"]) {
    const { topic: opened, port } = await told("topic.portOpened");
    assert.equal(opened, topic);
    assert.equal(await ask(`http://127.0.0.1:${port}`), topic);
    assert.equal(await ask(`https://127.0.0.1:${port}`, ca), topic);
  }
});

test("a port speaks what the broker speaks", async (t) => {
  const plain = await open(t, { https: null });
  await plain.offer([{ topic: "orders", port: 0 }]);
  const { port } = await plain.told("topic.portOpened");
  assert.equal(await ask(`http://127.0.0.1:${port}`), "orders");
  await assert.rejects(ask(`https://127.0.0.1:${port}`));
  const secure = await open(t, { http: null });
  await secure.offer([{ topic: "orders", port: 0 }]);
  const ca = readFileSync(join(secure.folder, "ca.pem"), "utf8");
  const { port: other } = await secure.told("topic.portOpened");
  assert.equal(await ask(`https://127.0.0.1:${other}`, ca), "orders");
  await assert.rejects(ask(`http://127.0.0.1:${other}`));
});

test("a port is closed when its topic no longer wants it, and others stay", async (t) => {
  const { offer, told } = await open(t);
  const [orders, returns] = [
    { topic: "orders", port: 0 },
    { topic: "returns", port: 0 },
  ];
  await offer([orders, returns]);
  const { port: first } = await told("topic.portOpened");
  const { port: second } = await told("topic.portOpened");
  await offer([returns]);
  // What is logged next happens after closing.
  await offer([returns, { topic: "refunds", port: 0 }]);
  await told("topic.portOpened");
  await assert.rejects(ask(`http://127.0.0.1:${first}`), /ECONNREFUSED/);
  assert.equal(await ask(`http://127.0.0.1:${second}`), "returns");
});

test("a port can go from one topic to another", async (t) => {
  const { offer, told } = await open(t);
  await offer([{ topic: "orders", port: 0 }]);
  const port = (await told("topic.portOpened")).port as number;
  await offer([{ topic: "orders", port }]);
  await told("topic.portOpened");
  await offer([{ topic: "returns", port }]);
  await told("topic.portOpened");
  assert.equal(await ask(`http://127.0.0.1:${port}`), "returns");
});

test("a port that is taken is told of, and had with the next change once it is free", async (t) => {
  const squatter = createServer().listen(0, "127.0.0.1");
  await once(squatter, "listening");
  const { port } = squatter.address() as AddressInfo;
  const { http, offer, told } = await open(t);
  await offer([{ topic: "orders", port }]);
  const failed = await told("topic.portFailed");
  assert.deepEqual([failed.topic, failed.port], ["orders", port]);
  assert.match(String(failed.error), /EADDRINUSE/);
  assert.equal(await ask(http ?? ""), "the broker");
  await new Promise((go) => squatter.close(go));
  await offer([{ topic: "orders", port }]);
  await told("topic.portOpened");
  assert.equal(await ask(`http://127.0.0.1:${port}`), "orders");
});

test("two topics cannot have one port: the second is told of", async (t) => {
  const { offer, told } = await open(t);
  await offer([{ topic: "orders", port: 0 }]);
  const port = (await told("topic.portOpened")).port as number;
  await offer([
    { topic: "returns", port },
    { topic: "refunds", port },
  ]);
  assert.equal((await told("topic.portOpened")).topic, "returns");
  assert.equal((await told("topic.portFailed")).topic, "refunds");
});

test("closing closes the topics' ports, and none is opened afterwards", async (t) => {
  const { offer, told, close } = await open(t);
  await offer([{ topic: "orders", port: 0 }]);
  const { port } = await told("topic.portOpened");
  await close();
  await offer([{ topic: "orders", port: 0 }]);
  await assert.rejects(ask(`http://127.0.0.1:${port}`), /ECONNREFUSED/);
});

test("a client that asks for a topic by its host name trusts what it is shown", async (t) => {
  const { https, folder } = await open(t);
  const ca = readFileSync(join(folder, "ca.pem"), "utf8");
  const names = ["orders.localhost", "Returns.localhost", "orders.localhost"];
  for (const servername of names)
    assert.equal(await ask(https ?? "", ca, { servername }), "the broker");
  await assert.rejects(ask(https ?? "", ca, { servername: "orders.example" }), /altnames/);
});

test("the certificate is for the host that is listened on, where that is one", async (t) => {
  const folder = openFolder(t);
  const hosts = ["127.0.0.9"];
  const certificates = keptCertificates({ folder, hosts });
  const { https } = await open(t, { https: { host: "127.0.0.9", port: 0 }, certificates });
  const ca = readFileSync(join(folder, "ca.pem"), "utf8");
  assert.equal(await ask(https ?? "", ca), "the broker");
  const { cert } = await certificates.identity();
  assert.equal(new X509Certificate(cert).checkIP("127.0.0.9"), "127.0.0.9");
});
