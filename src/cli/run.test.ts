import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededChance } from "../runtime/chance.ts";
import { simulate } from "../whatif/simulate.ts";
import type { Outside } from "./client.ts";
import { commands } from "./commands.ts";
import { runCommand } from "./run.ts";

/** A command line without a broker, files or a terminal. */
async function run(line: string | readonly string[], changes: Partial<Outside> = {}) {
  const [out, err]: [string[], string[]] = [[], []];
  const outside: Outside = {
    env: {},
    readFile(path) {
      throw Object.assign(new Error(`no ${path}`), { code: "ENOENT" });
    },
    readInput: async () => "",
    fetch: () => Promise.reject(new TypeError("nobody is to be asked")),
    now: () => 0,
    sleep: async () => {},
    trust: () => {},
    question: null,
    exists: () => false,
    save: async () => {},
    writePrivate: () => {},
    makeId: () => "made",
    chance: () => 0.5,
    seeded: seededChance,
    simulate,
    openReceiver: () => Promise.reject(new Error("nobody is to listen")),
    settingNames: ["http"],
    print: (text) => out.push(text),
    tell: (text) => err.push(text),
    complain: (text) => err.push(text),
    isTerminal: false,
    isShown: false,
    columns: 80,
    onSignal: () => () => {},
    ...changes,
  };
  const args = typeof line === "string" ? line.split(" ").filter(Boolean) : line;
  const code = await runCommand(args, outside);
  return { code, out: out.join(""), err: err.join("") };
}

test("bad input is one line that says what would be right, and code 2; nobody is asked", async () => {
  const create = "topic event-subscription create --topic-name t -n s --endpoint http://a";
  const table: [string, RegExp][] = [
    ["topc list", /there is no command "topc"; did you mean topic\?/],
    ["topic lst", /there is no command "topic lst"; did you mean topic list\?/],
    ["eventgrid topic shw", /there is no command "topic shw"; did you mean topic show\?/],
    ["domain topic frobnicate", /known are create, list, show, delete, event-subscription/],
    ["--frobnicate", /a command must come before its options: posthorn COMMAND --frobnicate/],
    ["topic --name t", /a command must come before its options: posthorn topic COMMAND --name/],
    ["-x topic list", /there is no option "-x"; known are -g, -o, -w, -v, -h/],
    ["system-topic list", /az eventgrid system-topic has no counterpart here: .*posthorn trigger/],
    ["topic-type list-event-types -n x", /topic-type list-event-types has no counterpart/],
    ["frobnicate", /known are serve, .*topic, domain/],
    ["topic create", /--name must be given: --name NAME/],
    ["topic show", /--name must be given: --name NAME, or --ids ID/],
    ["topic show --ids orders", /--ids must be an id such as \/subscriptions\/…\/providers/],
    ["event-subscription list --source-resource-id a/b", /--source-resource-id must be an id such/],
    ["topic create -n t extra", /"extra" has no place here: only options follow here/],
    ["topic create --nmae t", /there is no option "--nmae"; did you mean --name\?/],
    ["topic create -n t --input-schema xml", /--input-schema must be eventgridschema, customevent/],
    ["topic create -n t --input-schema customeventschema", /--input-mapping-fields or -default-va/],
    ["topic create -n t --input-mapping-fields a=b", /must be left out without --input-schema/],
    [
      "topic create -n t --input-schema customeventschema --input-mapping-fields colour=b",
      /--input-mapping-fields must be id, topic, eventtime, subject, eventtype or dataversion/,
    ],
    ["topic create -n t --inbound-ip-rules 10.0.0.0/8 Deny", /must be a mask and Allow, such as/],
    ["topic create -n t --port 99999", /--port must be a whole number from 1 to 65535/],
    ["topic create -n t --profile azur", /--profile must be preview-2017, ga-2018, azure-2020/],
    ["topic create -n t --extended-location-name x", /must be left out without --kind azurearc/],
    ["topic key regenerate -n t", /--key-name must be given: --key-name KEY/],
    ["topic key regenerate -n t --key-name key3", /--key-name must be key1 or key2, and is "key3"/],
    ["topic list --query [", /--query must be JMESPath such as \[\]\.name, and is "\["/],
    [
      "topic list -o xml",
      /--output must be table, wide, json, jsonc, tsv, yaml or none, and is "xml"/,
    ],
    ["topic list --server ftp://x", /server must be a URL such as http/],
    [
      "event-subscription create -n s --endpoint http://a",
      /what it listens to must be given: --to/,
    ],
    [
      `${create} --advanced-filter data.a`,
      /--advanced-filter must be followed by KEY OPERATOR VAL/,
    ],
    [
      `${create} --advanced-filter data.a NumberIs 1`,
      /there is no operator "NumberIs"; did you mean/,
    ],
    [`${create} --delivery-attribute-mapping a`, /must be followed by NAME static VALUE/],
    [
      `${create} --max-delivery-attempts many`,
      /--max-delivery-attempts must be a whole number from/,
    ],
    [`${create} --event-ttl 1.5`, /--event-ttl must be a whole number from/],
    [`${create} --deadletter-endpoint x`, /must be …\/storageAccounts\/ACCOUNT\/blobServices/],
    [`${create} --expiration-date someday`, /--expiration-date must be a date or an instant/],
    ["topic event-subscription drain --topic-name t -n s", /--rate must be given: --rate NUMBER/],
    [
      "topic event-subscription drain --topic-name t -n s --rate fast",
      /--rate must be a number above 0, such as 10 or 0\.5, and is "fast"/,
    ],
    ["publish", /--topic-name must be given/],
    ["publish -t t --count none", /--count must be a whole number from 1/],
    ["publish -t t --count 2 a.json", /--count must be left out with files/],
    ["publish -t t --count 2 --id a", /--id must be left out with --count/],
    ["publish -t t --rate 5", /--rate must be left out without --count/],
    ["publish -t t --count 2 --size 5 --body 7", /--body must be a JSON object with --size/],
    ["tail --only everything", /--only must be published, attempt, ended/],
    ["tail --for ever", /--for must be a duration such as 45s, 10m, 2h30m or PT45S, and is "ever"/],
    ["explain", /EVENT must be given: its id/],
    ["explain a b", /"b" has no place here: one EVENT is enough/],
    ["deadletter show", /ID must be given: its id in the list/],
    ["deadletter redrive", /which dead letters must be given: ids, filters such as --name/],
    ["deadletter redrive a --name b", /either ids or filters must be given, not both/],
    ["deadletter redrive a --rate 0", /--rate must be a number above 0/],
    ["deadletter redrive a --to-name s", /--to-topic-name and --to-name must be given together/],
    ["endpoint close", /ENDPOINT must be given: its name in the list/],
    ["simulate --outage 2h", /--outage must be FROM\.\.UNTIL such as 0s\.\.2h/],
    ["simulate --outage 0s..soon", /--outage must be a duration such as 45s/],
    ["simulate --outage 0s..2h:sleepy", /--outage must be a status from 200 to 599, or timeout/],
    [
      "simulate --outage 0s.. --then 503:5m",
      /--then must be left out after an --outage without an/,
    ],
    ["simulate --outage 0s..1h --then 503", /--then must be DOES:LENGTH such as 503:10m/],
    [
      "simulate --profile ga-2018 --event-ttl 5",
      /--event-ttl must be left out: the profile ga-2018/,
    ],
    [
      "simulate --outage 0s.. --backlog 5",
      /--backlog must be left out: the endpoint of this outage/,
    ],
    ["simulate --backlog 1000000", /--backlog must be a whole number from 0 to 100000/],
    ["listen --port 70000", /--port must be a whole number from 0 to 65535/],
    ["listen --status 99", /--status must be STATUS, ok, drop or hang/],
    ["listen --fail 3 --status 500*2", /--status must be a status alone with --fail COUNT/],
    ["listen --status 503 --then ok", /a step that another follows must say how long it lasts/],
    ["listen --drop lots", /--drop must be a share such as 10% or 0\.1/],
    ["listen --delay 5", /--delay must be a duration such as 45s/],
    [
      "listen --secret abc",
      /--secret must be whsec_ and the base64 of 24 to 64 bytes, and is a text/,
    ],
    ["completion powershell", /SHELL must be bash, zsh or fish, and is "powershell"/],
    ["completion", /SHELL must be given: bash, zsh or fish/],
    ["import", /FILE must be given: a file, or - for standard input/],
    ["import nowhere.json", /nowhere\.json cannot be read \(ENOENT\)/],
    ["export --format xml", /--format must be arm or az, and is "xml"/],
  ];
  for (const [line, words] of table) {
    const { code, out, err } = await run(line);
    assert.equal(code, 2, `${line}: ${err}`);
    assert.match(err, words, line);
    assert.match(err, /^posthorn: [^\n]+\n$/, `${line} is answered in one line`);
    assert.equal(out, "", line);
  }
});

const vocabulary = fc.oneof(
  fc.constantFrom(...commands.flatMap(({ words }) => words.split(" "))),
  fc.constantFrom(
    ...commands.flatMap(({ options }) => Object.keys(options).map((name) => `--${name}`)),
  ),
  fc.constantFrom("-n", "-g", "-o", "-t", "-", "--", "--=", "json", "true", "1", "-1", "0s..2h"),
  fc.constantFrom("503*3", "a=b", "[].name", "{}", "whsec_", "%", "http://a", "PT1S", "ü", " "),
  fc.string(),
);

test("whatever is typed, it ends with a code of ours and at most one line, and no trace", async () => {
  const line = fc.tuple(
    fc.constantFrom(...commands.filter(({ words }) => words !== "listen")),
    fc.array(vocabulary, { maxLength: 6 }),
  );
  await fc.assert(
    fc.asyncProperty(line, async ([{ words, isLocal }, more]) => {
      // Commands of the process itself are not run here.
      if (isLocal === true && !["simulate", "completion"].includes(words)) return;
      const { code, err } = await run([...words.split(" "), ...more]);
      assert.ok([0, 1, 2, 3].includes(code), String(code));
      assert.ok(!/\n\s+at /.test(err), err);
      assert.ok(err.split("\n").length <= 2, err);
    }),
    { numRuns: 400 },
  );
});

test("an empty name is refused in words, and nobody is asked", async () => {
  for (const words of [["redrive", "stop"], ["redrive", "resume"], ["explain"], ["import"]]) {
    const { code, err } = await run([...words, ""]);
    assert.equal(code, 2, words.join(" "));
    assert.match(err, /^posthorn: (ID|EVENT|FILE) must not be empty: [^\n]+\n$/);
  }
});

test("a broker that is not there is one line and code 1", async () => {
  const { code, err } = await run("topic list", {
    fetch: () => Promise.reject(new TypeError("failed", { cause: { code: "ECONNREFUSED" } })),
  });
  assert.equal(code, 1);
  assert.equal(
    err,
    "posthorn: the broker at http://127.0.0.1:5888 cannot be reached (ECONNREFUSED); is it " +
      "running? posthorn serve starts one, --server names another\n",
  );
});

test("a certificate that is not trusted, or is for another name, is reported with what to do", async () => {
  const table: [string, RegExp][] = [
    [
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      /is not trusted \(UNABLE\w+\); give its CA with --ca FILE,/,
    ],
    [
      "SELF_SIGNED_CERT_IN_CHAIN",
      /its CA with --ca FILE, such as ca\.pem in the broker's data fol/,
    ],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", /--ca FILE/],
    ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", /--ca FILE/],
    ["ERR_TLS_CERT_ALTNAME_INVALID", /is for other names \(ERR\w+\); .*tls-names adds one/],
    ["CERT_HAS_EXPIRED", /has expired or is not yet valid \(CERT_HAS_EXPIRED\); renew it/],
  ];
  for (const [code, words] of table) {
    const ran = await run("topic list --server https://far.example", {
      fetch: () => Promise.reject(new TypeError("failed", { cause: { code } })),
    });
    assert.equal(ran.code, 1);
    assert.match(ran.err, words);
    assert.match(ran.err, /^posthorn: the certificate of https:\/\/far\.example [^\n]+\n$/);
  }
});

test("the address and the key of a broker here are found in its data folder", async () => {
  const files: Record<string, string> = {
    "posthorn-data/address": "http://127.0.0.1:7777\n",
    "posthorn-data/admin.key": "secret\n",
  };
  const asked: [string, string | null][] = [];
  const answer = async (input: string | URL | Request, init?: RequestInit) => {
    asked.push([String(input), new Headers(init?.headers).get("authorization")]);
    return Response.json({ value: [] });
  };
  const outside = {
    fetch: answer as typeof fetch,
    readFile(path: string) {
      const text = files[path];
      if (text === undefined) throw Object.assign(new Error("no"), { code: "ENOENT" });
      return text;
    },
  };
  const list =
    "/subscriptions/00000000-0000-0000-0000-000000000000/providers/Microsoft.EventGrid/topics";
  const query = "?%24top=100&api-version=2025-02-15";
  await run("topic list", outside);
  await run("topic list --server http://127.0.0.1:8888", outside);
  await run("topic list", {
    ...outside,
    env: { POSTHORN_SERVER: "https://far.example", POSTHORN_KEY: "k" },
  });
  await run("topic list --server https://far.example", outside);
  files["posthorn-data/address"] = "http://10.1.2.3:7777\n";
  await run("topic list", outside);
  files["posthorn-data/address"] = "http://0.0.0.0:7777\n";
  await run("topic list", outside);
  assert.deepEqual(
    asked.map(([url, key]) => [url.replace("$", "%24"), key]),
    [
      [`http://127.0.0.1:7777${list}${query}`, "Bearer secret"],
      [`http://127.0.0.1:8888${list}${query}`, "Bearer secret"],
      [`https://far.example${list}${query}`, "Bearer k"],
      [`https://far.example${list}${query}`, null],
      [`http://10.1.2.3:7777${list}${query}`, "Bearer secret"],
      [`http://127.0.0.1:7777${list}${query}`, "Bearer secret"],
    ],
    "and a key of here is sent to no other machine",
  );
});

test("every form is offered for what is simulated: drawn at a terminal, JSON in a pipe", async () => {
  const line = "simulate --outage 0s..2h --then 503:10m --backlog 100 --seed 7";
  const drawn = await run(line, { isTerminal: true, env: { NO_COLOR: "1" } });
  assert.equal(drawn.code, 0);
  assert.match(drawn.out, /^endpoint {2}▒+─*\nattempts {2}○/);
  assert.match(drawn.out, /\n {2}1 +0 s +refused +connection: at least 10 s;/);
  assert.match(drawn.out, /\d+ saved, \d+ lost/);
  assert.ok(!drawn.out.includes("\u001b"), "NO_COLOR is heeded");
  const coloured = await run(line, { isTerminal: true });
  assert.ok(coloured.out.includes("\u001b["));
  const json = JSON.parse((await run(line)).out) as { attempts: unknown[]; saved: number };
  assert.equal(json.saved, 100);
  assert.equal(
    (await run([...line.split(" "), "--query", "end.kind", "-o", "tsv"])).out,
    "delivered\n",
  );
  assert.equal((await run(`${line} -o none`)).out, "");
  assert.deepEqual(JSON.parse((await run(line)).out), json, "the same seed draws the same");
});

test("a dry run says who gets nothing although its filter matches", async () => {
  const held = "its endpoint did not agree to get events";
  const verdict = { subscription: "billing", matches: true, held, clauses: [] };
  const { out } = await run("event-subscription explain --topic-name orders - -o table", {
    fetch: (async () => Response.json([verdict])) as typeof fetch,
    readInput: async () => '{"eventType":"t","subject":"s"}',
  });
  assert.match(out, /\nbilling +yes, but its endpoint did not agree to get events +no clause\n$/);
});

test("deleting a topic with waiting events asks a person first, and nobody else", async () => {
  const armId =
    "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn/providers/" +
    "Microsoft.EventGrid/topics/Orders";
  const attempt = async (line: string, waiting: number, answer: string | null) => {
    const [asked, methods]: [string[], string[]] = [[], []];
    const ran = await run(line, {
      question:
        answer === null
          ? null
          : async (text) => {
              asked.push(text);
              return answer;
            },
      fetch: (async (_: unknown, init?: RequestInit) => {
        methods.push(init?.method ?? "GET");
        return Response.json([{ name: "Orders", kind: "topic", armId, waiting }]);
      }) as typeof fetch,
    });
    return { ...ran, asked, isDeleted: methods.includes("DELETE") };
  };
  const line = "topic delete -n orders";
  const refused = await attempt(line, 3, "");
  assert.deepEqual([refused.code, refused.isDeleted], [1, false]);
  assert.deepEqual(refused.asked, ["3 events wait in Orders and will be lost. Delete it? [y/N] "]);
  assert.equal(refused.err, "posthorn: nothing was deleted\n");
  const single = await attempt(line, 1, "y");
  assert.deepEqual(single.asked, ["1 event waits in Orders and will be lost. Delete it? [y/N] "]);
  assert.deepEqual([single.code, single.isDeleted], [0, true]);
  for (const [given, waiting, answer] of [
    [`${line} --yes`, 3, ""],
    [`${line} -y`, 3, ""],
    [line, 0, ""],
    [line, 3, null],
    ["topic delete -n other", 3, ""],
  ] as const) {
    const { code, asked, isDeleted } = await attempt(given, waiting, answer);
    assert.deepEqual([code, asked, isDeleted], [0, [], true], given);
  }
});

test("az's variables for the form and for errors are heeded", async () => {
  const yaml = await run("simulate", { env: { AZURE_CORE_OUTPUT: "yaml" } });
  assert.match(yaml.out, /^attempts:\n- atMs: 0\n/);
  const wrong = await run("simulate", { env: { AZURE_CORE_OUTPUT: "xml" } });
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /^posthorn: AZURE_CORE_OUTPUT must be table, wide, json/);
});

test("a bug of ours shows its trace, and nothing else does", async () => {
  const { code, err } = await run("completion bash", { settingNames: null as never });
  assert.equal(code, 1);
  assert.match(err, /^posthorn: TypeError: .*\n\s+at /);
});
