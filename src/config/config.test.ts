import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../core/refusal.ts";
import { oneOf } from "../core/text/setting-kinds.ts";
import {
  type ConfigInput,
  type Found,
  listConfig,
  parseConfig,
  parseValue,
  showValue,
} from "./config.ts";
import type { Setting } from "./setting.ts";
import { settingList } from "./settings.ts";

interface TestInput {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Path to text, or to a value that is written as JSON. */
  readonly files?: Readonly<Record<string, unknown>>;
  readonly defaults?: Readonly<Record<string, string>>;
}

function inputOf({ args = [], env = {}, files = {}, defaults = {} }: TestInput): ConfigInput {
  const readFile = (path: string) => {
    const content = files[path];
    if (content === undefined) throw Object.assign(new Error("not there"), { code: "ENOENT" });
    return typeof content === "string" ? content : JSON.stringify(content);
  };
  return { args, env, readFile, defaults };
}

function parse(input: TestInput) {
  return parseConfig(inputOf(input));
}

function refused(input: TestInput): string {
  try {
    parse(input);
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    assert.equal(error.code, "InvalidSetting");
    assert.ok(!error.message.includes("\n"), "one line");
    return error.message;
  }
  assert.fail("it was accepted");
}

test("without any setting the defaults are in force, and cannot be changed", () => {
  const whole = parse({});
  const { rows, ...config } = whole;
  assert.ok(rows.length > 0 && rows.every(({ from }) => from === "default"));
  assert.deepEqual(config, {
    http: { host: "127.0.0.1", port: 5888 },
    https: { host: "127.0.0.1", port: 4438 },
    tlsCertFile: null,
    tlsKeyFile: null,
    dataFolder: "./posthorn-data",
    store: "sqlite",
    storePassword: null,
    storePasswordFile: null,
    storeConnections: 6,
    storeNotify: true,
    storeLeaseMs: 6_000,
    storeUnsafe: false,
    profile: "azure",
    clock: "real",
    clockStartAt: null,
    clockPatienceMs: 2_000,
    seed: null,
    auth: true,
    adminKey: null,
    entraIssuer: null,
    entraAudiences: ["https://eventgrid.azure.net"],
    entraJwks: null,
    configFile: null,
    logLevel: "info",
    logFormat: "auto",
    metricsNames: "local",
    egressBlocked: ["auto"],
    egressAllowed: null,
    sendsMax: 1_000,
    endpointSendsMax: 64,
    healthFailuresMax: 10,
    healthFirstWaitMs: 30_000,
    healthWaitGrowth: 2,
    healthWaitMaxMs: 7_200_000,
    healthRecoverAtOnce: 16,
    failureLog: "off",
    story: true,
    storyTexts: "all",
    storyKeptMs: 604_800_000,
    storyBytesMax: 1_073_741_824,
    handshake: true,
    handshakePersistMs: 120_000,
    handshakeRefusedPersistMs: 15_000,
    handshakeWindowMs: 600_000,
    defaultMaxEventsPerBatch: null,
    defaultPreferredBatchKilobytes: null,
    deadLetterPauseMs: 300_000,
    deadLetterLimitMs: 14_400_000,
    bodiesBytesMax: 128 * 1024 * 1024,
    publishQueueBytesMax: 64 * 1024 * 1024,
    publishWaitMaxMs: 2_000,
    stopGraceMs: 8_000,
    tlsCaFiles: null,
    tlsNames: null,
    defaultMaxDeliveryAttempts: null,
    defaultEventTimeToLiveMs: null,
    moduleBatchEvents: null,
    moduleBatchBytes: null,
    moduleBatchEventsMax: 50,
    moduleBatchKilobytesMax: 1_033,
    moduleBatchBytesMax: null,
    moduleTlsPolicy: null,
    moduleKeysEnabled: false,
    moduleKey1: null,
    moduleKey2: null,
    webhookHttpsOnly: false,
    eventGridHttpsOnly: false,
    webhookTrustsAll: false,
    webhookTrustsAnyAuthority: false,
    logsSuccesses: false,
    idleKeys: [],
    topics: null,
    domains: null,
    namespaces: null,
    storageAccounts: null,
    serviceBusNamespaces: null,
    eventHubNamespaces: null,
    relayNamespaces: null,
    functionApps: null,
  });
  assert.ok(Object.isFrozen(whole));
});

test("an option wins over the environment, the environment over the file, that over defaults", () => {
  const files = { "a.json": { seed: 3 } };
  const env = { POSTHORN_SEED: "2", POSTHORN_CONFIG: "a.json" };
  const defaults = { seed: "4" };
  assert.equal(parse({ args: ["--seed", "1"], env, files, defaults }).seed, 1);
  assert.equal(parse({ args: ["--seed=1"], env, files, defaults }).seed, 1);
  assert.equal(parse({ env, files, defaults }).seed, 2);
  assert.equal(parse({ args: ["--config", "a.json"], files, defaults }).seed, 3);
  assert.equal(parse({ defaults }).seed, 4);
  assert.equal(parse({}).seed, null);
});

const companions: Readonly<Record<string, string[]>> = {
  "clock-start": ["--clock", "virtual"],
  "tls-cert": ["--tls-key", "a.key"],
  "tls-key": ["--tls-cert", "a.pem"],
  "entra-issuer": ["--entra-jwks", "keys.json"],
  "entra-jwks": ["--entra-issuer", "https://issuer.example/"],
};

/** The same for keys that are only in the environment. */
const companionKeys: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  inbound__clientAuth__sasKeys__enabled: { inbound__clientAuth__sasKeys__key1: "a" },
};

test("every setting can be given in every way the table allows, with its own example", () => {
  for (const { name, env, example, isOption, isKey } of settingList) {
    if (name === "config") continue;
    // Some examples make sense only together with another setting.
    const rest = companions[name] ?? [];
    const ways: TestInput[] = [{ args: rest, env: { ...companionKeys[name], [env]: example } }];
    if (isOption) ways.push({ args: [...rest, `--${name}`, example] });
    if (isKey) {
      ways.push({ args: [...rest, "--config", "f"], files: { f: { [name]: example } } });
    }
    const parsed = ways.map((way) => ({ ...parse(way), configFile: null, rows: [] }));
    for (const config of parsed) assert.deepEqual(config, parsed[0], name);
    const untouched = { ...parse({}), rows: [] };
    assert.notDeepEqual(parsed[0], untouched, `${name} changes something`);
  }
});

test("every default and example is allowed by its own setting", () => {
  for (const { name, kind, default: byDefault, example } of settingList) {
    kind.parse(example, name);
    if (byDefault !== null) kind.parse(byDefault, name);
  }
});

test("a bad value is refused in the same words whichever way it came", () => {
  const words = 'log-level must be debug, info, warn or error, and is "loud"';
  assert.equal(refused({ args: ["--log-level", "loud"] }), `${words} (option --log-level)`);
  assert.equal(
    refused({ env: { POSTHORN_LOG_LEVEL: "loud" } }),
    `${words} (environment POSTHORN_LOG_LEVEL)`,
  );
  assert.equal(
    refused({ args: ["--config", "a.json"], files: { "a.json": { "log-level": "loud" } } }),
    `${words} (file a.json)`,
  );
});

test("values out of range or of the wrong form are refused, naming what is allowed", () => {
  const table: [string, string, RegExp][] = [
    ["http", "localhost", /HOST:PORT/],
    ["http", "127.0.0.1:70000", /HOST:PORT/],
    ["http", ":5888", /HOST:PORT/],
    ["http", "http://127.0.0.1:5888", /HOST:PORT/],
    ["seed", "-1", /whole number/],
    ["seed", "1.5", /whole number/],
    ["seed", "1e3", /whole number/],
    ["endpoint-concurrency", "0", /from 1 to 10000, and is "0"/],
    ["publish-queue-bytes", "64MB", /from 1048576/],
    ["stop-grace", "8", /a duration such as 45s/],
    ["stop-grace", "PT2H", /at most PT1H/],
    ["clock-start", "2030-01-01", /with its zone/],
    ["store", "postgres", /sqlite, memory or postgres:/],
    ["profile", "azure-2019", /azure-2020/],
    ["auth", "true", /on or off/],
  ];
  for (const [name, value, allowed] of table) {
    const words = refused({ args: [`--${name}=${value}`] });
    assert.ok(words.startsWith(`${name} must be `), words);
    assert.match(words, allowed);
  }
});

test("the listener may be on any host and port, or off", () => {
  const http = (value: string) => parse({ args: ["--http", value] }).http;
  assert.deepEqual(http("0.0.0.0:0"), { host: "0.0.0.0", port: 0 });
  assert.deepEqual(http("[::1]:5888"), { host: "::1", port: 5888 });
  assert.deepEqual(http("broker.example:80"), { host: "broker.example", port: 80 });
  assert.equal(http("off"), null);
});

test("an unknown option, variable or key is refused, naming the nearest known one", () => {
  assert.equal(
    refused({ args: ["--htp", "off"] }),
    'there is no option "--htp"; did you mean --http?',
  );
  assert.match(refused({ args: ["--htp=secret"] }), /"--htp"; did you mean --http/);
  assert.match(refused({ args: ["serve"] }), /there is no option "serve"/);
  assert.equal(
    refused({ env: { POSTHORN_LOGLEVEL: "debug" } }),
    'there is no environment variable "POSTHORN_LOGLEVEL"; did you mean POSTHORN_LOG_LEVEL?',
  );
  assert.equal(
    refused({ args: ["--config", "a.json"], files: { "a.json": { stopgrace: "PT1S" } } }),
    'there is no key "stopgrace" in file a.json; did you mean stop-grace?',
  );
  assert.match(
    refused({ args: ["--config", "a.json"], files: { "a.json": { config: "b.json" } } }),
    /there is no key/,
  );
});

test("variables of the tests are not taken for settings", () => {
  assert.deepEqual(parse({ env: { POSTHORN_TEST_CHROMIUM: "/usr/bin/chromium" } }), parse({}));
});

test("what Kubernetes says of a service named posthorn is not taken for a setting", () => {
  const env = {
    POSTHORN_SERVICE_HOST: "10.0.0.1",
    POSTHORN_SERVICE_PORT: "5888",
    POSTHORN_SERVICE_PORT_HTTP: "5888",
    POSTHORN_PORT: "tcp://10.0.0.1:5888",
    POSTHORN_PORT_5888_TCP_ADDR: "10.0.0.1",
  };
  assert.deepEqual(parse({ env }), parse({}));
});

test("where commands find their broker is no setting of a broker, and no mistake", () => {
  assert.deepEqual(parse({ env: { POSTHORN_SERVER: "http://127.0.0.1:5888" } }), parse({}));
});

test("an option without its value is refused, and does not swallow the next one", () => {
  const words = refused({ args: ["--data", "--http", "off"] });
  assert.match(words, /^data must be a path, and is missing \(option --data\)/);
  assert.match(refused({ args: ["--seed="] }), /^seed must be .* an empty text/);
});

test("a variable that is set to nothing is not set", () => {
  assert.equal(parse({ env: { POSTHORN_SEED: "" } }).seed, null);
});

test("the last of several equal options counts, and lists grow", () => {
  assert.equal(parse({ args: ["--seed", "1", "--seed", "2"] }).seed, 2);
  const args = ["--tls-ca", "a.pem", "--tls-ca", "b.pem, c.pem"];
  assert.deepEqual(parse({ args }).tlsCaFiles, ["a.pem", "b.pem", "c.pem"]);
  const files = { f: { "tls-ca": ["a.pem", "b.pem"] } };
  assert.deepEqual(parse({ args: ["--config", "f"], files }).tlsCaFiles, ["a.pem", "b.pem"]);
});

test("in the file numbers are taken as they are, and other shapes refused", () => {
  const parsed = (content: unknown) => parse({ args: ["--config", "f"], files: { f: content } });
  assert.equal(parsed({ seed: 7 }).seed, 7);
  for (const content of [{ seed: true }, { seed: null }, { seed: [1] }, { seed: { a: 1 } }]) {
    assert.match(
      refused({ args: ["--config", "f"], files: { f: content } }),
      /^seed must be a whole number .* \(file f\)$/,
    );
  }
});

test("a file that is missing or no JSON is refused by its line, and never quoted", () => {
  const words = (content: unknown) =>
    refused({ args: ["--config", "a.json"], files: { "a.json": content } });
  assert.match(
    words(undefined),
    /^config must be a JSON file, and a\.json cannot be read \(ENOENT/,
  );
  assert.match(words("[]"), /does not hold an object/);
  assert.match(words(""), /is not JSON: see line 1/);
  const broken = [
    ['{\n  "topics": {\n    "orders": { "key1": hush }\n  }\n}', 3],
    ['{\n  "seed": 1,\n  "key": "hush"\n  "http": "off"\n}', 4],
    ['{\n  "key": "hush",\n}\n', 3],
    ['{\n  "key": "hush\n}\n', 2],
    ['{\n  "key": "hush"\n', 3],
  ] as const;
  for (const [text, line] of broken) {
    assert.match(words(text), new RegExp(`is not JSON: see line ${line}$`), text);
    assert.ok(!words(text).includes("hush"));
  }
});

test("authentication can be switched off only where every listener is on loopback", () => {
  for (const [name, other] of [
    ["http", "https"],
    ["https", "http"],
  ] as const) {
    const off = (at: string) => ["--auth", "off", `--${name}`, at, `--${other}`, "127.0.0.1:0"];
    for (const at of ["127.0.0.1:0", "127.8.9.1:80", "localhost:80", "[::1]:80", "off"]) {
      assert.equal(parse({ args: off(at) }).auth, false, at);
    }
    const words = new RegExp(`^auth must be on unless ${name} is on 127`);
    for (const at of ["0.0.0.0:80", "10.0.0.1:80", "[::]:80", "127.evil.example:80"]) {
      assert.match(refused({ args: off(at) }), words, at);
    }
  }
});

test("a broker that listens nowhere is refused", () => {
  assert.equal(parse({ args: ["--http", "off"] }).http, null);
  assert.equal(parse({ args: ["--https", "off"] }).https, null);
  assert.match(
    refused({ args: ["--http", "off", "--https=off"] }),
    /^http must be HOST:PORT where/,
  );
});

test("settings that are of use only together are refused alone", () => {
  for (const [one, other] of [
    ["tls-cert", "tls-key"],
    ["entra-issuer", "entra-jwks"],
  ]) {
    const words = `${one} and ${other} must be given together, and one is missing`;
    assert.equal(refused({ args: [`--${one}`, "https://x"] }), words);
    assert.equal(refused({ args: [`--${other}`, "https://x"] }), words);
  }
});

test("the admin key is never shown, neither in the list nor in a refusal", () => {
  const { rows } = listConfig(inputOf({ args: ["--admin-key", "hush-hush"] }));
  assert.equal(rows.find(({ name }) => name === "admin-key")?.value, "********");
  assert.equal(parse({ env: { POSTHORN_ADMIN_KEY: "hush-hush" } }).adminKey, "hush-hush");
  assert.equal(
    refused({ args: ["--admin-key", "hush hush"] }),
    "admin-key must be 1 to 256 visible ASCII characters without blanks, " +
      "and is a text of 9 characters (option --admin-key)",
  );
});

test("a start for the clock is refused while the clock is real", () => {
  const args = ["--clock-start", "2030-01-01T00:00:00Z"];
  assert.match(refused({ args }), /^clock must be virtual/);
  const { clockStartAt } = parse({ args: [...args, "--clock", "virtual"] });
  assert.equal(clockStartAt, Date.UTC(2030, 0, 1));
});

test("the limits of the IoT Edge module are read from its own variables (E-1)", () => {
  const { defaultMaxDeliveryAttempts, defaultEventTimeToLiveMs } = parse({
    env: {
      broker__defaultMaxDeliveryAttempts: "10",
      broker__defaultEventTimeToLiveInSeconds: "3600",
    },
  });
  assert.equal(defaultMaxDeliveryAttempts, 10);
  assert.equal(defaultEventTimeToLiveMs, 3_600_000);
  assert.match(
    refused({ env: { broker__defaultMaxDeliveryAttempts: "0" } }),
    /^broker__defaultMaxDeliveryAttempts must be a whole number from 1 to 100000/,
  );
});

test("the keys of the IoT Edge module are known in each of their spellings (E-1)", () => {
  for (const name of [
    "broker__defaultMaxDeliveryAttempts",
    "broker:defaultMaxDeliveryAttempts",
    "Broker__DefaultMaxDeliveryAttempts",
    "BROKER:DEFAULTMAXDELIVERYATTEMPTS",
  ]) {
    assert.equal(parse({ env: { [name]: "50" } }).defaultMaxDeliveryAttempts, 50, name);
  }
  const { env: where } = { env: { "broker:defaultMaxDeliveryAttempts": "many" } };
  assert.match(refused({ env: where }), /\(environment broker:defaultMaxDeliveryAttempts\)$/);
  assert.equal(parse({ env: { broker__logDeliverySuccess: "True" } }).logsSuccesses, true);
  assert.match(
    refused({ env: { broker__logDeliverySuccess: "yes" } }),
    /^broker__logDeliverySuccess must be true or false, and is "yes"/,
  );
});

test("the module's TLS policy is the default of the listeners, and no more", () => {
  const listeners = (policy: string, args: readonly string[] = []) => {
    const { http, https } = parse({ args, env: { inbound__serverAuth__tlsPolicy: policy } });
    return [http?.port ?? "off", https?.port ?? "off"];
  };
  assert.deepEqual(listeners("strict"), ["off", 4438]);
  assert.deepEqual(listeners("Strict"), ["off", 4438]);
  assert.deepEqual(listeners("enabled"), [5888, 4438]);
  assert.deepEqual(listeners("disabled"), [5888, "off"]);
  assert.deepEqual(listeners("strict", ["--http", "127.0.0.1:80"]), [80, 4438]);
  const env = { inbound__serverAuth__tlsPolicy: "none" };
  assert.match(refused({ env }), /must be strict, enabled or disabled, and is "none"/);
});

test("the module's keys are asked for where they are to be used, and never shown", () => {
  const enabled = { inbound__clientAuth__sasKeys__enabled: "true" };
  assert.match(refused({ env: enabled }), /sasKeys__key1 must be given where .*enabled is true$/);
  const env = { ...enabled, inbound__clientAuth__sasKeys__key2: "hush" };
  const { moduleKeysEnabled, moduleKey1, moduleKey2 } = parse({ env });
  assert.deepEqual([moduleKeysEnabled, moduleKey1, moduleKey2], [true, null, "hush"]);
  assert.ok(
    !JSON.stringify(listConfig({ args: [], env, readFile: () => "" }).rows).includes("hush"),
  );
});

test("what of the module's keys means nothing here is told by name", () => {
  const env = { "outbound:clientAuth:clientCert:enabled": "true", metrics__reporterType: "" };
  const { idleKeys } = parse({ env });
  assert.deepEqual(
    idleKeys.map(({ name }) => name),
    ["outbound__clientAuth__clientCert__enabled"],
  );
});

test("names for the local certificate are refused beside one that is given", () => {
  const args = ["--tls-cert", "a.pem", "--tls-key", "b.pem", "--tls-names", "x"];
  assert.match(refused({ args }), /tls-names must be left out where tls-cert is given/);
});

test("the module's misspelt group is taken as meant, and an unknown key is named", () => {
  const env = { brokers__defaultMaxDeliveryAttempts: "3", broker__defaultMaxDeliveryAttemps: "4" };
  const { defaultMaxDeliveryAttempts, idleKeys } = parse({ env });
  assert.equal(defaultMaxDeliveryAttempts, 3);
  assert.deepEqual(idleKeys, [
    {
      name: "broker__defaultMaxDeliveryAttemps",
      why: "The module has no such key; did you mean broker__defaultMaxDeliveryAttempts?",
    },
  ]);
});

test("declared topics and domains are handed on as they stand", () => {
  const topics = { orders: { key1: "hush" } };
  const domains = { shop: { key1: "hush" } };
  const config = parse({ args: ["--config", "f"], files: { f: { topics, domains } } });
  assert.deepEqual([config.topics, config.domains], [topics, domains]);
});

test("a secret is masked in the list and described by its shape in a refusal", () => {
  const secret: Setting<string> = {
    ...{ name: "admin-key", env: "POSTHORN_ADMIN_KEY", default: null, about: "", example: "" },
    ...{ isSecret: true, isList: false, isOption: true, isKey: true, kind: oneOf(["right"]) },
  };
  const found: Found = { value: "hush hush", from: "option", where: "option --admin-key" };
  assert.equal(showValue(secret, found), "********");
  assert.equal(showValue(secret, undefined), null);
  assert.throws(() => parseValue(secret, found), {
    message: "admin-key must be right, and is a text of 9 characters (option --admin-key)",
  });
});

test("the list has every setting with its value and where it comes from", () => {
  const { rows, problems } = listConfig(
    inputOf({
      args: ["--seed", "1", "--config", "f"],
      env: { POSTHORN_STORE: "memory" },
      files: { f: { "log-level": "debug", topics: { orders: { key1: "hush" }, returns: {} } } },
    }),
  );
  const row = (name: string) => rows.find((each) => each.name === name);
  assert.equal(rows.length, settingList.length + 1);
  assert.deepEqual(row("seed"), { name: "seed", value: "1", from: "option" });
  assert.deepEqual(row("store"), { name: "store", value: "memory", from: "environment" });
  assert.deepEqual(row("log-level"), { name: "log-level", value: "debug", from: "file" });
  assert.deepEqual(row("http"), { name: "http", value: "127.0.0.1:5888", from: "default" });
  assert.deepEqual(row("tls-ca"), { name: "tls-ca", value: null, from: "default" });
  assert.deepEqual(row("topics"), { name: "topics", value: "orders, returns", from: "file" });
  assert.ok(!JSON.stringify(rows).includes("hush"));
  assert.deepEqual(problems, []);
});

test("the list is shown in full also when a broker would not start, with every reason", () => {
  const { rows, problems } = listConfig(
    inputOf({ args: ["--seed", "x", "--stroe", "memory", "--config", "gone"] }),
  );
  assert.equal(rows.length, settingList.length);
  assert.match(rows.find(({ name }) => name === "seed")?.problem ?? "", /^seed must be/);
  assert.deepEqual(
    problems.map(({ message }) => message.split(" ").slice(0, 3).join(" ")),
    ["there is no", "config must be", "seed must be"],
  );
});
