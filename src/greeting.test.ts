import assert from "node:assert/strict";
import { test } from "node:test";
import { type Greeting, greet } from "./greeting.ts";

const started: Greeting = {
  version: "1.2.3",
  http: "http://127.0.0.1:5888",
  https: "https://127.0.0.1:4438",
  ca: "/var/lib/posthorn/ca.pem",
  data: "./posthorn-data",
  store: "sqlite",
  profile: "azure",
  clock: "real",
  portal: "http://127.0.0.1:5888/signin?token=abc",
  topics: 0,
  logsFailures: true,
};

test("a newcomer reads what is running, where the portal is and what to type next", () => {
  const text = greet(started);
  const lines = text.trimEnd().split("\n");
  assert.ok(lines.length <= 15, `${lines.length} lines`);
  assert.match(text, /^Posthorn 1\.2\.3 is ready: profile azure, events in \.\/posthorn-data\n/);
  assert.match(text, /portal +http:\/\/127\.0\.0\.1:5888\/signin\?token=abc\n/);
  assert.match(
    text,
    /TLS +https:\/\/127\.0\.0\.1:4438, trusted with \/var\/lib\/posthorn\/ca\.pem\n/,
  );
  assert.equal(lines.filter((line) => line.startsWith("  npx posthorn ")).length, 3);
});

test("what to type next reaches this broker, wherever its data is", () => {
  assert.match(greet(started), /topic create -n orders\n/);
  assert.match(greet({ ...started, data: "/srv/a" }), /topic create -n orders --data \/srv\/a\n/);
  assert.match(greet({ ...started, data: "my data", topics: 1 }), /tail --data "my data"\n/);
});

test("what differs from the defaults is shown", () => {
  assert.match(greet({ ...started, store: "memory" }), /events in memory, until it stops/);
  assert.match(greet({ ...started, store: "memory" }), /waiting events are lost\./);
  assert.match(greet(started), /Failed attempts are logged below\. .*waiting events are kept\./);
  assert.match(greet({ ...started, logsFailures: false }), /hides failed attempts; posthorn tail/);
  assert.match(
    greet({ ...started, clock: "virtual" }),
    /time stands still: posthorn clock advance 1h/,
  );
  assert.doesNotMatch(greet({ ...started, https: null }), /TLS/);
  assert.match(greet({ ...started, ca: null }), /TLS +https:\/\/127\.0\.0\.1:4438\n/);
  assert.match(greet({ ...started, http: null }), /publish +https:/);
  assert.match(greet({ ...started, topics: 2 }), /npx posthorn tail/);
});
