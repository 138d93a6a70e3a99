// What the API shows of what was tried before it is saved.

import {
  about,
  type Infer,
  instant,
  list,
  named,
  object,
  orNull,
  text,
  truth,
  whole,
  words,
} from "../schema.ts";
import { HeaderView } from "./pages.ts";

export const TriedUrl = named(
  "TriedUrl",
  object({
    verdict: about(
      words("agreed", "heard", "failed"),
      "`heard`: it took the question and did not answer it, so that a person may.",
    ),
    words: text,
    durationMs: whole,
    request: object({ method: text, headers: list(HeaderView), body: orNull(text) }),
    answer: about(
      orNull(object({ status: whole, headers: list(HeaderView), body: text })),
      "Null: there was none. Of the body at most 4096 characters.",
    ),
  }),
);
export type TriedUrl = Infer<typeof TriedUrl>;

export const SeenType = named(
  "SeenType",
  object({ type: text, count: about(whole, "Among the latest events."), lastAt: instant }),
);

const TriedEvent = object({
  event: text,
  id: text,
  type: text,
  subject: text,
  acceptedAt: instant,
  matches: truth,
  clause: about(orNull(text), "The first that said no."),
  because: orNull(text),
  isHeadOnly: about(truth, "Its data is not kept: clauses about it were tried on nothing."),
});
export type TriedEvent = Infer<typeof TriedEvent>;

export const TriedFilter = named(
  "TriedFilter",
  object({
    looked: whole,
    matched: whole,
    events: about(list(TriedEvent), "The latest first; at most fifty."),
    types: list(SeenType),
  }),
);
export type TriedFilter = Infer<typeof TriedFilter>;

export const DeadLetterStoreView = named(
  "DeadLetterStore",
  object({
    armId: about(text, "What a subscription names."),
    name: text,
    kind: words("folder", "azure"),
    folder: about(orNull(text), "On the broker's machine."),
    containers: about(list(text), "Those in use; another one is made with its first letter."),
  }),
);
export type DeadLetterStoreView = Infer<typeof DeadLetterStoreView>;
