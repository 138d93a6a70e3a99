// What was received from a pull queue by hand, and what became of its locks.

import {
  about,
  anything,
  type Infer,
  instant,
  named,
  object,
  orNull,
  text,
  whole,
  words,
} from "../schema.ts";

export const ReceivedView = named(
  "Received",
  object({
    lockToken: text,
    lockedUntil: instant,
    deliveryCount: about(whole, "How often it was handed out, this time included."),
    publishedAt: instant,
    systemId: about(text, "Our own id, of its story."),
    event: about(anything, "The CloudEvent."),
  }),
);
export type ReceivedView = Infer<typeof ReceivedView>;

export const SettledView = named(
  "Settled",
  object({
    lockToken: text,
    result: about(
      words("succeeded", "lost", "bad"),
      "`lost`: the lock has ended. `bad`: it is no lock of this queue.",
    ),
    lockedUntil: about(orNull(instant), "Of a lock that was renewed."),
  }),
);
export type SettledView = Infer<typeof SettledView>;
