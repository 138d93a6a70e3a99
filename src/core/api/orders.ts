// What our own API takes: the bodies and queries of its requests, each with the type inferred from
// it. Limits are next to their members. What depends on more than the request itself (whether a
// subscription exists, what a profile supports) is checked by the handlers.

import { redriveLimits } from "../deadletter/redrive.ts";
import { drainRange } from "../delivery/flow.ts";
import { profileNames } from "../delivery/profile.ts";
import { overlapMsMax } from "../delivery/signing.ts";
import { scopeKinds } from "../figures/figures.ts";
import { keptMsMax } from "../figures/steps.ts";
import { inboxLimits, inboxModes } from "../inbox/inbox.ts";
import { receiveLimits, releaseDelays } from "../pull/pull-rules.ts";
import { searchRange } from "../story/chronicle.ts";
import { listed } from "../text/setting-kinds.ts";
import {
  about,
  anyObject,
  type Infer,
  instant,
  list,
  named,
  numberFrom,
  object,
  oneOf,
  optional,
  orNull,
  type Schema,
  textOf,
  truth,
  whole,
  wholeFrom,
  words,
} from "./schema.ts";
import { DeliveryState, figureColumns, liveKinds } from "./views.ts";

/** Names, ids and subjects are never longer than this. */
const name = textOf({ min: 1, max: 1_024 }, { allowed: "a name of at most 1024 characters" });
const word = textOf({ min: 1, max: 1_024 });
/** Where a page ended; its inside is ours. */
const bookmark = textOf({ min: 1, max: 4_096 });

export const within = object({ domainTopic: optional(name) });

export const changesQuery = object({
  since: optional(about(word, "The revision of an earlier answer. Default: all.")),
});

export const historyQuery = object({
  minutes: optional(about(wholeFrom({ min: 1, max: 1_440 }), "Default: 60.")),
});

export const figureQuery = object({
  kind: optional(about(words(...scopeKinds), "Default: broker, of all members of a cluster.")),
  name: optional(
    about(
      word,
      "Of the topic, subscription or endpoint, or a member's id. Default: all of the kind.",
    ),
  ),
  topic: optional(about(name, "Of subscriptions.")),
  domainTopic: optional(about(name, "Of subscriptions.")),
  minutes: optional(
    about(wholeFrom({ min: 1, max: keptMsMax / 60_000 }), "Until now. Default: 60."),
  ),
  from: optional(about(instant, "In the place of `minutes`.")),
  to: optional(about(instant, "Default: now.")),
  points: optional(about(wholeFrom({ min: 1, max: 1_500 }), "At most. Default: 60.")),
  only: optional(about(list(figureColumns), "The columns, parted by commas. Default: all.")),
});

export const tryUrlOrder = object({
  url: textOf({ min: 1, max: 2_048 }, { allowed: "a URL", isSecret: true }),
  deliverySchema: optional(words("EventGridSchema", "CloudEventSchemaV1_0", "CustomInputSchema")),
});

export const tryFilterOrder = object({
  filter: about(anyObject(), "As in ARM's `properties.filter`."),
  domainTopic: optional(name),
});

/** Unlike a client of a namespace, who asks by hand need not wait. */
export const receiveOrder = object({
  max: optional(about(wholeFrom(receiveLimits.events), "Default: 1.")),
  waitSeconds: optional(
    about(
      wholeFrom({ min: 0, max: receiveLimits.waitSeconds.max }),
      "How long to wait for the first event. Default: 0.",
    ),
  ),
});

export const settleOrder = object({
  order: words("acknowledge", "release", "reject", "renewLock"),
  lockTokens: list(textOf({ min: 1, max: 1_024 }), {
    ...{ min: 1, max: 1_000, allowed: "a list of 1 to 1000 lock tokens" },
  }),
  delaySeconds: optional(
    about(
      oneOf(
        releaseDelays.map((seconds) => wholeFrom({ min: seconds, max: seconds })),
        listed(releaseDelays.map(String)),
      ),
      "Of a release. Default: 0.",
    ),
  ),
});

export const inboxOrder = object({ name });

export const inboxQuery = object({
  after: optional(about(whole, "Only requests with a greater number.")),
});

export const inboxAnswerOrder = object({
  mode: about(
    words(...inboxModes),
    "`accept`: 200; `fail`: 500; `slow`: 200 after a while; `flapping`: 500 and 200 by turns; " +
      "`tooLarge`: 413.",
  ),
  delayMs: optional(
    about(
      wholeFrom({ min: 0, max: inboxLimits.delayMsMax }),
      `Before every answer. Default: ${inboxLimits.slowMs} for slow, otherwise none.`,
    ),
  ),
});

/** As people type it. */
const searchWords = about(
  textOf({ min: 1, max: 1_024 }),
  "`type:Shop.Paid state:failing 8f3c`: parts of `type:`, `subject:`, `topic:`, `subscription:` and " +
    "`id:`; `state:` is waiting, failing (tried before), delivered, deadLettering, deadLettered, " +
    "dropped, failed (one of these three) or unknown; other words are looked for in all of them.",
);

export const liveQuery = object({
  kinds: optional(about(list(liveKinds), "Parted by commas; default: all.")),
  topic: optional(name),
  subscription: optional(name),
  q: optional(searchWords),
});

export const eventQuery = object({
  q: optional(searchWords),
  id: optional(word),
  subject: optional(word),
  type: optional(word),
  topic: optional(word),
  subscription: optional(word),
  state: optional(DeliveryState),
  from: optional(instant),
  to: optional(instant),
  after: optional(bookmark),
  limit: optional(about(wholeFrom(searchRange), "Default: 50.")),
});

export const DeadLetterQuery = object({
  account: optional(word),
  container: optional(word),
  topic: optional(word),
  subscription: optional(word),
  reason: optional(word),
  outcome: optional(word),
  type: optional(word),
  from: optional(instant),
  to: optional(instant),
  redriven: optional(about(truth, "Whether they have been sent again before.")),
});
export type DeadLetterQuery = Infer<typeof DeadLetterQuery>;

export const deadLetterPageQuery = object({
  ...DeadLetterQuery.members,
  after: optional(bookmark),
  limit: optional(about(wholeFrom({ min: 1, max: 1_000 }), "Default: 100.")),
});

export const RedriveOrder = named(
  "RedriveOrder",
  object({
    ids: optional(
      about(
        list(textOf({ min: 1, max: 4_096 }, { allowed: "the id of a dead letter" }), {
          min: 1,
          max: redriveLimits.idsMax,
          allowed: `an array of 1 to ${redriveLimits.idsMax} ids; for more, write a query`,
        }),
        "Either some, by their ids, …",
      ),
    ),
    query: optional(about(DeadLetterQuery, "… or all that match.")),
    to: optional(
      about(
        oneOf(
          [
            object({ topic: name, subscription: name, domainTopic: optional(name) }),
            object({ url: textOf({ min: 1, max: 2_048 }, { allowed: "a URL", isSecret: true }) }),
          ],
          "an object with topic and subscription, or with url",
        ),
        "Default: the subscription each was meant for.",
      ),
    ),
    perSecond: optional(
      about(
        numberFrom({ min: 0.01, max: redriveLimits.perSecondMax }, "a number of events a second"),
        `Default: ${redriveLimits.perSecondDefault}.`,
      ),
    ),
    dryRun: optional(about(truth, "Nothing is sent: the answer shows what would be.")),
    force: optional(
      about(truth, "Sends also what has been redriven as often as the guard allows."),
    ),
  }),
);
export type RedriveOrder = Infer<typeof RedriveOrder>;

export const ResendOrder = named(
  "ResendOrder",
  object({
    subscriptions: optional(
      about(
        list(name, { min: 1, max: 500, allowed: "an array of 1 to 500 names of subscriptions" }),
        "Only these, whatever their filters. Default: those whose filters match now.",
      ),
    ),
  }),
);
export type ResendOrder = Infer<typeof ResendOrder>;

export const drainOrder = object({
  perSecond: numberFrom(drainRange, "a number of events a second"),
});

export const hastenOrder = object({
  event: optional(
    textOf({ min: 1, max: 1_024 }, { allowed: "the id of an event, or left out for all" }),
  ),
});

export const endpointOrder = object({
  endpoint: textOf(
    { min: 1, max: 4_096 },
    { allowed: "the name of an endpoint, as GET /api/v1/endpoints shows it" },
  ),
  because: optional(textOf({ min: 0, max: 500 }, { allowed: "a text of at most 500 characters" })),
});

export const RotateSigning = named(
  "RotateSigning",
  object({
    secret: optional(
      about(
        textOf({ min: 1, max: 1_024 }, { isSecret: true }),
        "`whsec_…`; one is made when it is left out.",
      ),
    ),
    overlapMs: optional(
      about(
        wholeFrom({ min: 0, max: overlapMsMax }, "a whole number of milliseconds"),
        "How long the older secrets stay active; 0: not at all.",
      ),
    ),
    off: optional(about(truth, "Signing is switched off and all secrets are forgotten.")),
  }),
);
export type RotateSigning = Infer<typeof RotateSigning>;

export const ExplainFilters = named(
  "ExplainFilters",
  object({
    event: about(
      anyObject("one event as it would be published, as an object"),
      "The event, as it would be published to the topic.",
    ),
    subscription: optional(about(name, "Default: all of the topic.")),
    domainTopic: optional(name),
    filter: optional(
      about(
        anyObject(),
        "In the place of the subscriptions' own, as in ARM's `properties.filter`.",
      ),
    ),
  }),
);
export type ExplainFilters = Infer<typeof ExplainFilters>;

const spanMs = wholeFrom({ min: 0, max: 366 * 86_400_000 });

export const endpointDoes: Schema<number | string> = about(
  oneOf(
    [wholeFrom({ min: 200, max: 599 }), words("timeout", "refused", "dns", "tls")],
    "a status from 200 to 599, or timeout, refused, dns or tls",
  ),
  "What the endpoint does.",
);

/** A broker has other things to do meanwhile; the command line takes more. */
export const simulateBacklogRange = { min: 0, max: 5_000 };
export const simulateRateRange = { min: 1, max: 1_000_000 };
const answerMs = wholeFrom({ min: 0, max: 600_000 });
const spells = list(
  object({
    fromMs: spanMs,
    untilMs: about(orNull(spanMs), "Null: for good."),
    does: endpointDoes,
    retryAfterMs: optional(spanMs),
    answerMs: optional(about(answerMs, "How long it takes to answer then.")),
  }),
  { min: 0, max: 100, allowed: "a list of at most 100 spells" },
);

export const SimulateOrder = named(
  "SimulateOrder",
  object({
    profile: words(...profileNames),
    destination: optional(words("webhook", "resource")),
    maxDeliveryAttempts: optional(whole),
    eventTimeToLiveInMinutes: optional(whole),
    outage: about(spells, "What the endpoint does from when to when, counted from the publish."),
    backlog: optional(
      about(
        wholeFrom(simulateBacklogRange),
        "Events that wait when the endpoint returns, published evenly over the outage.",
      ),
    ),
    deadLetter: optional(truth),
    deadLetterOutage: optional(
      about(spells, "What the dead-letter store does; the rest of the time it takes everything."),
    ),
    batch: optional(
      object({
        maxEventsPerBatch: optional(whole),
        preferredBatchSizeInKilobytes: optional(whole),
      }),
    ),
    answerMs: optional(
      about(
        answerMs,
        "How long the endpoint takes to answer. Default: 50. Beyond the profile's wait it is late.",
      ),
    ),
    eventBytes: optional(
      about(
        wholeFrom({ min: 1, max: 1_048_576 }),
        "How large each event of the backlog is, for batches. Default: 1024.",
      ),
    ),
    allowedRate: optional(about(wholeFrom(simulateRateRange), "Requests a minute.")),
    seed: optional(
      about(
        wholeFrom({ min: 0, max: Number.MAX_SAFE_INTEGER }),
        "Fixes the random additions; without it each is half its largest.",
      ),
    ),
  }),
);
export type SimulateOrder = Infer<typeof SimulateOrder>;
