import assert from "node:assert/strict";
import { test } from "node:test";
import { plainRequest } from "../../test/fixtures/request.ts";
import { Refusal } from "../core/refusal.ts";
import { plainTopic, type Topic } from "../core/topic.ts";
import { checkNetwork } from "./network.ts";

const open: Topic = {
  ...plainTopic,
  ...{ name: "orders", key1: "k", key2: "k", origin: "file", revision: 1 },
};

function refusal(topic: Topic, remote: string): string | null {
  try {
    checkNetwork(topic, { ...plainRequest, headers: { host: "broker.example" }, remote });
    return null;
  } catch (error) {
    assert.ok(error instanceof Refusal);
    assert.equal(error.code, "Forbidden");
    return error.message;
  }
}

const behind = (...inboundIpRules: string[]) => ({ ...open, inboundIpRules });

test("without rules everybody may publish", () => {
  for (const remote of ["127.0.0.1", "2001:db8::1", ""]) assert.equal(refusal(open, remote), null);
});

test("with rules only the addresses they name may publish", () => {
  const topic = behind("192.0.2.0/24", "198.51.100.7", "2001:db8::/32", "::1");
  for (const remote of ["192.0.2.0", "192.0.2.255", "198.51.100.7", "2001:db8:9::9", "::1"]) {
    assert.equal(refusal(topic, remote), null, remote);
  }
  for (const remote of ["192.0.3.0", "198.51.100.8", "2001:db9::1", "127.0.0.1", "::2", "", "x"]) {
    assert.equal(
      refusal(topic, remote),
      `Publishing to BROKER.EXAMPLE by client ${remote} is rejected because of IpAddress filtering rules.`,
    );
  }
  assert.equal(refusal(behind("fe80::/10"), "fe80::1%eth0"), null);
  assert.equal(refusal(behind("2001:db8::7/128"), "2001:db8::7"), null);
  assert.equal(refusal(behind("192.0.2.7/32"), "192.0.2.7"), null);
  assert.equal(refusal(behind("0.0.0.0/0"), "203.0.113.9"), null);
});

test("a rule that is none lets nobody in, and does not spoil the others", () => {
  for (const rule of ["", "x", "192.0.2.0/33", "192.0.2.0/", "192.0.2.0/24/8", "::/129", "1/-1"]) {
    assert.notEqual(refusal(behind(rule), "192.0.2.1"), null, rule);
    assert.equal(refusal(behind(rule, "192.0.2.1"), "192.0.2.1"), null, rule);
  }
});

test("changed rules count from the first request after the change", () => {
  const topic = behind("192.0.2.1");
  assert.equal(refusal(topic, "192.0.2.1"), null);
  assert.notEqual(refusal({ ...topic, inboundIpRules: ["192.0.2.2"] }, "192.0.2.1"), null);
});

test("a topic that is closed to the public is closed to all", () => {
  const topic = { ...open, publicNetworkAccess: false };
  assert.equal(
    refusal(topic, "127.0.0.1"),
    "Publishing to BROKER.EXAMPLE is rejected because its public network access is disabled.",
  );
});
