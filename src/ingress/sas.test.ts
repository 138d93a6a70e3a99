import assert from "node:assert/strict";
import { createHmac, createSecretKey } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import {
  covers,
  isSignedWith,
  parseExpiry,
  parseSasToken,
  type RequestTarget,
  signerOf,
} from "./sas.ts";

/** The bytes from 0 to 31. */
const key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const bytes = Buffer.from(Array.from({ length: 32 }, (_, place) => place));
const signer = createSecretKey(bytes);

/** As the clients in these languages write them, for nine seconds past 13:05 on 31 January. */
const vectors = {
  dotnet:
    "r=https%3a%2f%2fdemo.westeurope-1.eventgrid.azure.net%2fapi%2fevents%3fapi-version%3d2018-01-01" +
    "&e=1%2f31%2f2030+1%3a05%3a09+PM&s=Ts6lIPJsNsEcjU%2b3P1RJ0PrC1d858sCKSXf5W11mBjs%3d",
  javascript:
    "r=https%3A%2F%2Fdemo.westeurope-1.eventgrid.azure.net%2Fapi%2Fevents%3FapiVersion%3D2018-01-01" +
    "&e=1%2F31%2F2030%201%3A05%3A09%20PM&s=USLXYGA0xge7jjf3ATlLuv5MQ4Z64emuKnCfa8IdKiQ%3D",
  python:
    "r=https%3A%2F%2Fdemo.westeurope-1.eventgrid.azure.net%2Fapi%2Fevents" +
    "&e=2030-01-31T13%3A05%3A09.000001&s=xnuvL3J6u8KFK26VCre02ZiM9hQ5DQWyOf2Q7BQ%2BEVs%3D",
};

function signed(text: string, secret = bytes): string {
  const signature = createHmac("sha256", secret).update(text).digest("base64");
  return `${text}&s=${encodeURIComponent(signature)}`;
}

test("tokens of every client are read, and their signatures found good", () => {
  assert.deepEqual(signerOf(key)?.export(), bytes);
  for (const [client, text] of Object.entries(vectors)) {
    const token = parseSasToken(text);
    assert.ok(token, client);
    assert.ok(isSignedWith(token, signer), client);
    assert.equal(token.expiresAt, Date.UTC(2030, 0, 31, 13, 5, 9), client);
    assert.match(
      token.resource,
      /^https:\/\/demo\.westeurope-1\.eventgrid\.azure\.net\/api\/events/,
    );
    assert.ok(covers(token.resource, { topic: "demo", host: "localhost:5888", isByPath: true }));
  }
});

test("a token with anything changed in it is not good", () => {
  const good = vectors.javascript;
  for (let place = 0; place < good.length; place++) {
    for (const sign of ["A", "1", "%", "&"]) {
      if (good[place] === sign) continue;
      const token = parseSasToken(good.slice(0, place) + sign + good.slice(place + 1));
      const isGood = token !== null && isSignedWith(token, signer);
      // The last characters before the padding of base64 have unused bits.
      assert.ok(!isGood || place >= good.length - 5, `${sign} at ${place}`);
    }
  }
  const token = parseSasToken(good);
  assert.ok(token && !isSignedWith(token, createSecretKey(Buffer.from("another key"))));
});

test("a token must have a resource, an expiry and a signature, each once", () => {
  const [r, e] = ["r=http%3A%2F%2Fh", "e=2030-01-01T00%3A00%3A00Z"];
  assert.ok(parseSasToken(signed(`${r}&${e}`)));
  assert.ok(parseSasToken(signed(`${e}&${r}`)));
  const malformed = [
    ...["", "r", "&s=", r, `${r}&${e}`, signed(r), signed(e), signed(`${r}&e=`), signed(`r=&${e}`)],
    ...[signed(`${r}&${r}&${e}`), signed(`${r}&${e}&x=1`), signed(`${r}&e=tomorrow`)],
    ...[signed(`r=%zz&${e}`), signed(`r=%ff&${e}`), `${r}&${e}&s=%zz`],
  ];
  for (const text of malformed) assert.equal(parseSasToken(text), null, text);
});

test("whatever is sent, reading it ends in a token or in nothing", () => {
  fc.assert(fc.property(fc.string(), (text) => void parseSasToken(text)));
  const parts = fc.array(fc.constantFrom("r=", "e=", "&s=", "&", "%", "1/31/2030 ", "1:05", "PM"));
  fc.assert(fc.property(parts, (some) => void parseSasToken(some.join(""))));
});

test("an expiry is read in every form that clients write, as UTC unless it says otherwise", () => {
  const at = Date.UTC(2030, 0, 31, 13, 5, 9);
  const forms = [
    ...["1/31/2030 1:05:09 PM", "01/31/2030 01:05:09 PM", "1/31/2030, 1:05:09 pm"],
    ...["1/31/2030 1:05:09\u202fPM", "1/31/2030\u00a01:05:09 PM", "1/31/2030 1:05:09PM"],
    ...["1/31/2030 1:05:09 PM +00:00", "1/31/2030 3:05:09\u202fPM +02:00"],
    ...["1/31/2030 6:05:09 AM -07:00", "1/31/2030 13:05:09", "01/31/2030 13:05:09 +00:00"],
    ...["2030-01-31T13:05:09", "2030-01-31T13:05:09.000001", "2030-01-31 13:05:09"],
    ...["2030-01-31T13:05:09Z", "2030-01-31 13:05:09+00:00", "2030-01-31T15:05:09.5+02:00"],
    ...["2030-01-31T14:35:09+0130", " 2030-01-31T13:05:09Z "],
  ];
  for (const form of forms) assert.equal(parseExpiry(form), at, form);
  assert.equal(parseExpiry("1/31/2030 12:00:00 AM"), Date.UTC(2030, 0, 31));
  assert.equal(parseExpiry("1/31/2030 12:00 PM"), Date.UTC(2030, 0, 31, 12));
  assert.equal(parseExpiry("2/29/2028 1:00:00 AM"), Date.UTC(2028, 1, 29, 1));
});

test("what is no time is not taken for one", () => {
  const table = [
    ...["", "soon", "1893416709", "2030-01-31", "1/31/2030", "31/1/2030 1:05:09 PM"],
    ...["2/30/2030 1:05:09 PM", "2/29/2030 1:00:00 AM", "1/31/2030 13:05:09 PM"],
    ...["1/31/2030 0:05:09 AM", "2030-13-01T00:00:00", "2030-01-31T24:00:00"],
    ...["2030-01-31T13:60:00", "2030-01-31T13:05:60", "0/1/2030 1:00:00 AM", "1/0/2030 1:00 AM"],
  ];
  for (const text of table) assert.equal(parseExpiry(text), null, text);
});

test("a key that is not base64, or stands for nothing, signs nothing", () => {
  for (const text of ["local-key", "abc", "====", "", "a=bc", "AAAA ", "AA-_", "A==="]) {
    assert.equal(signerOf(text), null, text);
  }
  assert.deepEqual(signerOf("AA==")?.export(), Buffer.of(0));
  assert.deepEqual(signerOf("secret12")?.export(), Buffer.from("secret12", "base64"));
});

test("a token opens the topic that its resource means, whatever the host is called", () => {
  const byPath: RequestTarget = { topic: "Orders", host: "localhost:5888", isByPath: true };
  const byHost: RequestTarget = { topic: "Orders", host: "orders.localhost:5888", isByPath: false };
  const byPort: RequestTarget = { topic: "Orders", host: "127.0.0.1:9001", isByPath: false };
  const table: readonly (readonly [string, RequestTarget, boolean])[] = [
    ["http://localhost:5888/topics/orders/api/events", byPath, true],
    ["http://localhost:5888/topics/ORDERS/api/events?apiVersion=2018-01-01", byPath, true],
    ["https://broker.example//topics/orders/api/events/", byPath, true],
    ["https://broker.example/topics/orders", byPath, true],
    ["https://orders.westeurope-1.eventgrid.azure.net/api/events", byPath, true],
    ["orders.westeurope-1.eventgrid.azure.net/api/events", byPath, true],
    ["https://orders.westeurope-1.eventgrid.azure.net", byPath, true],
    ["http://localhost:5888/", byPath, true],
    ["http://localhost:5888/topics", byPath, true],
    ["http://127.0.0.1:9001/api/events", byPort, true],
    ["http://orders.localhost:5888/api", byHost, true],
    ["https://broker.example/topics/orders/api/events", byPort, true],

    ["http://localhost:5888/topics/returns/api/events", byPath, false],
    ["http://localhost:5888/topics/ord", byPath, false],
    ["http://localhost:5888/topics/orders/api/events/more", byPath, false],
    ["http://localhost:5888/api/events", byPath, false],
    ["https://returns.westeurope-1.eventgrid.azure.net/api/events", byPath, false],
    ["https://broker.example/topics", byPath, false],
    ["https://broker.example/", byPath, false],
    ["http://127.0.0.1:9002/api/events", byPort, false],
    ["/", { ...byPort, host: "" }, false],
    ["orders", byPath, true],
    ["x", byPath, false],
    ["", byPath, false],
  ];
  for (const [resource, called, isCovered] of table) {
    assert.equal(covers(resource, called), isCovered, resource);
  }
  const plain = { topic: "orders", host: "h:443", isByPath: true };
  assert.ok(covers("https://h/topics", plain));
});
