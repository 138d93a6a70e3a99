// Events that arrived, as lines.

import type { ArrivedEvent } from "../../core/received-request.ts";
import { isObject } from "../../core/template/expression.ts";
import type { Paint } from "../print/output.ts";

/** As lines: each event's name, and its data unless that is switched off. */
export function drawEvents(
  events: readonly ArrivedEvent[],
  { paint, isShort }: { readonly paint: Paint; readonly isShort: boolean },
): string[] {
  return events.flatMap(({ id, type, subject, body }) => {
    const head = `  ${paint("bold", id || "(no id)")}  ${type}  ${subject}`.trimEnd();
    if (isShort) return [head];
    const data = isObject(body) && "data" in body ? body.data : body;
    return [
      head,
      ...JSON.stringify(data, null, 2)
        .split("\n")
        .map((line) => `    ${line}`),
    ];
  });
}
