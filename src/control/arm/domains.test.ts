import assert from "node:assert/strict";
import { test } from "node:test";
import { type Arm, openArm, shopPath, webhookBody } from "../../../test/fixtures/arm.ts";
import { plainTopic } from "../../core/topic.ts";

const put = { location: "local" };

async function topicsOf(arm: Arm): Promise<string[]> {
  const { body } = await arm.good("GET", `${shopPath}/topics`);
  return body.value.map((each: { name: string }) => each.name);
}

test("a domain is a topic with many names under one roof", async (t) => {
  const arm = await openArm(t);
  const made = await arm.good("PUT", shopPath, {
    ...put,
    properties: { autoDeleteTopicWithLastSubscription: false },
  });
  assert.deepEqual([made.status, made.body.type], [201, "Microsoft.EventGrid/domains"]);
  const { body } = await arm.good("GET", shopPath);
  assert.equal(body.kind, undefined);
  assert.equal(body.properties.autoCreateTopicWithFirstSubscription, true);
  assert.equal(body.properties.autoDeleteTopicWithLastSubscription, false);
  assert.equal(body.properties.endpoint, "https://broker.test:4438/topics/shop/api/events");
  await arm.good("PATCH", shopPath, {
    properties: { autoCreateTopicWithFirstSubscription: false },
  });
  const after = (await arm.good("GET", shopPath)).body.properties;
  assert.equal(after.autoCreateTopicWithFirstSubscription, false);
  assert.equal(after.autoDeleteTopicWithLastSubscription, false);
  const keys = (await arm.good("POST", `${shopPath}/listKeys`)).body;
  const renewed = await arm.good("POST", `${shopPath}/regenerateKey`, { keyName: "key1" });
  assert.equal(renewed.body.key2, keys.key2);
  const { body: list } = await arm.good("GET", shopPath.replace(/\/shop$/, ""));
  assert.equal(list.value.length, 1);
  assert.equal((await arm.ask("DELETE", shopPath)).status, 204);
});

test("a domain topic is made, shown, listed and removed", async (t) => {
  const arm = await openArm(t);
  const path = `${shopPath}/topics/tenant-1`;
  assert.equal((await arm.ask("PUT", path)).status, 404, "without the domain");
  await arm.good("PUT", shopPath, put);
  assert.equal((await arm.ask("GET", path)).status, 404);
  const made = await arm.good("PUT", path);
  assert.equal(made.status, 201);
  assert.equal((await arm.follow(made)).body.status, "Succeeded");
  assert.deepEqual((await arm.good("GET", path.replace("tenant", "TENANT"))).body, {
    properties: { provisioningState: "Succeeded" },
    systemData: null,
    id: path,
    name: "tenant-1",
    type: "Microsoft.EventGrid/domains/topics",
  });
  await arm.good("PUT", path, {});
  await arm.good("PUT", `${shopPath}/topics/contoso.com`);
  assert.deepEqual(await topicsOf(arm), ["contoso.com", "tenant-1"]);
  for (const name of ["ab", "x".repeat(129), "a%20b"]) {
    assert.equal((await arm.ask("PUT", `${shopPath}/topics/${name}`)).status, 400, name);
  }
  assert.equal((await arm.ask("DELETE", path)).status, 204);
  assert.equal((await arm.ask("DELETE", path)).status, 204);
  assert.deepEqual(await topicsOf(arm), ["contoso.com"]);
});

test("a domain topic comes with its first subscription and goes with its last", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", shopPath, put);
  const one = `${shopPath}/topics/one/eventSubscriptions/billing`;
  const two = `${shopPath}/topics/one/providers/Microsoft.EventGrid/eventSubscriptions/audit`;
  const bad = await arm.ask("PUT", one, webhookBody({ destination: { endpointUrl: "no" } }));
  assert.equal(bad.status, 400);
  assert.deepEqual(await topicsOf(arm), [], "what is refused makes no topic");
  const made = await arm.good("PUT", one, webhookBody());
  assert.equal(made.body.type, "Microsoft.EventGrid/domains/topics/eventSubscriptions");
  assert.equal(made.body.id, one);
  await arm.good("PUT", two, webhookBody());
  assert.deepEqual(await topicsOf(arm), ["one"]);
  await arm.good("DELETE", one);
  assert.deepEqual(await topicsOf(arm), ["one"]);
  await arm.good("DELETE", two);
  assert.deepEqual(await topicsOf(arm), []);
});

test("a domain may leave its topics to their owners", async (t) => {
  const arm = await openArm(t);
  const properties = {
    autoCreateTopicWithFirstSubscription: false,
    autoDeleteTopicWithLastSubscription: false,
  };
  await arm.good("PUT", shopPath, { ...put, properties });
  const path = `${shopPath}/topics/one/eventSubscriptions/billing`;
  const refused = await arm.ask("PUT", path, webhookBody());
  assert.equal(refused.status, 404);
  assert.match(refused.body.error.message, /Create it first: the domain does not create topics/);
  await arm.good("PUT", `${shopPath}/topics/one`);
  await arm.good("PUT", path, webhookBody());
  await arm.good("DELETE", path);
  assert.deepEqual(await topicsOf(arm), ["one"]);
});

test("the domain and each of its topics have subscriptions of their own names", async (t) => {
  const arm = await openArm(t);
  await arm.good("PUT", shopPath, put);
  const paths = [shopPath, `${shopPath}/topics/one`, `${shopPath}/topics/two`].map(
    (source) => `${source}/eventSubscriptions/billing`,
  );
  for (const [index, path] of paths.entries()) {
    const body = webhookBody({ properties: { labels: [`label-${index}`] } });
    await arm.follow(await arm.good("PUT", path, body));
  }
  for (const [index, path] of paths.entries()) {
    const { body } = await arm.good("GET", path);
    assert.deepEqual(body.properties.labels, [`label-${index}`]);
    const list = await arm.good("GET", path.replace(/\/billing$/, ""));
    assert.equal(list.body.value.length, 1);
    const byScope = path.replace("/eventSubscriptions/billing", "/providers/Microsoft.EventGrid");
    const extension = await arm.good("GET", `${byScope}/eventSubscriptions`);
    assert.equal(extension.body.value.length, 1);
  }
  const { topic } = (await arm.good("GET", paths[1] as string)).body.properties;
  const place = "/subscriptions/S/resourceGroups/rg1/providers/microsoft.eventgrid";
  assert.equal(topic, `${place}/domains/shop/topics/one`);
  await arm.good("DELETE", `${shopPath}/topics/one`);
  assert.equal((await arm.ask("GET", paths[1] as string)).status, 404);
  assert.equal((await arm.catalog()).subscriptions.length, 2);
});

test("making topics of a declared domain leaves it to its file", async (t) => {
  const arm = await openArm(t);
  await arm.store.putTopic({
    ...plainTopic,
    kind: "domain",
    name: "shop",
    ...{ key1: "a", key2: "b", origin: "file" as const },
    place: { ...plainTopic.place, subscriptionId: "S", resourceGroup: "rg1" },
    domain: { autoCreateTopics: true, autoDeleteTopics: true, topics: [] },
  });
  await arm.good("PUT", `${shopPath}/topics/one/eventSubscriptions/billing`, webhookBody());
  const [domain] = (await arm.catalog()).topics;
  assert.deepEqual([domain?.origin, domain?.domain?.topics], ["file", ["one"]]);
});
