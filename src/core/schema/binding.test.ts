import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readingOf, refusalOf } from "../../../test/fixtures/schema-reading.ts";
import { Refusal, type RefusalCode } from "../refusal.ts";
import type { Request } from "../request.ts";
import { type Content, readCloudEventRequest } from "./binding.ts";
import { publishLimits } from "./limits.ts";

type Headers = Request["headers"];

const event = { specversion: "1.0", type: "com.example.created", source: "/shop", id: "A1" };
const attributes: Headers = {
  "ce-specversion": "1.0",
  "ce-type": "com.example.created",
  "ce-source": "/shop",
  "ce-id": "A1",
};

function contentOf(body: string | Uint8Array): Content {
  const bytes = Buffer.from(body);
  return {
    byteCount: bytes.length,
    text: () => bytes.toString("utf8"),
    base64: () => bytes.toString("base64"),
  };
}

function read(headers: Headers, body: string | Uint8Array = "") {
  return readCloudEventRequest({ headers, content: contentOf(body) }, readingOf());
}

/** The one event of a request, parsed. */
function readOne(headers: Headers, body?: string | Uint8Array): unknown {
  const [published, ...others] = read(headers, body);
  assert.ok(published !== undefined && others.length === 0);
  assert.deepEqual(published.fields.parsed, JSON.parse(published.event.text));
  return published.fields.parsed;
}

const refusal = (code: RefusalCode, headers: Headers, body?: string | Uint8Array) =>
  refusalOf(() => read(headers, body), code);

test("the content type says how a request is read", () => {
  const one = JSON.stringify(event);
  const single = [
    "application/cloudevents+json",
    "application/cloudevents+json; charset=utf-8",
    "Application/CloudEvents+JSON ;charset=UTF-8",
    "application/json",
    "application/json; charset=utf-8",
  ];
  for (const type of single) {
    assert.deepEqual(readOne({ "content-type": type }, one), event);
    assert.match(
      refusal("InputJsonInvalid", { "content-type": type }, `[${one}]`),
      /Token Expected: StartObject, Actual Token Received: StartArray\.$/,
    );
  }
  const type = "application/cloudevents-batch+json; charset=utf-8";
  assert.equal(read({ "content-type": type }, `[${one},${one}]`).length, 2);
});

test("another content type, or none, is refused with those that are taken", () => {
  const types = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/cloudevents+xml",
    "application/jsonp",
    "",
    undefined,
  ];
  for (const type of types) {
    const message = refusal("InvalidContentType", { "content-type": type }, JSON.stringify(event));
    assert.match(message, /'application\/cloudevents\+json; charset=utf-8' or 'application\/cloud/);
  }
  const headers = { ...attributes, "content-type": "application/cloudevents+avro" };
  refusal("InvalidContentType", headers, "avro");
});

test("an event in headers becomes a structured one, with its JSON data as it was written", () => {
  const headers = {
    ...attributes,
    host: "localhost",
    "content-type": "application/json; charset=utf-8",
    "ce-time": "2018-04-05T03:56:24Z",
    "ce-subject": "123",
    "ce-dataschema": "https://example.com/schema",
    "ce-comexampleextension1": "value",
    "ce-sequence": "5",
  };
  const body = '{ "one" : 1.0, "big":12345678901234567890 }\n';
  const [published] = read(headers, body);
  assert.equal(
    published?.event.text,
    '{"specversion":"1.0","type":"com.example.created","source":"/shop","id":"A1",' +
      '"time":"2018-04-05T03:56:24Z","subject":"123","dataschema":"https://example.com/schema",' +
      '"comexampleextension1":"value","sequence":"5",' +
      `"datacontenttype":"application/json; charset=utf-8","data":${body}}`,
  );
  assert.equal(published?.fields.topic, "/shop");
});

test("data that is not JSON is kept as base64, byte for byte", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1 }),
      fc.constantFrom("text/plain", "application/octet-stream", "application/xml", undefined),
      (bytes, type) => {
        const parsed = readOne({ ...attributes, "content-type": type }, bytes);
        assert.deepEqual(parsed, {
          ...event,
          ...(type === undefined ? {} : { datacontenttype: type }),
          data_base64: Buffer.from(bytes).toString("base64"),
        });
      },
    ),
  );
});

test("whatever calls itself JSON is kept as JSON", () => {
  for (const type of ["application/json", "text/json", "application/vnd.shop.order+json"]) {
    const headers = { ...attributes, "content-type": type };
    assert.deepEqual(readOne(headers, "[1]"), { ...event, datacontenttype: type, data: [1] });
  }
});

test("an empty body is an event without data", () => {
  assert.deepEqual(readOne(attributes), event);
  const datacontenttype = "application/json";
  assert.deepEqual(readOne({ ...attributes, "content-type": datacontenttype }), {
    ...event,
    datacontenttype,
  });
});

test("a body cannot end the member it stands in", () => {
  const headers = { ...attributes, "content-type": "application/json" };
  for (const body of ['1,"id":"stolen"', '1},{"id":"2"', "1}/*", " ", "}", '"', "{}{}"]) {
    assert.match(refusal("InputJsonInvalid", headers, body), /^The body is not valid JSON/);
  }
});

test("the first required header that is missing or empty is named", () => {
  const order = ["ce-specversion", "ce-type", "ce-source", "ce-id"];
  for (const name of order) {
    for (const [value, shape] of [
      [undefined, "missing"],
      ["", "an empty text"],
    ] as const) {
      assert.equal(
        refusal("InvalidCloudEventHeader", { ...attributes, [name]: value }, "{}"),
        `This resource is configured for 'CloudEventV10' schema and requires '${name}' header ` +
          `to be set; it is ${shape}.`,
      );
    }
  }
  const only = { "ce-id": "A1", "content-type": "application/json" };
  assert.match(refusal("InvalidCloudEventHeader", only, "{}"), /'ce-specversion'/);
});

test("attributes in headers are checked like those in JSON", () => {
  const cases: readonly (readonly [headers: Headers, words: RegExp])[] = [
    [{ "ce-specversion": "0.3" }, /'specversion' must be "1\.0"/],
    [{ "ce-time": "yesterday" }, /'time' must be an RFC 3339 time/],
  ];
  for (const [headers, words] of cases) {
    assert.match(refusal("InputJsonInvalid", { ...attributes, ...headers }), words);
  }
  for (const name of ["ce-data", "ce-data_base64", "ce-x-y", "ce-", "ce-__proto__"]) {
    assert.match(
      refusal("InvalidCloudEventHeader", { ...attributes, [name]: "s3cret" }),
      /has no attribute of the name of header 'ce-[\w-]*'\.$/,
    );
  }
  const twice = { ...attributes, "ce-one": ["s3cret", "s3cret"] };
  assert.match(refusal("InvalidCloudEventHeader", twice), /takes header 'ce-one' only once\.$/);
});

test("the content type is said by its own header alone", () => {
  const headers = { ...attributes, "ce-datacontenttype": "text/html", "content-type": "text/css" };
  assert.deepEqual(readOne(headers), { ...event, datacontenttype: "text/css" });
});

test("values are taken out of quotes and decoded once", () => {
  const table: readonly (readonly [value: string, decoded: string])[] = [
    ["plain", "plain"],
    ["Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro € 😀"],
    ["%2541", "%41"],
    ["100%", "100%"],
    ["%zz", "%zz"],
    ['"in \\"quotes\\" \\\\ %41"', 'in "quotes" \\ A'],
    ['"', '"'],
    ["line%0D%0Aend%00", "line\r\nend\0"],
    [Buffer.from("raw ü€ %41").toString("latin1"), "raw ü€ A"],
    ["Gr\xfc\xdfe %E2%82%AC", "Grüße €"],
  ];
  for (const [value, decoded] of table) {
    const parsed = readOne({ ...attributes, "ce-subject": value });
    assert.deepEqual(parsed, { ...event, subject: decoded }, value);
  }
});

test("what an encoder of the specification writes is read back", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const value = text.replace(/[^!#$&-~]/gu, encodeURIComponent);
      assert.match(value, /^[!-~]*$/);
      assert.deepEqual(readOne({ ...attributes, "ce-x": value }), { ...event, x: text });
    }),
  );
});

test("bytes that are not UTF-8 are refused by the name of their header", () => {
  for (const value of ["%C0%A0", "%ff", "%E2%82", "%ED%A0%80"]) {
    assert.match(
      refusal("InvalidCloudEventHeader", { ...attributes, "ce-subject": value }),
      /takes header 'ce-subject' only as percent-encoded UTF-8\.$/,
    );
  }
});

test("no headers and no body do more than be refused", () => {
  const name = fc.oneof(
    fc.constantFrom("ce-id", "ce-type", "ce-source", "ce-specversion", "ce-time", "content-type"),
    fc.string({ maxLength: 8 }).map((text) => `ce-${text}`),
  );
  const headers = fc.dictionary(name, fc.oneof(fc.string(), fc.constant("1.0")));
  fc.assert(
    fc.property(headers, fc.uint8Array(), fc.boolean(), (given, body, isWhole) => {
      try {
        readOne(isWhole ? { ...given, ...attributes } : given, body);
      } catch (error) {
        assert.ok(error instanceof Refusal, String(error));
      }
    }),
  );
});

test("a binary event may have as many bytes as a request, whatever they become", () => {
  const body = Buffer.alloc(publishLimits.requestBytesMax, 0xff);
  const [published] = read({ ...attributes, "content-type": "image/png" }, body);
  assert.ok((published?.event.text.length ?? 0) > publishLimits.requestBytesMax);
});
