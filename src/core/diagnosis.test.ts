import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Finding,
  judgeCertificate,
  judgeClock,
  judgeFolder,
  judgePort,
  judgeProfile,
  judgeReach,
  judgeStore,
} from "./diagnosis.ts";

const gib = 1_073_741_824;
const folder = {
  path: "./posthorn-data",
  isThere: true,
  freeBytes: 50 * gib,
  isWritable: true,
  syncMs: 0.8,
  clockSkewMs: 3,
};
const address = { host: "127.0.0.1", port: 5888 };
const now = Date.UTC(2030, 0, 1);
const day = 86_400_000;

function statesOf(findings: readonly Finding[]): string[] {
  return findings.map(({ check, state }) => `${check}: ${state}`);
}

test("a healthy machine gives nothing to do", () => {
  const findings = [
    ...judgeFolder(folder),
    ...judgeClock(now, now + 100),
    judgePort("http", { address, why: null }, null),
    judgePort("https", { address, why: "EADDRINUSE" }, "own"),
    judgeCertificate({ path: "a.pem", endsInMs: 90 * day, names: "DNS:localhost", why: null }),
    judgeStore({ path: "store.db", verdict: "ok", version: 3, versionKnown: 3 }),
    judgeReach("endpoint", { name: "http://127.0.0.1:9000/hook", why: null }),
    ...judgeProfile("azure"),
  ];
  assert.deepEqual(
    findings.filter(({ state, advice }) => state !== "fine" || advice !== null),
    [],
  );
});

test("each thing that is not well says what to do", () => {
  const bad: readonly (readonly [Finding, state: string, found: RegExp, advice: RegExp])[] = [
    [
      judgeFolder({ ...folder, isWritable: false, why: "EACCES" })[0] as Finding,
      "problem",
      /cannot be written to \(EACCES\)/,
      /--data/,
    ],
    [
      judgePort("http", { address, why: "EADDRINUSE" }, null),
      "problem",
      /127\.0\.0\.1:5888 cannot be listened on/,
      /--http HOST:PORT/,
    ],
    [
      judgePort("https", { address, why: "EADDRINUSE" }, "other"),
      "problem",
      /127\.0\.0\.1:5888 is taken by another broker, with another data folder or admin key/,
      /--data, or choose another port with --https HOST:PORT/,
    ],
    [judgePort("http", { address, why: "EACCES" }, null), "problem", /EACCES/, /below 1024/],
    [judgePort("http", { address, why: "EADDRNOTAVAIL" }, null), "problem", /.*/, /an address of/],
    [
      judgeCertificate({ path: "a.pem", endsInMs: -1, names: "", why: null }),
      "problem",
      /has ended/,
      /Renew it/,
    ],
    [
      judgeCertificate({ path: "a.pem", endsInMs: 13 * day, names: "x", why: null }),
      "warning",
      /good for 13 days/,
      /Renew it/,
    ],
    [
      judgeCertificate({ path: "a.pem", endsInMs: 13 * day, names: "", why: null }),
      "warning",
      /good for 13 days$/,
      /Renew it/,
    ],
    [
      judgeCertificate({ path: "a.pem", endsInMs: 0, names: "", why: "no PEM" }),
      "problem",
      /cannot be read: no PEM/,
      /tls-cert/,
    ],
    [
      judgeStore({ path: "s", verdict: "row missing", version: 3, versionKnown: 3 }),
      "problem",
      /damaged: row missing/,
      /posthorn restore/,
    ],
    [
      judgeStore({ path: "s", verdict: "ok", version: 9, versionKnown: 3 }),
      "problem",
      /schema version 9/,
      /newer/,
    ],
    [judgeReach("endpoint", { name: "x", why: "ECONNREFUSED" }), "warning", /ECONNREFUSED/, /wait/],
  ];
  for (const [finding, state, found, advice] of bad) {
    assert.equal(finding.state, state, finding.found);
    assert.match(finding.found, found);
    assert.match(finding.advice ?? "", advice);
  }
});

test("little room, a slow disk and a strange clock are told", () => {
  const slow = { ...folder, freeBytes: 0.5 * gib, syncMs: 35.25, clockSkewMs: -7_000 };
  assert.deepEqual(statesOf(judgeFolder(slow)), [
    "data folder: fine",
    "disk space: warning",
    "disk sync: warning",
    "file clock: warning",
  ]);
  assert.equal(judgeFolder({ ...folder, freeBytes: 1_000 })[1]?.state, "problem");
  assert.deepEqual(statesOf(judgeClock(now, null)), ["clock: fine"], "no broker is there");
  assert.deepEqual(statesOf(judgeClock(Date.UTC(2025, 0, 1), null)), ["clock: fine"]);
  assert.deepEqual(statesOf(judgeClock(Date.UTC(2025, 0, 1) - 1, null)), ["clock: problem"]);
  assert.deepEqual(statesOf(judgeClock(0, 86_400_000)), [
    "clock: problem",
    "broker's clock: warning",
  ]);
});

test("another profile is no fault, and its differences are told one by one", () => {
  const findings = judgeProfile("azure-2020");
  assert.deepEqual(findings, [
    {
      check: "profile",
      state: "fine",
      found: "azure-2020 has deliveryHeaders false; azure has true",
      advice: null,
    },
  ]);
  assert.ok(judgeProfile("preview-2017").length > 5);
});
