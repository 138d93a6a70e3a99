// Over real sockets: TLS, plain and TLS on one port, and closing with connections in every state.

import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request as plainly } from "node:http";
import { type RequestOptions, request as securely } from "node:https";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { connect as connectSecurely } from "node:tls";
import type { Request, Route } from "../../core/request.ts";
import { keptCertificates } from "../access/certificate.ts";
import { openNames, remoteOf } from "./connections.ts";
import { type ListenOptions, listen } from "./listener.ts";

const file = (name: string) =>
  readFileSync(new URL(`../../../test/fixtures/tls/${name}.pem`, import.meta.url), "utf8");
const tls = { cert: file("cert"), key: file("key") };

const echo: Route = {
  method: "POST",
  path: "/echo",
  handle: ({ body, ...rest }) => ({
    status: 200,
    body: JSON.stringify({ ...rest, body: Buffer.from(body).toString() }),
  }),
};

async function serve(t: TestContext, options: Partial<ListenOptions> = {}) {
  const facts = new Map<string, Readonly<Record<string, unknown>>>();
  const told = Promise.withResolvers<void>();
  const listener = await listen([echo], {
    host: "127.0.0.1",
    port: 0,
    tls,
    log: {
      fact(_, name, fields) {
        facts.set(name, fields);
        told.resolve();
      },
    },
    ids: { next: () => "request" },
    bodyBytesMax: 1000,
    ...options,
  });
  t.after(() => listener.close());
  return { ...listener, facts, told: told.promise };
}

function ask(url: string, options: RequestOptions = {}, body = "[]"): Promise<Request> {
  const send = url.startsWith("https") ? securely : plainly;
  return new Promise((resolve, reject) => {
    const ours = { method: "POST", ca: tls.cert, agent: false, ...options };
    const asked = send(`${url}/echo`, ours, (heard) => {
      text(heard).then((heard) => resolve(JSON.parse(heard) as Request), reject);
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

test("over TLS the same routes answer, and are told that it was TLS and from where", async (t) => {
  const { url, port } = await serve(t);
  assert.equal(url, `https://127.0.0.1:${port}`);
  const { scheme, remote, body } = await ask(url, {}, "hello");
  assert.deepEqual(
    { scheme, remote, body },
    { scheme: "https", remote: "127.0.0.1", body: "hello" },
  );
});

test("a plain listener says so, and shows no certificate", async (t) => {
  const { url, present } = await serve(t, { tls: undefined });
  present(tls);
  const { scheme, remote } = await ask(url);
  assert.deepEqual({ scheme, remote }, { scheme: "http", remote: "127.0.0.1" });
});

test("an address of IPv4 that came over IPv6 is told as IPv4", () => {
  const told = (remoteAddress?: string) => remoteOf({ remoteAddress } as Socket);
  assert.equal(told("::ffff:192.0.2.1"), "192.0.2.1");
  assert.equal(told("::ffff:c000:201"), "::ffff:c000:201");
  assert.equal(told("2001:db8::1"), "2001:db8::1");
  assert.equal(told("192.0.2.1"), "192.0.2.1");
  assert.equal(told(undefined), "");
});

test("a port that takes both tells TLS from plain HTTP by itself", async (t) => {
  const { port } = await serve(t, { takesPlain: true });
  for (let turn = 0; turn < 3; turn++) {
    const asked = await Promise.all([
      ask(`https://127.0.0.1:${port}`, {}, "secret"),
      ask(`http://127.0.0.1:${port}`, {}, "open"),
    ]);
    assert.deepEqual(
      asked.map(({ scheme, body }) => [scheme, String(body)]),
      [
        ["https", "secret"],
        ["http", "open"],
      ],
    );
  }
});

test("a port that takes both keeps plain connections open for more, byte by byte", async (t) => {
  const { port } = await serve(t, { takesPlain: true });
  const socket = connect(port, "127.0.0.1").setNoDelay();
  const head = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n";
  for (const byte of `${head}\r\none`) {
    socket.write(byte);
    await new Promise(setImmediate);
  }
  const [first] = (await once(socket, "data")) as [Buffer];
  assert.match(first.toString(), /^HTTP\/1\.1 200 .*"body":"one"/s);
  socket.write(`${head}Connection: close\r\n\r\ntwo`);
  assert.match(await text(socket), /"body":"two"/);
});

test("pipelined requests are answered in their order, over TLS and on a port that takes both", async (t) => {
  const { port } = await serve(t, { takesPlain: true });
  const options = { port, host: "127.0.0.1", ca: tls.cert };
  for (const socket of [connect(options), connectSecurely(options)]) {
    const request = (index: number) =>
      `POST /echo?n=${index} HTTP/1.1\r\nHost: h\r\n${index === 49 ? "Connection: close\r\n" : ""}Content-Length: 3\r\n\r\none`;
    socket.write(Array.from({ length: 50 }, (_, index) => request(index)).join(""));
    const answered = (await text(socket)).match(/"n":"\d+"/g);
    assert.deepEqual(
      answered,
      Array.from({ length: 50 }, (_, index) => `"n":"${index}"`),
    );
  }
});

test("a client that says nothing to a port that takes both is let go", async (t) => {
  const { port } = await serve(t, { takesPlain: true, headersTimeoutMs: 20 });
  const socket = connect(port, "127.0.0.1");
  assert.equal(await text(socket), "");
});

test("a port that speaks TLS alone answers plain HTTP with nothing, and tells of it", async (t) => {
  const { port, told, facts } = await serve(t);
  await assert.rejects(ask(`http://127.0.0.1:${port}`));
  await told;
  const { remote, code } = facts.get("connection.failed") ?? {};
  assert.equal(remote, "127.0.0.1");
  assert.equal(code, "ERR_SSL_HTTP_REQUEST");
});

test("closing does not wait for handshakes, nor for TLS connections that were not used", async (t) => {
  for (const takesPlain of [false, true]) {
    // No timeouts here: what closing does not end itself, it waits for.
    const listener = await serve(t, { takesPlain, drainMs: 2 ** 31 - 1 });
    const { port } = listener;
    const silent = connect(port, "127.0.0.1");
    await once(silent, "connect");
    const halfway = connect(port, "127.0.0.1");
    halfway.write(Buffer.of(0x16, 3, 1));
    const unused = connectSecurely({ port, host: "127.0.0.1", ca: tls.cert });
    await once(unused, "secureConnect");
    // By the time this is answered, the server knows of the others.
    await ask(listener.url);
    const ends = [silent, halfway, unused].map((socket) => {
      socket.on("error", () => {});
      // Should the test hang, its clean-up need not.
      t.signal.addEventListener("abort", () => socket.destroy());
      return once(socket.resume(), "close");
    });
    await listener.close();
    await Promise.all(ends);
  }
});

test("a request under way over TLS is answered while the listener closes", async (t) => {
  const listener = await serve(t);
  const asked = securely(`${listener.url}/echo`, { method: "POST", ca: tls.cert, agent: false });
  asked.write("a");
  await once(asked, "socket");
  await ask(listener.url);
  const [socket] = await Promise.all([once(asked, "response"), listener.close(), asked.end("b")]);
  const [heard] = socket as [NodeJS.ReadableStream];
  assert.equal((JSON.parse(await text(heard)) as { body: string }).body, "ab");
});

test("names that are not ours take up no room, and may become ours", async () => {
  const ours = new Set<string>();
  let asked = 0;
  const find = openNames({
    ...tls,
    async forName(name) {
      asked += 1;
      return ours.has(name) ? tls : null;
    },
  });
  // More than are remembered.
  for (let index = 0; index < 1_500; index++) assert.equal(await find(`n${index}`), undefined);
  ours.add("n0");
  assert.notEqual(await find("n0"), undefined);
  assert.notEqual(await find("n0"), undefined);
  assert.equal(asked, 1_501);
});

test("a new certificate is shown from the next connection on", async (t) => {
  const listener = await serve(t);
  const shown = async () => {
    const options = { port: listener.port, host: "127.0.0.1", rejectUnauthorized: false };
    const socket = connectSecurely(options);
    await once(socket, "secureConnect");
    const { fingerprint256 } = socket.getPeerCertificate();
    socket.destroy();
    return fingerprint256;
  };
  assert.equal(await shown(), new X509Certificate(tls.cert).fingerprint256);
  const folder = mkdtempSync(join(tmpdir(), "posthorn-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const other = await keptCertificates({ folder }).identity();
  listener.present(other);
  assert.equal(await shown(), new X509Certificate(other.cert).fingerprint256);
});
