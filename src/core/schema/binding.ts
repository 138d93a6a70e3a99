// CloudEvents over HTTP: which form a request has, and how a binary event, with its attributes in
// headers and its data as the body, becomes a structured one.
// Follows bindings/http-protocol-binding.md of https://github.com/cloudevents/spec, version 1.0.2.
//
// *Differs:* the service is said to accept binary events only with JSON data. Other data is
// accepted here too, and delivered as `data_base64`.

import type { Published } from "../event.ts";
import { Refusal } from "../refusal.ts";
import type { Request } from "../request.ts";
import { shapeOf } from "../text/check.ts";
import { readCloudEvents } from "./cloudevents.ts";
import { parseText, quoteName, type Reading } from "./reading.ts";

type Headers = Request["headers"];

/** The body of a request in the forms it may be needed in, each made on demand. */
export interface Content {
  readonly byteCount: number;
  /** Refusal: InputJsonInvalid, when it is not UTF-8. */
  text(): string;
  base64(): string;
}

/** In the order in which they are checked. */
const requiredHeaders = ["ce-specversion", "ce-type", "ce-source", "ce-id"];

/** Refusals: InvalidContentType, and those of each form. */
export function readCloudEventRequest(
  { headers, content }: { readonly headers: Headers; readonly content: Content },
  reading: Reading,
): readonly Published[] {
  const mediaType = mediaTypeOf(headers);
  if (mediaType === "application/cloudevents-batch+json") {
    return readCloudEvents(content.text(), "batch", reading);
  }
  if (mediaType === "application/cloudevents+json") {
    return readCloudEvents(content.text(), "single", reading);
  }
  const isOtherFormat = mediaType.startsWith("application/cloudevents");
  if (!isOtherFormat && requiredHeaders.some((name) => headers[name] !== undefined)) {
    return readBinary({ headers, content, mediaType }, reading);
  }
  if (mediaType === "application/json") return readCloudEvents(content.text(), "single", reading);
  throw new Refusal(
    "InvalidContentType",
    "The Content-Type must be 'application/cloudevents+json; charset=utf-8' or " +
      "'application/cloudevents-batch+json; charset=UTF-8', or the event's attributes must be " +
      `in headers that begin with 'ce-'; it is ${shapeOf(mediaType || undefined)}.`,
  );
}

/** Without parameters, in lower case; empty when there is none. */
function mediaTypeOf({ "content-type": given }: Headers): string {
  return typeof given === "string" ? (given.split(";", 1)[0] ?? "").trim().toLowerCase() : "";
}

interface Binary {
  readonly headers: Headers;
  readonly content: Content;
  readonly mediaType: string;
}

/** Refusals: InvalidCloudEventHeader, InputJsonInvalid. */
function readBinary(binary: Binary, reading: Reading): readonly Published[] {
  const { headers } = binary;
  for (const name of requiredHeaders) {
    if (headers[name] !== undefined && headers[name] !== "") continue;
    throw refuseHeader(`requires '${name}' header to be set; it is ${shapeOf(headers[name])}`);
  }
  const members: string[] = [];
  for (const name in headers) {
    if (name.startsWith("ce-")) addAttribute(members, name, headers[name]);
  }
  if (typeof headers["content-type"] === "string") {
    members.push(`"datacontenttype":${JSON.stringify(headers["content-type"])}`);
  }
  addContent(members, binary, reading);
  // The body was measured as it came; with base64 in it, the event may be longer.
  const limits = { ...reading.limits, eventBytesMax: Infinity, requestBytesMax: Infinity };
  return readCloudEvents(`{${members.join()}}`, "single", { ...reading, limits });
}

function addAttribute(members: string[], header: string, value: Headers[string]): void {
  const name = header.slice("ce-".length);
  // The content type has its own header in the binding.
  if (name === "datacontenttype") return;
  if (!/^[a-z0-9]+$/.test(name) || name === "data") {
    throw refuseHeader(`has no attribute of the name of header ${quoteName(header)}`);
  }
  if (typeof value !== "string") throw refuseHeader(`takes header '${header}' only once`);
  members.push(`"${name}":${JSON.stringify(decodeHeader(header, value))}`);
}

function addContent(members: string[], { content, mediaType }: Binary, reading: Reading): void {
  if (content.byteCount === 0) return;
  if (!/^(?:application|text)\/(?:[^/]+\+)?json$/.test(mediaType)) {
    members.push(`"data_base64":"${content.base64()}"`);
    return;
  }
  const text = content.text();
  // Valid JSON by itself; otherwise it could end the member it is put into and begin others.
  parseText(text, reading.limits);
  members.push(`"data":${text}`);
}

/** Quotes are removed and percent-encoding is undone once. */
function decodeHeader(name: string, value: string): string {
  const quoted = /^"(.*)"$/.exec(value)?.[1];
  const plain = quoted === undefined ? value : quoted.replace(/\\(.)/g, "$1");
  try {
    return decodeBytes(plain).replace(/(?:%[0-9a-f]{2})+/gi, decodeURIComponent);
  } catch {
    throw refuseHeader(`takes header '${name}' only as percent-encoded UTF-8`);
  }
}

/**
 * Bytes beyond ASCII, which Node gives as Latin-1, should have been encoded. Some clients send
 * UTF-8, or Latin-1 as the SDK for JavaScript does.
 */
function decodeBytes(text: string): string {
  const encode = (bytes: string) =>
    bytes.replace(/./g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  try {
    return text.replace(/[\x80-\xff]+/g, (bytes) => decodeURIComponent(encode(bytes)));
  } catch {
    return text;
  }
}

/** `what` names the schema. */
function refuseHeader(what: string): Refusal {
  return new Refusal(
    "InvalidCloudEventHeader",
    `This resource is configured for 'CloudEventV10' schema and ${what}.`,
  );
}
