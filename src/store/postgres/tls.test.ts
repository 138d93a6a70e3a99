// Every `sslmode` against a real server that speaks TLS, with certificates made here.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chownSync, copyFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { makeFolder } from "../../../test/fixtures/dead-letter-broker.ts";
import { type Postgres, startPostgres } from "../../../test/fixtures/postgres.ts";
import { parseTarget } from "../../core/text/connection-string.ts";
import { realClock } from "../../runtime/clock/real.ts";
import { Connection } from "./connection.ts";
import { refusalOf } from "./open.ts";

/** An authority and what it signs, as files in a folder. */
function openAuthority(folder: string, name: string) {
  const at = (file: string) => join(folder, `${name}-${file}`);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: "pipe" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const root = at("root.crt");
  const subject = (common: string) => ["-subj", `/CN=${common}`];
  openssl("req", "-x509", ...key, "-keyout", at("root.key"), "-out", root, ...subject(name));
  return {
    root,
    sign(common: string, names: string) {
      const [certificate, secret, request] = ["crt", "key", "csr"].map((end) =>
        at(`${common}.${end}`),
      ) as [string, string, string];
      openssl("req", ...key, "-keyout", secret, "-out", request, ...subject(common));
      const extension = at("extension");
      writeFileSync(extension, `subjectAltName=${names}\n`);
      const by = ["-CA", root, "-CAkey", at("root.key"), "-CAcreateserial"];
      openssl("x509", "-req", "-in", request, ...by, "-out", certificate, "-extfile", extension);
      return { certificate, secret };
    },
  };
}

/** Only with TLS from now on; the user `client` only with a certificate. */
async function demandTls(
  server: Postgres,
  files: { readonly certificate: string; readonly secret: string; readonly root: string },
): Promise<void> {
  const data = join(server.folder, "data");
  const { uid, gid } = statSync(data);
  for (const [from, name] of [
    [files.certificate, "server.crt"],
    [files.secret, "server.key"],
    [files.root, "root.crt"],
  ] as const) {
    copyFileSync(from, join(data, name));
    chownSync(join(data, name), uid, gid);
  }
  await server.query("create role client login superuser");
  await server.configure({ ssl: "on", ssl_ca_file: "root.crt" });
  writeFileSync(
    join(data, "pg_hba.conf"),
    "hostssl all client 127.0.0.1/32 cert\nhostssl all all 127.0.0.1/32 trust\n",
  );
  await server.query("select pg_reload_conf()");
}

/** Whether the connection is encrypted, or the words it was refused with. */
async function connect(server: Postgres, query: string, user = "posthorn"): Promise<unknown> {
  const url = `postgres://${user}@127.0.0.1:${server.port}/postgres?${query}`;
  const target = parseTarget(url, null);
  assert.ok(typeof target !== "string", String(target));
  try {
    const parts = { target, clock: realClock(), name: "test", onEnd: () => {} };
    const connection = await Connection.open(parts);
    const text = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";
    const [row] = await connection.query({ text });
    await connection.close();
    return row?.[0];
  } catch (error) {
    const refusal = refusalOf(error, target);
    assert.ok(refusal !== null, `only waited for: ${error}`);
    return refusal.message;
  }
}

async function openServer(t: TestContext, names: string) {
  const folder = makeFolder(t);
  const [ours, theirs] = [openAuthority(folder, "ours"), openAuthority(folder, "theirs")];
  const server = await startPostgres(t);
  await demandTls(server, { ...ours.sign("server", names), root: ours.root });
  return { ours, theirs, server };
}

test("a server without TLS is used as it is, unless TLS is asked for", async (t) => {
  const server = await startPostgres(t);
  assert.equal(await connect(server, ""), false);
  assert.equal(await connect(server, "sslmode=prefer"), false);
  assert.equal(await connect(server, "sslmode=disable"), false);
  assert.match(String(await connect(server, "sslmode=require")), /There is no TLS with the data/);
});

test("a server that demands TLS gets it, and its certificate is checked as asked", async (t) => {
  const { ours, theirs, server } = await openServer(t, "DNS:db.example");
  assert.equal(await connect(server, "sslmode=prefer"), true);
  assert.equal(await connect(server, "sslmode=require"), true);
  assert.match(
    String(await connect(server, "sslmode=disable")),
    /refuses the user .*no encrypt|SSL off/,
  );
  assert.equal(await connect(server, `sslmode=verify-ca&sslrootcert=${ours.root}`), true);
  const wrong = await connect(server, `sslmode=verify-ca&sslrootcert=${theirs.root}`);
  assert.match(String(wrong), /There is no TLS with the database/);
  const elsewhere = await connect(server, `sslmode=verify-full&sslrootcert=${ours.root}`);
  assert.match(String(elsewhere), /There is no TLS with the database .*127\.0\.0\.1/);
});

test("verify-full wants the host's name or address in the certificate", async (t) => {
  const { ours, theirs, server } = await openServer(t, "IP:127.0.0.1");
  assert.equal(await connect(server, `sslmode=verify-full&sslrootcert=${ours.root}`), true);
  const wrong = await connect(server, `sslmode=verify-full&sslrootcert=${theirs.root}`);
  assert.match(String(wrong), /There is no TLS with the database/);
});

test("a broker shows a certificate of its own where the server wants one", async (t) => {
  const { ours, theirs, server } = await openServer(t, "DNS:localhost");
  const mode = `sslmode=require`;
  const { certificate, secret } = ours.sign("client", "DNS:client");
  const own = `${mode}&sslcert=${certificate}&sslkey=${secret}`;
  assert.equal(await connect(server, own, "client"), true);
  assert.match(String(await connect(server, mode, "client")), /refuses the user 'client'/);
  const other = theirs.sign("client", "DNS:client");
  const foreign = `${mode}&sslcert=${other.certificate}&sslkey=${other.secret}`;
  assert.match(String(await connect(server, foreign, "client")), /no TLS|refuses the user/);
});
