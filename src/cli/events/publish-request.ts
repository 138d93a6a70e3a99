// What is published: an event made from options, in the schema of its topic, and the request.

import { Refusal } from "../../core/refusal.ts";
import { isObject } from "../../core/template/expression.ts";
import { BrokerError } from "../broker-error.ts";
import type { Client, Outside } from "../client.ts";
import type { ParsedOptions } from "../option.ts";

export interface Target {
  readonly name: string;
  readonly path: string;
  readonly key: string;
  readonly schema: string;
  readonly isDomain: boolean;
}

/** With the required members that nobody wants to type, such as an id. */
export function completed(event: unknown, outside: Pick<Outside, "makeId" | "now">): unknown {
  if (!isObject(event)) return event;
  if ("specversion" in event) return { id: outside.makeId(), ...event };
  if (!("eventType" in event)) return event;
  const eventTime = new Date(outside.now()).toISOString();
  return { id: outside.makeId(), eventTime, dataVersion: "1.0", data: {}, ...event };
}

export function makeEvent(
  given: ParsedOptions,
  outside: Pick<Outside, "makeId" | "now">,
  { schema, isDomain }: Target,
  { id, data }: { readonly id?: string; readonly data?: unknown } = {},
): Record<string, unknown> {
  const type = given.one("type") ?? "Posthorn.Test";
  const subject = given.one("subject") ?? "posthorn/publish";
  const time = new Date(outside.now()).toISOString();
  const own = { id: id ?? given.one("id") ?? outside.makeId(), data: data ?? bodyIn(given) };
  const topic = given.one("domain-topic-name");
  if (isDomain && topic === null) {
    throw new Refusal("InvalidSetting", "--domain-topic-name must be given: this is a domain");
  }
  if (schema === "cloudeventschemav1_0") {
    return {
      specversion: "1.0",
      type,
      source: topic ?? "/posthorn/publish",
      subject,
      time,
      ...own,
    };
  }
  const around = { subject, eventType: type, eventTime: time, dataVersion: "1.0", ...own };
  return topic === null ? around : { topic, ...around };
}

/** Refusal: InvalidSetting. */
export function bodyIn(given: ParsedOptions): unknown {
  const text = given.one("body");
  if (text === null) return {};
  try {
    return JSON.parse(text);
  } catch {
    const words = `--body must be JSON such as '{"amount":12}', and is ${JSON.stringify(text)}`;
    throw new Refusal("InvalidSetting", words);
  }
}

/** Throws Complaint. */
export async function send(client: Client, { path, key }: Target, events: readonly unknown[]) {
  const isCloud = events.every((event) => isObject(event) && "specversion" in event);
  const type = isCloud ? "application/cloudevents-batch+json" : "application/json";
  const headers = { "aeg-sas-key": key, "content-type": `${type}; charset=utf-8` };
  const { status, body } = await client.post(path, headers, JSON.stringify(events));
  if (status >= 300) throw new BrokerError(status, body);
}
