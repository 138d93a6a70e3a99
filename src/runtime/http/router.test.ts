import assert from "node:assert/strict";
import { test } from "node:test";
import type { Route } from "../../core/request.ts";
import { openRouter } from "./router.ts";

function route(method: Route["method"], path: string): Route {
  return { method, path, handle: () => ({ status: 200 }) };
}

const find = openRouter([
  route("GET", "/"),
  route("GET", "/topics/all/events"),
  route("GET", "/topics/:topic/events"),
  route("POST", "/Topics/:name/events"),
  route("GET", "/topics/:topic/keys/:key"),
  route("GET", "/portal"),
  route("GET", "/portal/*"),
  route("GET", "/boxes/:box/*"),
  route("GET", "/:scope/providers/topics"),
]);

/** The path of the route that was found and its parameters, or why there is none. */
function found(method: string, url: string): unknown[] {
  const match = find(method, url);
  if (match.kind === "otherMethods") return match.routes.map((other) => other.method);
  if (match.kind !== "route") return [match.kind];
  return [match.route.path, match.params, { ...match.query }];
}

test("a path finds its route, fixed segments before names and names before the rest", () => {
  const table: [url: string, path: string, params: Record<string, string>][] = [
    ["/", "/", {}],
    ["", "/", {}],
    ["//", "/", {}],
    ["/topics/all/events", "/topics/all/events", {}],
    ["/topics/ALL/Events/", "/topics/all/events", {}],
    ["/topics/Orders/events", "/topics/:topic/events", { topic: "Orders" }],
    // The fixed segment leads nowhere, so it is a name after all.
    ["/topics/all/keys/1", "/topics/:topic/keys/:key", { topic: "all", key: "1" }],
    ["/portal/", "/portal", {}],
    ["/portal/a//B/c%2Fd", "/portal/*", { "*": "a/B/c/d" }],
    ["/boxes/letters/a/b", "/boxes/:box/*", { box: "letters", "*": "a/b" }],
    ["/a%2Fb/providers/topics", "/:scope/providers/topics", { scope: "a/b" }],
    ["/portal/providers/topics", "/portal/*", { "*": "providers/topics" }],
    ["/t%6Fpics/%41/events", "/topics/:topic/events", { topic: "A" }],
    ["http://host/topics/a/events", "/topics/:topic/events", { topic: "a" }],
    ["HTTPS://host", "/", {}],
  ];
  for (const [url, path, params] of table) {
    assert.deepEqual(found("GET", url), [path, params, {}], url);
  }
});

test("each method of a path has its own names", () => {
  const [, params] = found("POST", "/topics/a/events");
  assert.deepEqual(params, { name: "a" });
});

test("what is not there is not found, and what cannot be read is malformed", () => {
  for (const url of ["/topics", "/topics/a", "/topics/a/events/b", "*", "/x", "/topics//events"]) {
    assert.deepEqual(found("GET", url), ["nothing"], url);
  }
  assert.deepEqual(found("GET", `/topics/${"t".repeat(300)}/events`).length, 3);
  assert.deepEqual(found("GET", `/topics/${"t".repeat(301)}/events`), ["nothing"]);
  for (const url of ["/topics/%zz/events", "/%", "/portal/%ff"]) {
    assert.deepEqual(found("GET", url), ["malformed"], url);
  }
});

test("a method that a path does not have gets those it has; HEAD stands for GET alone", () => {
  assert.deepEqual(found("DELETE", "/topics/a/events"), ["GET", "POST"]);
  assert.deepEqual(found("PROPFIND", "/portal/x"), ["GET"]);
  assert.equal(found("HEAD", "/portal/x")[0], "/portal/*");
  const posts = openRouter([route("POST", "/x")]);
  assert.equal(posts("HEAD", "/x").kind, "nothing");
  assert.throws(() => openRouter([route("POST", "/x/:a"), route("POST", "/X/:b/")]), /twice/);
});

test("of a query the first value counts, decoded; one after another are kept apart", () => {
  const table: [text: string, query: Record<string, string>][] = [
    ["?", {}],
    ["?a=1&a=2&b=%20x+y", { a: "1", b: " x y" }],
    ["?a=1&a=2&b=%20x+y", { a: "1", b: " x y" }],
    ["?a", { a: "" }],
    ["?a=%zz&__proto__=1", { a: "%zz", ["__proto__"]: "1" }],
    ["#a=2", { a: "2" }],
  ];
  for (const [text, query] of table) assert.deepEqual(found("GET", `/${text}`)[2], query, text);
});
