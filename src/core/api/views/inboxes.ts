// What the API shows of test inboxes.

import { inboxModes } from "../../inbox/inbox.ts";
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

export const InboxView = named(
  "Inbox",
  object({
    name: text,
    url: about(text, "For a subscription to the inbox; its key is a secret."),
    createdAt: instant,
    answer: object({ mode: words(...inboxModes), delayMs: whole }),
    received: about(whole, "Requests since the broker started, at all brokers of a cluster."),
    kept: about(whole, "How many of them are kept."),
    lastAt: orNull(instant),
    subscriptions: list(object({ topic: text, domainTopic: orNull(text), name: text })),
  }),
);
export type InboxView = Infer<typeof InboxView>;

export const InboxRequestView = named(
  "InboxRequest",
  object({
    number: about(whole, "Rises with time; no other request to the inbox has it."),
    at: instant,
    kind: words("handshake", "events", "deletion", "other"),
    method: text,
    headers: list(HeaderView),
    body: about(text, "At most 64 K characters of it."),
    bytes: whole,
    isCut: truth,
    events: about(whole, "How many came together."),
    eventIds: about(list(text), "The publishers'; at most a hundred."),
    status: about(whole, "What was answered."),
    delayMs: about(whole, "After how long."),
  }),
);
export type InboxRequestView = Infer<typeof InboxRequestView>;

export const InboxPage = named(
  "InboxPage",
  object({
    inbox: InboxView,
    requests: about(list(InboxRequestView), "The latest first; the latest hundred are kept."),
  }),
);

export const ShowMeView = named(
  "ShowMe",
  object({
    topic: text,
    subscription: text,
    inbox: text,
    event: about(text, "Ours."),
    story: about(text, "The path of its story."),
  }),
);
