import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../refusal.ts";
import {
  containerNameRule,
  findAccount,
  parseStorageAccounts,
  parseStorageId,
  placeOfAccount,
  storageArmId,
  whyNoQueues,
} from "./storage.ts";

const group = { subscriptionId: "s-1", resourceGroup: "rg" };
const id = storageArmId({ group, account: "letters" });
const key =
  "DefaultEndpointsProtocol=https;AccountName=letters;AccountKey=c2VjcmV0;" +
  "EndpointSuffix=core.windows.net;";

test("a resource id names an account, or a container in it (L-2)", () => {
  assert.equal(id.startsWith("/subscriptions/s-1/resourceGroups/rg/providers/"), true);
  const table: [string, unknown][] = [
    [id, { group, account: "letters", container: null }],
    [`${id}/`, { group, account: "letters", container: null }],
    [`${id}/blobServices/default/containers/box`, { group, account: "letters", container: "box" }],
    [
      id.replace("resourceGroups", "RESOURCEGROUPS").replace("Microsoft", "microsoft"),
      { group, account: "letters", container: null },
    ],
    [`${id}/queueServices/default/queues/box`, null],
    [`${id}/blobServices/default/containers`, null],
    ["letters", null],
    ["", null],
    ["/subscriptions/s-1/providers/Microsoft.Storage/storageAccounts/letters", null],
  ];
  for (const [text, expected] of table) assert.deepEqual(parseStorageId(text), expected, text);
});

test("an account given by name counts in every group, one given by id in its own", () => {
  const [byName, byId] = parseStorageAccounts({
    other: { folder: "./dead" },
    [id]: { connectionString: key },
  });
  assert.ok(byName && byId);
  const accounts = [byName, byId];
  assert.equal(findAccount(accounts, id.toUpperCase()), byId);
  assert.equal(findAccount(accounts, id.replace("/rg/", "/elsewhere/")), undefined);
  assert.equal(findAccount(accounts, id.replace("s-1", "s-2")), undefined);
  for (const place of [group, { ...group, resourceGroup: "elsewhere" }]) {
    assert.equal(findAccount(accounts, storageArmId({ group: place, account: "OTHER" })), byName);
  }
  assert.equal(findAccount(accounts, "other"), undefined, "a name is no resource id");
  assert.deepEqual(byName.store, { kind: "folder", path: "./dead" });
  assert.deepEqual(byId.store, { kind: "blob", connectionString: key });
  assert.deepEqual(placeOfAccount(byId), { ...group, location: "local", tags: null });
  assert.equal(placeOfAccount(byName).resourceGroup, "posthorn");
});

test("what cannot be an account is refused in words that name it and hide its key", () => {
  const secret = "AccountName=letters;AccountKey";
  const table: [unknown, RegExp][] = [
    [[], /^storageAccounts must be an object with a member for each/],
    [{ "a/b": { folder: "x" } }, /^a name in storageAccounts must be .*, and is "a\/b"$/],
    [
      { [`${id}/blobServices/default/containers/box`]: { folder: "x" } },
      /^a name in storageAccounts must be the name of a storage account/,
    ],
    [{ letters: {} }, /^storageAccounts\.letters must have .*, and has none$/],
    [{ letters: { folder: "x", connectionString: key } }, /and has connectionString and folder$/],
    [{ letters: { folder: "" } }, /^storageAccounts\.letters\.folder must be a path/],
    [{ letters: { folder: 5 } }, /^storageAccounts\.letters\.folder must be a path/],
    [{ letters: { conectionString: key } }, /did you mean connectionString\?$/],
    [{ letters: { connectionString: secret } }, /AccountKey and .* and is a text of \d+/],
    [{ letters: { connectionString: "UseDevelopmentStorage=false" } }, /and is a text/],
    [{ letters: { connectionString: key.slice(key.indexOf("Account")) } }, /and is a text/],
    [{ letters: { connectionString: key.replace("EndpointSuffix", "Suffix") } }, /and is a text/],
    [{ letters: { folder: "x" }, [id]: { folder: "y" } }, /has "letters" twice$/],
    [{ letters: { managedIdentity: "yes" } }, /managedIdentity must be true or \{ "clientId"/],
    [{ letters: { managedIdentity: {} } }, /managedIdentity\.clientId must be the client id/],
    [
      { letters: { managedIdentity: true, blobEndpoint: "http://b.test" } },
      /\.blobEndpoint must be an https URL without a query/,
    ],
    [
      { letters: { folder: "x", queueEndpoint: "https://q.test" } },
      /\.queueEndpoint must be left out: it goes with managedIdentity alone$/,
    ],
    [{ letters: { folder: "x", queueEncoding: "hex" } }, /\.queueEncoding must be base64 or text/],
  ];
  for (const [section, words] of table) {
    assert.throws(
      () => parseStorageAccounts(section),
      (error: unknown) => {
        assert.ok(error instanceof Refusal && error.code === "InvalidSetting");
        assert.match(error.message, words);
        assert.doesNotMatch(error.message, /AccountName=/);
        return true;
      },
    );
  }
});

test("connection strings are taken in every form that a client can be made of", () => {
  for (const connectionString of [
    key,
    "UseDevelopmentStorage=true",
    "UseDevelopmentStorage=true;",
    "BlobEndpoint=https://letters.blob.core.windows.net;SharedAccessSignature=sv=1&sig=a%3D",
    key.replace(/EndpointSuffix=.*/, "BlobEndpoint=http://127.0.0.1:10000/letters"),
  ]) {
    const [account] = parseStorageAccounts({ letters: { connectionString } });
    assert.deepEqual(account?.store, { kind: "blob", connectionString });
  }
});

test("an account may be reached as a managed identity, at its usual endpoints or at others", () => {
  const [usual, other] = parseStorageAccounts({
    letters: { managedIdentity: true },
    other: {
      managedIdentity: { clientId: "c-1" },
      blobEndpoint: "https://blobs.test/other",
      queueEndpoint: "https://queues.test/",
    },
  });
  assert.deepEqual(usual?.store, {
    ...{ kind: "identity", clientId: null },
    blobEndpoint: "https://letters.blob.core.windows.net/",
    queueEndpoint: "https://letters.queue.core.windows.net/",
  });
  assert.deepEqual(other?.store, {
    ...{ kind: "identity", clientId: "c-1" },
    ...{ blobEndpoint: "https://blobs.test/other", queueEndpoint: "https://queues.test/" },
  });
});

test("an account has queues unless it is a folder or has no endpoint for them", () => {
  const blobs = "BlobEndpoint=https://b.test;SharedAccessSignature=sv=1";
  const table: readonly (readonly [object, RegExp | null])[] = [
    [{ connectionString: key }, null],
    [{ connectionString: "UseDevelopmentStorage=true" }, null],
    [{ connectionString: `${blobs};QueueEndpoint=https://q.test` }, null],
    [{ managedIdentity: true }, null],
    [{ connectionString: blobs }, /^whose connectionString in .*\.letters has no QueueEndpoint$/],
    [{ folder: "./dead" }, /^which is a folder, and folders have no queues$/],
  ];
  for (const [given, words] of table) {
    const [account] = parseStorageAccounts({ letters: given });
    const why = account ? whyNoQueues(account) : "";
    if (words === null) assert.equal(why, null);
    else assert.match(why ?? "", words);
  }
});

test("a container's name is one that the service allows, and leads nowhere else", () => {
  for (const name of ["dead-letters", "abc", "0a1", "a".repeat(63)]) {
    assert.match(name, containerNameRule);
  }
  for (const name of ["ab", "Abc", "a--b", "-abc", "abc-", "a".repeat(64), "..", "../x", "a/b"]) {
    assert.doesNotMatch(name, containerNameRule);
  }
});
