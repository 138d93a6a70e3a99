// What lies in deploy/, checked as far as it can be without a cluster, a container engine or a
// running systemd: schemas, systemd's own checker, and that every setting, port and path named
// there is one that the broker knows. That the image builds was not seen here.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { parse, parseAllDocuments } from "yaml";
import { parseConfig } from "../src/config/config.ts";
import { parseAzure } from "../src/core/azure/resources.ts";
import { installSystemdAnalyze } from "./fixtures/debian-packages.ts";
import { kubernetesKinds } from "./fixtures/kubernetes.ts";

const run = promisify(execFile);

function read(name: string): string {
  return readFileSync(join(import.meta.dirname, "../deploy", name), "utf8");
}

/** As the broker would read them; refused if any of it is not known. */
function configWith(env: Readonly<Record<string, string>>, args: readonly string[], file = "{}") {
  return parseConfig({ env, args, readFile: () => file });
}

test("the Kubernetes objects are what their schemas ask for", async () => {
  const kinds = await kubernetesKinds();
  const objects = parseAllDocuments(read("kubernetes.yaml")).map((document) => document.toJS());
  assert.equal(objects.length, 4);
  for (const object of objects) {
    const Kind = kinds.get(object.kind);
    assert.ok(Kind, `${object.kind} is not checked`);
    new Kind(object).validate();
  }
  const broken = structuredClone(objects[3]);
  broken.spec.replicas = "one";
  const StatefulSet = kinds.get("StatefulSet");
  assert.ok(StatefulSet);
  assert.throws(() => new StatefulSet(broken).validate());
});

test("what Kubernetes is told of the broker is true of it", () => {
  const [configMap, , service, set] = parseAllDocuments(read("kubernetes.yaml")).map((document) =>
    document.toJS(),
  );
  const { containers, terminationGracePeriodSeconds } = set.spec.template.spec;
  const [{ args, env, ports, livenessProbe, readinessProbe }] = containers;
  const given = Object.fromEntries(
    env.map(({ name, value = "from a secret" }: { name: string; value?: string }) => [
      name,
      value.replaceAll(" ", "-"),
    ]),
  );
  const [command, ...options] = args as string[];
  assert.equal(command, "serve");
  const config = configWith(given, options, configMap.data["posthorn.json"]);
  assert.ok(config.stopGraceMs < terminationGracePeriodSeconds * 1_000);
  assert.deepEqual(
    ports.map((port: { containerPort: number }) => port.containerPort),
    [config.http?.port, config.https?.port],
  );
  assert.deepEqual(
    service.spec.ports.map((port: { targetPort: string }) => port.targetPort),
    ports.map((port: { name: string }) => port.name),
  );
  assert.equal(livenessProbe.httpGet.path, "/healthz");
  assert.equal(readinessProbe.httpGet.path, "/readyz");
});

test("the Kubernetes objects of a cluster are what their schemas ask for, and true", async () => {
  const kinds = await kubernetesKinds();
  const all = parseAllDocuments(read("kubernetes-cluster.yaml")).map((each) => each.toJS());
  for (const object of all) {
    const Kind = kinds.get(object.kind);
    assert.ok(Kind, `${object.kind} is not checked`);
    new Kind(object).validate();
  }
  const of = (kind: string) => all.find((object) => object.kind === kind);
  const { replicas, template } = of("Deployment").spec;
  assert.ok(of("PodDisruptionBudget").spec.maxUnavailable < replicas);
  const { containers, terminationGracePeriodSeconds } = template.spec;
  const [{ args, env, ports, lifecycle }] = containers;
  const given = Object.fromEntries(
    env.map(({ name, value = "secret" }: { name: string; value?: string }) => [name, value]),
  );
  const [, ...options] = args as string[];
  const config = configWith(given, options, of("ConfigMap").data["posthorn.json"]);
  const stopSeconds = terminationGracePeriodSeconds - lifecycle.preStop.sleep.seconds;
  assert.ok(config.stopGraceMs < stopSeconds * 1_000);
  assert.equal(ports[0].containerPort, config.http?.port);
  assert.equal(config.https, null);
  assert.match(config.store, /^postgres:/);
});

test("the compose file of a cluster is true of the broker and of its balancer", () => {
  const { services } = parse(read("compose-cluster.yaml"), { merge: true });
  const brokers = Object.keys(services).filter((name) => name.startsWith("posthorn-"));
  assert.equal(brokers.length, 3);
  const balancer = read("haproxy.cfg");
  for (const name of brokers) {
    const { environment, stop_grace_period } = services[name];
    const secrets = { POSTHORN_STORE_PASSWORD: "secret", POSTHORN_ADMIN_KEY: "key" };
    const config = configWith({ ...environment, ...secrets }, [], read("posthorn.json"));
    assert.ok(config.stopGraceMs < Number.parseInt(stop_grace_period, 10) * 1_000);
    assert.match(balancer, new RegExp(`server ${name} ${name}:${config.http?.port}$`, "m"));
  }
  assert.match(balancer, /option httpchk GET \/readyz/);
  assert.equal(services.balancer.ports[0].split(":").at(-1), /bind :(\d+)/.exec(balancer)?.[1]);
});

test("the unit passes systemd's own checker", async (t) => {
  await installSystemdAnalyze();
  const folder = mkdtempSync(join(tmpdir(), "posthorn-unit-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const check = async (text: string) => {
    const path = join(folder, "posthorn.service");
    writeFileSync(path, text);
    return await run("systemd-analyze", ["verify", "--man=no", path]).then(
      ({ stderr }) => stderr,
      (error) => String(error.stderr),
    );
  };
  // The checker wants the program to be there, and it is not, on most machines that check it.
  const unit = read("posthorn.service").replace("/usr/local/bin/posthorn", "/bin/true");
  const said = (await check(unit)).split("\n").filter((line) => line.includes("posthorn.service"));
  assert.deepEqual(said, []);
  assert.match(await check(unit.replace("Restart=", "Restrat=")), /Unknown key( name)? 'Restrat'/);
});

test("what systemd is told of the broker is true of it", () => {
  const unit = read("posthorn.service");
  const env = Object.fromEntries(
    [...unit.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );
  const [, line = ""] = /^ExecStart=\S+ (.*)$/m.exec(unit) ?? [];
  const [command, ...options] = line.split(" ");
  assert.equal(command, "serve");
  const { stopGraceMs } = configWith(env, options);
  const [, seconds] = /^TimeoutStopSec=(\d+)s$/m.exec(unit) ?? [];
  assert.ok(stopGraceMs < Number(seconds) * 1_000);
  assert.match(unit, /^RestartPreventExitStatus=2$/m);
});

test("what the image is told of the broker is true of it", () => {
  const file = read("Containerfile").replaceAll(/\\\n\s*/g, "");
  const [, settings = ""] = /^ENV (.*)$/m.exec(file) ?? [];
  const env = Object.fromEntries(settings.split(/\s+/).map((pair) => pair.split("=")));
  const { http, https, dataFolder } = configWith(env, []);
  assert.match(file, new RegExp(`^EXPOSE ${http?.port} ${https?.port}$`, "m"));
  assert.match(file, new RegExp(`^VOLUME ${dataFolder}$`, "m"));
  assert.match(file, new RegExp(`http://127.0.0.1:${http?.port}/readyz`));
  assert.match(file, /^ENTRYPOINT \["posthorn"\]\nCMD \["serve"\]$/m);
  assert.match(file, /^USER node$/m);
});

test("what the compose file is told of the broker is true of it", () => {
  const { services, volumes } = parse(read("compose.yaml"));
  const { environment, ports, stop_grace_period } = services.posthorn;
  const env = { ...environment, POSTHORN_ADMIN_KEY: "" };
  const config = configWith(env, [], read("posthorn.json"));
  assert.ok(config.stopGraceMs < Number.parseInt(stop_grace_period, 10) * 1_000);
  assert.deepEqual(
    ports.map((port: string) => Number(port.split(":").at(-1))),
    [config.http?.port, config.https?.port],
  );
  const [account] = parseAzure(config).storageAccounts;
  assert.equal(account?.name, "devstoreaccount1");
  assert.deepEqual(Object.keys(volumes), ["posthorn", "azurite"]);
});
