import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect, createServer, type TLSSocket } from "node:tls";
import { promisify } from "node:util";
import { Refusal } from "../../core/refusal.ts";
import { MemoryStore } from "../../store/memory.ts";
import type { Identity } from "../http/connections.ts";
import { givenCertificates, keptCertificates, renewDaily } from "./certificate.ts";
import { shareSecret } from "./kept-file.ts";

function openFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** The objection of a client that trusts the authority; null: none. */
async function objection(
  t: TestContext,
  identity: Identity,
  ca: string,
  host: string,
  servername = "localhost",
) {
  const { cert, key } = identity;
  const server = createServer({ cert, key }, (socket) => socket.end());
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  const socket: TLSSocket = connect({ port, host: "127.0.0.1", servername, ca });
  const met = once(socket, "secureConnect").then(
    () => null,
    (error: Error & { code?: string }) => error.code ?? error.message,
  );
  const failure = await met;
  if (failure !== null) return failure;
  const certificate = new X509Certificate(socket.getPeerCertificate().raw);
  socket.destroy();
  const isFor = /[:\d]$/.test(host) ? certificate.checkIP(host) : certificate.checkHost(host);
  return isFor === undefined ? "not for this host" : null;
}

test("the first start makes an authority and a certificate that a client accepts", async (t) => {
  const folder = openFolder(t);
  const certificates = keptCertificates({ folder: join(folder, "not", "there", "yet") });
  const identity = await certificates.identity();
  const ca = readFileSync(certificates.caFile ?? "", "utf8");
  for (const host of ["localhost", "127.0.0.1", "::1"]) {
    assert.equal(await objection(t, identity, ca, host), null, host);
  }
  assert.equal(await objection(t, identity, ca, "example.com"), "not for this host");
  assert.match(new X509Certificate(identity.cert).subjectAltName ?? "", /DNS:\*\.localhost/);
});

test("keys are for the broker's user alone, and no drafts are left lying about", async (t) => {
  const folder = openFolder(t);
  await keptCertificates({ folder }).identity();
  const modes = readdirSync(folder)
    .toSorted()
    .map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]);
  assert.deepEqual(modes, [
    ["ca.key", "600"],
    ["ca.pem", "600"],
    ["server.key", "600"],
    ["server.pem", "600"],
  ]);
});

test("later starts show the same certificate", async (t) => {
  const folder = openFolder(t);
  const first = await keptCertificates({ folder }).identity();
  const { cert, key } = await keptCertificates({ folder }).identity();
  assert.deepEqual([cert, key], [first.cert, first.key]);
});

test("a topic's host name gets a certificate of its own, and other names do not", async (t) => {
  const folder = openFolder(t);
  const asked: string[] = [];
  const isTopic = (name: string) => {
    asked.push(name);
    return name === "orders";
  };
  const guarded = (await keptCertificates({ folder, isTopic }).identity()).forName;
  assert.equal(await guarded?.("nobodys.localhost"), null);
  assert.notEqual(await guarded?.("orders.localhost"), null);
  assert.equal(await guarded?.("orders.example"), null);
  assert.deepEqual(asked, ["nobodys", "orders"]);
  const { forName } = await keptCertificates({ folder }).identity();
  const ca = readFileSync(join(folder, "ca.pem"), "utf8");
  const own = await forName?.("orders.localhost");
  assert.ok(own);
  assert.equal(await objection(t, own, ca, "orders.localhost", "orders.localhost"), null);
  for (const name of ["example.com", "localhost", "a.b.localhost", ".localhost", "*.localhost"]) {
    assert.equal(await forName?.(name), null, name);
  }
  const hosts = ["eventgridmodule", "10.0.0.5"];
  const named = (await keptCertificates({ folder, hosts }).identity()).forName;
  assert.ok(await named?.("orders.eventgridmodule"));
  assert.equal(await named?.("orders.10.0.0.5"), null);
});

test("openssl agrees that the authority vouches for the certificate", async (t) => {
  const folder = openFolder(t);
  await keptCertificates({ folder }).identity();
  const run = promisify(execFile);
  const verify = (...args: string[]) =>
    run("openssl", ["verify", "-x509_strict", "-purpose", "sslserver", ...args], { cwd: folder });
  try {
    await run("openssl", ["version"]);
  } catch {
    return t.skip("there is no openssl here");
  }
  const { stdout } = await verify(
    ...["-CAfile", "ca.pem", "-verify_hostname", "localhost", "server.pem"],
  );
  assert.equal(stdout, "server.pem: OK\n");
  const host = ["-CAfile", "ca.pem", "-verify_ip", "127.0.0.2", "server.pem"];
  await assert.rejects(verify(...host), /IP address mismatch/);
});

test("a certificate near its end is made again, and clients need not trust again", async (t) => {
  const folder = openFolder(t);
  const at = (now: number) => keptCertificates({ folder, now: () => now });
  const dayMs = 86_400_000;
  const start = Date.now();
  const first = await at(start).identity();
  const ca = readFileSync(join(folder, "ca.pem"), "utf8");
  assert.equal((await at(start + 366 * dayMs).identity()).cert, first.cert);
  const second = await at(start + 368 * dayMs).identity();
  assert.notEqual(second.cert, first.cert);
  assert.equal(second.key, first.key);
  const [validTo, firstValidTo] = [second, first].map(({ cert }) =>
    Date.parse(new X509Certificate(cert).validTo),
  );
  assert.ok((validTo ?? 0) > (firstValidTo ?? 0));
  assert.ok(new X509Certificate(second.cert).verify(new X509Certificate(ca).publicKey));
  assert.equal(readFileSync(join(folder, "ca.pem"), "utf8"), ca);
});

test("an authority near its end is made again from the same key, and old copies still do", async (t) => {
  const folder = openFolder(t);
  await keptCertificates({ folder }).identity();
  const old = readFileSync(join(folder, "ca.pem"), "utf8");
  const later = Date.now() + 9 * 365 * 86_400_000;
  await keptCertificates({ folder, now: () => later }).identity();
  assert.notEqual(readFileSync(join(folder, "ca.pem"), "utf8"), old);
  // Back today, a certificate made for later is not valid yet.
  const today = await keptCertificates({ folder }).identity();
  assert.equal(await objection(t, today, old, "localhost"), null);
});

test("what was lost or spoilt is made again, and still fits what clients trust", async (t) => {
  const folder = openFolder(t);
  await keptCertificates({ folder }).identity();
  const trusted = readFileSync(join(folder, "ca.pem"), "utf8");
  const spoil: ((name: string) => void)[] = [
    (name) => rmSync(join(folder, name)),
    (name) => writeFileSync(join(folder, name), ""),
    (name) => writeFileSync(join(folder, name), "not a certificate"),
    (name) => writeFileSync(join(folder, name), readFileSync(new URL(cert, import.meta.url))),
  ];
  const cert = "../../../test/fixtures/tls/cert.pem";
  for (const name of ["ca.pem", "server.pem"]) {
    for (const change of spoil) {
      change(name);
      const identity = await keptCertificates({ folder }).identity();
      assert.equal(await objection(t, identity, trusted, "localhost"), null, name);
    }
  }
});

test("a key that is spoilt is not replaced behind anybody's back", async (t) => {
  const folder = openFolder(t);
  writeFileSync(join(folder, "ca.key"), "spoilt");
  await assert.rejects(keptCertificates({ folder }).identity(), (error) => {
    assert.ok(error instanceof Refusal);
    assert.match(
      error.message,
      /^data must have a private key in .*ca\.key, and the file is not one/,
    );
    return true;
  });
  assert.equal(readFileSync(join(folder, "ca.key"), "utf8"), "spoilt");
});

test("two brokers that start at once in one folder end up with one authority", async (t) => {
  const folder = openFolder(t);
  const identities = await Promise.all(
    [1, 2, 3].map(() => keptCertificates({ folder }).identity()),
  );
  const ca = readFileSync(join(folder, "ca.pem"), "utf8");
  for (const identity of identities) {
    assert.equal(await objection(t, identity, ca, "localhost"), null);
  }
  assert.deepEqual(readdirSync(folder).length, 4);
});

test("the host listened on is in the certificate, also when it is a new one", async (t) => {
  const folder = openFolder(t);
  await keptCertificates({ folder }).identity();
  for (const host of ["192.0.2.7", "2001:db8::7", "broker.example", "event_grid.example"]) {
    const hosts = [host];
    const { cert } = await keptCertificates({ folder, hosts }).identity();
    const certificate = new X509Certificate(cert);
    const isIn = host.includes("example") ? certificate.checkHost(host) : certificate.checkIP(host);
    assert.equal(isIn, host);
    assert.equal((await keptCertificates({ folder, hosts }).identity()).cert, cert);
  }
});

test("given files are read as they are, and refused by name when they do not fit", async (t) => {
  const folder = openFolder(t);
  const { cert, key } = await keptCertificates({ folder }).identity();
  const [certFile, keyFile] = [join(folder, "server.pem"), join(folder, "server.key")];
  assert.deepEqual(
    [await givenCertificates({ certFile, keyFile }).identity()].map((each) => [
      each.cert.trim(),
      each.key.trim(),
    ]),
    [[cert.trim(), key.trim()]],
  );
  const refused = async (files: { certFile: string; keyFile: string }, words: RegExp) =>
    assert.rejects(givenCertificates(files).identity(), (error) => {
      assert.ok(error instanceof Refusal);
      assert.equal(error.code, "InvalidSetting");
      assert.match(error.message, words);
      return true;
    });
  const gone = join(folder, "gone.pem");
  await refused({ certFile: gone, keyFile }, /^tls-cert must be .* cannot be read \(ENOENT\)$/);
  await refused({ certFile, keyFile: gone }, /^tls-key must be a PEM file, and .*gone\.pem cannot/);
  const other = join(folder, "ca.key");
  await refused({ certFile, keyFile: other }, /^tls-cert and tls-key must be PEM files of a cer/);
  await refused({ certFile: keyFile, keyFile: certFile }, /^tls-cert and tls-key must be PEM/);
});

test("a running broker looks again, shows what is new, and survives what is wrong", async (t) => {
  const told: unknown[] = [];
  const heard = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const answers = [new Error("no disk"), { cert: "new", key: "new" }];
  const certificates = {
    caFile: null,
    async identity() {
      const answer = answers[told.length] ?? answers[1];
      if (answer instanceof Error) throw answer;
      return answer as Identity;
    },
  };
  const tell = (what: unknown) => heard[told.push(what) - 1]?.resolve();
  const stop = renewDaily(certificates, { renewed: tell, failed: tell }, 1);
  t.after(stop);
  await Promise.all(heard.map(({ promise }) => promise));
  assert.deepEqual(told.slice(0, 2), answers);
});

test("brokers of a cluster have one authority, and one admin key in their files", async (t) => {
  const folders = [openFolder(t), openFolder(t)];
  const shared = new MemoryStore();
  const identities = await Promise.all(
    folders.map((folder) => keptCertificates({ folder, shared }).identity()),
  );
  const [authority] = folders.map(
    (folder) => new X509Certificate(readFileSync(join(folder, "ca.pem"))),
  );
  assert.ok(authority);
  for (const { cert } of identities) {
    assert.ok(new X509Certificate(cert).verify(authority.publicKey));
  }
  let made = 0;
  const keys = await Promise.all(
    folders.map((folder) => shareSecret(shared, join(folder, "admin.key"), () => `key ${++made}`)),
  );
  assert.equal(keys[0], keys[1]);
  assert.equal(readFileSync(join(folders[1] ?? "", "admin.key"), "utf8").trim(), keys[0]);
});
