// What `listen` prints while it runs: readable lines, or one JSON object per line.

import type { ReceivedRequest } from "../../core/received-request.ts";
import type { Arrived } from "../../core/receiver.ts";
import type { CommandOutside } from "../command.ts";
import type { ParsedOptions } from "../option.ts";
import { type Paint, painter } from "../print/output.ts";
import { drawEvents } from "./draw-events.ts";

export interface Show {
  /** Messages about itself, which are not part of the output for programs. */
  line(text: string): void;
  /** `answer` describes the answer that was sent. */
  received(arrived: Arrived, received: ReceivedRequest, answer: string): void;
}

export function openShow(given: ParsedOptions, outside: CommandOutside): Show {
  const paint = painter(outside);
  const isShort = given.isOn("quiet") === true;
  const isLines = outside.form === "table";
  return {
    line: (text) => (isLines ? outside.print : outside.tell)(`${text}\n`),
    received(arrived, received, answer) {
      const at = new Date(outside.now()).toISOString();
      if (!isLines) {
        const { method, path, headers } = arrived;
        outside.print(`${JSON.stringify({ at, method, path, headers, ...received, answer })}\n`);
        return;
      }
      const events = received.kind === "events" ? received.events : [];
      const lines = [
        headOf(arrived, received, { at, answer, paint }),
        ...drawEvents(events, { paint, isShort }),
      ];
      outside.print(`${lines.join("\n")}\n`);
    },
  };
}

function headOf(
  { method, path, headers }: Arrived,
  received: ReceivedRequest,
  { at, answer, paint }: { readonly at: string; readonly answer: string; readonly paint: Paint },
): string {
  const said = received.kind === "events" ? wordsOfEvents(received, headers) : wordsOf(received);
  const colour = /^20\d/.test(answer) ? "green" : "yellow";
  const time = paint("dim", at.slice(11, 23));
  return `${time} ${method} ${path}  ${said} → ${paint(colour, answer)}`;
}

function wordsOfEvents(
  { schema, events }: Extract<ReceivedRequest, { kind: "events" }>,
  headers: Arrived["headers"],
): string {
  const name = headers["aeg-subscription-name"];
  const before = headers["aeg-delivery-count"] ?? "0";
  const count = events.length === 1 ? "1 event" : `${events.length} events`;
  const again =
    before === "0" ? "" : `, sent ${before === "1" ? "once" : `${before} times`} before`;
  return `${schema}, ${count}${name === undefined ? "" : ` for ${name}`}${again}`;
}

function wordsOf(received: Exclude<ReceivedRequest, { kind: "events" }>): string {
  switch (received.kind) {
    case "validation":
      return "the validation event";
    case "options":
      return "the handshake of CloudEvents";
    case "deletion":
      return "the subscription is deleted";
    case "unknown":
      return received.why;
    default:
      return received satisfies never;
  }
}
