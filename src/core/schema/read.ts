// A text → the events in it, whatever the schema; CloudEvents only in structured form.

import type { InputSchema, Published } from "../event.ts";
import { readCloudEvents } from "./cloudevents.ts";
import { readCustomEvents } from "./custom.ts";
import { readEventGridEvents } from "./eventgrid.ts";
import type { Reading } from "./reading.ts";

/** Refusals: InputJsonInvalid, PayloadTooLarge. */
export function readEvents(
  schema: InputSchema,
  text: string,
  reading: Reading,
): readonly Published[] {
  switch (schema) {
    case "EventGridSchema":
      return readEventGridEvents(text, reading);
    case "CloudEventSchemaV1_0":
      return readCloudEvents(text, /^\s*\[/.test(text) ? "batch" : "single", reading);
    case "CustomEventSchema":
      return readCustomEvents(text, reading);
    default:
      return schema satisfies never;
  }
}
