// Who may do what, over which wire: the real program as an operator meets it.

import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request as plainly, type RequestOptions } from "node:http";
import { request } from "node:https";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { connect } from "node:tls";
import { type Program, startProgram } from "./fixtures/program.ts";

function openFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-wires-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function start(t: TestContext, args: readonly string[]): Promise<Program> {
  const program = await startProgram(args);
  t.after(() => program.end("SIGKILL"));
  return program;
}

function startedOf({ facts }: Program) {
  return facts.find(({ fact }) => fact === "broker.started") ?? {};
}

interface Heard {
  readonly status: number | undefined;
  readonly body: string;
}

function ask(
  url: string,
  { ca, headers = {}, form }: { ca?: string; headers?: Record<string, string>; form?: object },
): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const method = form === undefined ? "GET" : "POST";
    const options = { method, headers, agent: false, ...(ca === undefined ? {} : { ca }) };
    const asked = request(url, options, (heard) => {
      text(heard).then((body) => resolve({ status: heard.statusCode, body }), reject);
    });
    asked.on("error", reject);
    asked.end(form && new URLSearchParams({ ...form }).toString());
  });
}

const https = ["--https", "127.0.0.1:0"];
const subscriptions = "/subscriptions?api-version=2022-12-01";

test("the certificate has the machine's own name, and those that a setting adds", async (t) => {
  const folder = openFolder(t);
  const names = ["--tls-names", "EventGridModule,192.0.2.7", "--tls-names", "2001:db8::7"];
  const config = join(folder, "config.json");
  writeFileSync(config, JSON.stringify({ topics: { orders: { key1: "key" } } }));
  const args = ["--data", folder, "--config", config, ...https, ...names];
  const program = await start(t, args);
  const { https: url, ca } = startedOf(program);
  for (const servername of ["eventgridmodule", hostname(), "orders.eventgridmodule"]) {
    const socket = connect({
      ...{ host: "127.0.0.1", port: Number(new URL(String(url)).port), servername },
      ca: readFileSync(String(ca), "utf8"),
    });
    await once(socket, "secureConnect");
    assert.ok(socket.authorized, servername);
    socket.destroy();
  }
  // No topic is called so, and no certificate is made for it.
  const port = Number(new URL(String(url)).port);
  const stranger = connect({
    ...{ host: "127.0.0.1", port, servername: "nobody.eventgridmodule" },
    ca: readFileSync(String(ca), "utf8"),
  });
  const [{ code }] = (await once(stranger, "error")) as [Error & { code?: string }];
  assert.equal(code, "ERR_TLS_CERT_ALTNAME_INVALID");
  const certificate = new X509Certificate(readFileSync(join(folder, "server.pem")));
  for (const address of ["192.0.2.7", "2001:db8::7"]) assert.ok(certificate.checkIP(address));
});

test("keys and certificates are made at the first start, kept, and found by the next", async (t) => {
  const folder = join(openFolder(t), "data");
  for (const store of ["memory", "sqlite"]) {
    const before = store === "memory" ? null : filesIn(folder);
    const program = await start(t, ["--data", folder, "--store", store, ...https]);
    const { https: url, ca } = startedOf(program);
    assert.equal(ca, join(folder, "ca.pem"));
    const alive = await ask(`${url}/healthz`, { ca: readFileSync(String(ca), "utf8") });
    assert.equal(alive.status, 200);
    assert.equal(statSync(join(folder, "admin.key")).mode & 0o777, 0o600);
    if (before !== null) assert.deepEqual(filesIn(folder), before);
    assert.equal(await program.end("SIGTERM"), 0);
  }
});

function filesIn(folder: string): string[] {
  const names = ["admin.key", "ca.key", "ca.pem", "server.key", "server.pem"];
  return names.map((name) => readFileSync(join(folder, name), "utf8"));
}

test("the control plane is for the admin key and for tokens issued for it", async (t) => {
  const folder = openFolder(t);
  const program = await start(t, ["--data", folder, "--store", "memory", ...https]);
  const { https: url, ca: caFile } = startedOf(program);
  const ca = readFileSync(String(caFile), "utf8");
  const key = readFileSync(join(folder, "admin.key"), "utf8").trim();
  const see = async (authorization?: string) => {
    const headers = authorization === undefined ? {} : { authorization };
    return await ask(`${url}${subscriptions}`, { ca, headers });
  };
  for (const authorization of [undefined, "Bearer x", `Basic ${key}`, `Bearer ${key}x`]) {
    const { status, body } = await see(authorization);
    assert.equal(status, 401);
    assert.equal((JSON.parse(body) as { error: { code: string } }).error.code, "Unauthorized");
  }
  assert.equal((await see(`Bearer ${key}`)).status, 200);
  const discovery = await ask(`${url}/adfs/.well-known/openid-configuration`, { ca });
  const { token_endpoint } = JSON.parse(discovery.body) as { token_endpoint: string };
  const form = { grant_type: "client_credentials", client_id: "app", client_secret: key };
  const { body } = await ask(token_endpoint, { ca, form });
  const { access_token } = JSON.parse(body) as { access_token: string };
  assert.equal((await see(`Bearer ${access_token}`)).status, 200);
  assert.doesNotMatch(JSON.stringify(program.facts), new RegExp(RegExp.escape(key)));
});

test("a given admin key counts and is written nowhere; as an option it is warned of", async (t) => {
  const folder = openFolder(t);
  const args = ["--data", folder, "--store", "memory"];
  const { url, told } = await start(t, [...args, "--admin-key", "of-my-own"]);
  await told("setting.visible");
  const see = (key: string) =>
    fetch(`${url}${subscriptions}`, { headers: { authorization: `Bearer ${key}` } });
  assert.equal((await see("of-my-own")).status, 200);
  assert.equal((await see("another")).status, 401);
  assert.throws(() => statSync(join(folder, "admin.key")), { code: "ENOENT" });
  const other = openFolder(t);
  const quiet = await startProgram(["--data", other, "--store", "memory"], {
    POSTHORN_ADMIN_KEY: "of-my-own",
  });
  await quiet.end("SIGTERM");
  assert.ok(quiet.facts.every(({ fact }) => fact !== "setting.visible"));
});

test("with auth off nobody is asked for anything, and any secret signs in", async (t) => {
  const folder = openFolder(t);
  const config = join(folder, "config.json");
  writeFileSync(config, JSON.stringify({ topics: { t1: {} } }));
  const args = ["--data", folder, "--store", "memory", "--auth", "off", "--config", config];
  const { url } = await start(t, args);
  assert.equal((await fetch(`${url}${subscriptions}`)).status, 200);
  const body = new URLSearchParams({ grant_type: "client_credentials", client_secret: "x" });
  const answer = await fetch(`${url}/adfs/oauth2/token`, { method: "POST", body });
  assert.equal(answer.status, 200);
  // A page of elsewhere, and one that has given this machine a name of its own.
  const topic = "/subscriptions/s/resourceGroups/g/providers/Microsoft.EventGrid/topics/t2";
  for (const headers of [
    { origin: "http://evil.example" },
    { "sec-fetch-site": "cross-site" },
    { host: "evil.example", origin: "http://evil.example" },
  ]) {
    for (const [method, path] of [
      ["PUT", topic],
      ["POST", "/topics/t1/api/events"],
      ["POST", "/api/v1/simulate"],
      ["POST", "/api/v1/links"],
      ["DELETE", "/topics/t1?api-version=2019-01-01-preview"],
    ] as const) {
      assert.equal(await statusOf(url + path, { method, headers }), 403, `${method} ${path}`);
    }
  }
});

/** Unlike `fetch`, says whatever host it is told to. */
function statusOf(url: string, options: RequestOptions): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = plainly(url, { agent: false, ...options }, (heard) => {
      heard.resume();
      resolve(heard.statusCode);
    });
    asked.on("error", reject);
    asked.end();
  });
}

test("a certificate of the operator's own is shown, and no authority is made", async (t) => {
  const folder = openFolder(t);
  const file = (name: string) => join(import.meta.dirname, "fixtures", "tls", `${name}.pem`);
  const given = ["--tls-cert", file("cert"), "--tls-key", file("key")];
  const args = ["--data", folder, "--store", "memory", "--http", "off", ...https, ...given];
  const program = await start(t, args);
  const { http, https: url, ca } = startedOf(program);
  assert.deepEqual([http, ca], [null, null]);
  assert.equal(
    (await ask(`${url}/healthz`, { ca: readFileSync(file("cert"), "utf8") })).status,
    200,
  );
  assert.throws(() => statSync(join(folder, "ca.pem")), { code: "ENOENT" });
});

test("a certificate that cannot be read is one line and code 2", async (t) => {
  const gone = join(openFolder(t), "gone.pem");
  const args = ["--store", "memory", "--admin-key", "k", "--tls-cert", gone, "--tls-key", gone];
  await assert.rejects(
    startProgram([...args, ...https]),
    /ended with 2 .*posthorn: tls-cert must be a PEM file, and .* cannot be read \(ENOENT\)\n$/,
  );
});

test("the clock and the names in metrics are for this machine and for the admin key", async (t) => {
  const folder = openFolder(t);
  const config = join(folder, "config.json");
  writeFileSync(config, JSON.stringify({ topics: { orders: { key1: "key" } } }));
  const usual = ["--data", folder, "--store", "memory", "--config", config, "--clock", "virtual"];
  const elsewhere = { "x-forwarded-for": "203.0.113.7" };
  const admin = { ...elsewhere, authorization: "Bearer of-my-own" };
  const wrong = { ...elsewhere, authorization: "Bearer another" };
  for (const [names, shown] of [
    ["local", [true, false, true]],
    ["all", [true, true, true]],
    ["admin", [false, false, true]],
  ] as const) {
    const args = [...usual, "--admin-key", "of-my-own", "--metrics-names", names];
    const { url, end } = await start(t, args);
    const publish = { method: "POST", headers: { "aeg-sas-key": "key" }, body: "[]" };
    assert.equal((await fetch(`${url}/topics/orders/api/events`, publish)).status, 200);
    const refused = { method: "POST", headers: { "aeg-sas-key": "no" }, body: "[]" };
    assert.equal((await fetch(`${url}/topics/orders/api/events`, refused)).status, 401);
    const move = async (headers: Record<string, string>) => {
      const body = '{"advance":"PT1S"}';
      return (await fetch(`${url}/clock`, { method: "POST", headers, body })).status;
    };
    assert.deepEqual(
      [await move({}), await move(elsewhere), await move(wrong), await move(admin)],
      [200, 401, 401, 200],
    );
    assert.equal(await move({ origin: "http://evil.example" }), 401);
    const seen = [];
    for (const headers of [{}, elsewhere, admin]) {
      const answer = await fetch(`${url}/metrics`, { headers });
      assert.equal(answer.status, 200);
      const page = await answer.text();
      assert.match(page, /^posthorn_publish_refused_total\{code="Unauthorized".*\} 1$/m);
      seen.push(page.includes('topic="orders"'));
    }
    assert.deepEqual(seen, shown, names);
    assert.equal((await fetch(`${url}/metrics`, { headers: wrong })).status, 401);
    await end("SIGTERM");
  }
});
