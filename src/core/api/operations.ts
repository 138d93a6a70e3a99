// Every route of our own API, in one table: it serves them (control/api/serve.ts), checks what they
// are asked, and describes them (control/api/openapi.ts). All are below `/api/v1` and for admins
// alone. A topic is named by its name, which is unique over topics, domains and storage accounts; a
// subscription by its topic and its own name, and within a domain by `?domainTopic=` as well.

import {
  DeadLetterQuery,
  deadLetterPageQuery,
  drainOrder,
  ExplainFilters,
  endpointOrder,
  eventQuery,
  figureQuery,
  hastenOrder,
  historyQuery,
  liveQuery,
  RedriveOrder,
  ResendOrder,
  RotateSigning,
  SimulateOrder,
  within,
} from "./orders.ts";
import {
  anything,
  file,
  list,
  type Members,
  type ObjectSchema,
  object,
  type Schema,
  text,
  whole,
} from "./schema.ts";
import {
  BackupView,
  DeadLetterGroup,
  DeadLetterPage,
  DeadLetterView,
  EndpointView,
  EventSummary,
  FigureChart,
  FilterVerdict,
  HandshakeView,
  History,
  LiveEvent,
  Overview,
  ProblemView,
  page,
  RedriveView,
  ResentView,
  SettingView,
  SigningSecrets,
  Simulation,
  Story,
  SubscriptionView,
  searchPage,
  TopicView,
} from "./views.ts";

export interface Operation {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below `/api/v1`, with `{name}` for what varies. */
  readonly path: string;
  readonly summary: string;
  readonly query?: ObjectSchema<Members>;
  readonly body?: ObjectSchema<Members>;
  readonly answer: Schema<unknown>;
  /** Where the answer is no JSON. */
  readonly contentType?: string;
  /** It may go on after the answer; `location` shows how far it is. */
  readonly goesOn?: boolean;
}

const subscription = "/topics/{topic}/subscriptions/{name}";

export const operations = {
  showOverview: {
    method: "GET",
    path: "/overview",
    summary: "How things are now",
    answer: Overview,
  },
  listProblems: {
    method: "GET",
    path: "/problems",
    summary: "What is wrong, the worst first; equal problems are one",
    answer: page(ProblemView),
  },
  showHistory: {
    method: "GET",
    path: "/history",
    summary: "What was counted over the last minutes, for charts",
    query: historyQuery,
    answer: History,
  },
  showFigures: {
    method: "GET",
    path: "/figures",
    summary: "What was counted and measured over time, by the minute; many series at once",
    query: figureQuery,
    answer: FigureChart,
  },
  watch: {
    method: "GET",
    path: "/live",
    summary: "What happens, as server-sent events: `event:` is the kind, `data:` the rest",
    query: liveQuery,
    answer: LiveEvent,
    contentType: "text/event-stream; charset=utf-8",
  },
  listTopics: {
    method: "GET",
    path: "/topics",
    summary: "Topics and domains",
    answer: page(TopicView),
  },
  listSubscriptionsOfTopic: {
    method: "GET",
    path: "/topics/{topic}/subscriptions",
    summary: "The subscriptions of a topic",
    answer: page(SubscriptionView),
  },
  listSubscriptions: {
    method: "GET",
    path: "/subscriptions",
    summary: "All subscriptions",
    answer: page(SubscriptionView),
  },
  showSubscription: {
    method: "GET",
    path: subscription,
    summary: "A subscription, what waits for it and how its endpoint is",
    query: within,
    answer: SubscriptionView,
  },
  pauseSubscription: {
    method: "POST",
    path: `${subscription}/pause`,
    summary: "Hold everything back; nothing is dropped and nothing grows older",
    query: within,
    answer: SubscriptionView,
  },
  resumeSubscription: {
    method: "POST",
    path: `${subscription}/resume`,
    summary: "Let everything go on",
    query: within,
    answer: SubscriptionView,
  },
  drainSubscription: {
    method: "POST",
    path: `${subscription}/drain`,
    summary: "Let what waits go out at a chosen rate, then run as usual",
    query: within,
    body: drainOrder,
    answer: SubscriptionView,
  },
  hastenSubscription: {
    method: "POST",
    path: `${subscription}/hasten`,
    summary: "Try now what waits for its next attempt, or one event of it",
    query: within,
    body: hastenOrder,
    answer: object({ hastened: whole }),
  },
  skipSubscription: {
    method: "POST",
    path: `${subscription}/skip`,
    summary: "Drop everything that waits now",
    query: within,
    answer: object({ skipped: whole }),
  },
  showHandshake: {
    method: "GET",
    path: `${subscription}/handshake`,
    summary: "The handshake with the webhook, with its exchange",
    query: within,
    answer: HandshakeView,
  },
  repeatHandshake: {
    method: "POST",
    path: `${subscription}/validate`,
    summary: "Ask the webhook again",
    query: within,
    answer: HandshakeView,
  },
  showSigning: {
    method: "GET",
    path: `${subscription}/signing`,
    summary: "The secrets that deliveries are signed with, in clear",
    query: within,
    answer: SigningSecrets,
  },
  rotateSigning: {
    method: "POST",
    path: `${subscription}/signing`,
    summary: "A new secret, with an overlap, or no signing any more",
    query: within,
    body: RotateSigning,
    answer: SigningSecrets,
  },
  explainFilters: {
    method: "POST",
    path: "/topics/{topic}/explain",
    summary: "Would this event match? Clause by clause",
    body: ExplainFilters,
    answer: list(FilterVerdict),
  },
  findEvents: {
    method: "GET",
    path: "/events",
    summary: "Events, the newest first",
    query: eventQuery,
    answer: searchPage(EventSummary),
  },
  showStory: {
    method: "GET",
    path: "/events/{id}",
    summary: "The whole story of one event, by our id or the publisher's",
    answer: Story,
  },
  resendEvent: {
    method: "POST",
    path: "/events/{id}/resend",
    summary: "Send a kept event again, also one that was delivered",
    body: ResendOrder,
    answer: ResentView,
  },
  listEndpoints: {
    method: "GET",
    path: "/endpoints",
    summary: "Endpoints",
    answer: page(EndpointView),
  },
  closeEndpoint: {
    method: "POST",
    path: "/endpoints/close",
    summary: "Send nothing to an endpoint until it is opened",
    body: endpointOrder,
    answer: EndpointView,
  },
  openEndpoint: {
    method: "POST",
    path: "/endpoints/open",
    summary: "Send to an endpoint again, however it was",
    body: endpointOrder,
    answer: EndpointView,
  },
  resetEndpoint: {
    method: "POST",
    path: "/endpoints/reset",
    summary: "Forget how an endpoint was",
    body: endpointOrder,
    answer: EndpointView,
  },
  findDeadLetters: {
    method: "GET",
    path: "/dead-letters",
    summary: "Dead letters, the newest hour first",
    query: deadLetterPageQuery,
    answer: DeadLetterPage,
  },
  groupDeadLetters: {
    method: "GET",
    path: "/dead-letters/groups",
    summary: "Dead letters counted by reason, outcome and subscription",
    query: DeadLetterQuery,
    answer: list(DeadLetterGroup),
  },
  showDeadLetter: {
    method: "GET",
    path: "/dead-letters/{id}",
    summary: "One dead letter, with its record",
    answer: DeadLetterView,
  },
  startRedrive: {
    method: "POST",
    path: "/redrives",
    summary: "Send dead letters again, or see what would be sent",
    body: RedriveOrder,
    answer: RedriveView,
    goesOn: true,
  },
  listRedrives: {
    method: "GET",
    path: "/redrives",
    summary: "Redrives, the latest first",
    answer: page(RedriveView),
  },
  showRedrive: {
    method: "GET",
    path: "/redrives/{id}",
    summary: "How far a redrive is",
    answer: RedriveView,
  },
  stopRedrive: {
    method: "DELETE",
    path: "/redrives/{id}",
    summary: "Stop a redrive",
    answer: RedriveView,
  },
  resumeRedrive: {
    method: "POST",
    path: "/redrives/{id}/resume",
    summary: "Let a stopped redrive go on with what it has not sent",
    answer: RedriveView,
    goesOn: true,
  },
  simulate: {
    method: "POST",
    path: "/simulate",
    summary: "What would become of an event if its endpoint were away",
    body: SimulateOrder,
    answer: Simulation,
  },
  listSettings: {
    method: "GET",
    path: "/settings",
    summary: "The settings in force and where each came from",
    answer: page(SettingView),
  },
  listProfiles: {
    method: "GET",
    path: "/profiles",
    summary: "The profiles, as data",
    answer: list(anything),
  },
  listBackups: {
    method: "GET",
    path: "/backups",
    summary: "Backups",
    answer: page(BackupView),
  },
  takeBackup: {
    method: "POST",
    path: "/backups",
    summary: "Copy the embedded store while it is in use",
    answer: BackupView,
  },
  downloadBackup: {
    method: "GET",
    path: "/backups/{name}",
    summary: "Download a backup",
    answer: file,
    contentType: "application/vnd.sqlite3",
  },
  removeBackup: {
    method: "DELETE",
    path: "/backups/{name}",
    summary: "Remove a backup",
    answer: BackupView,
  },
  makeLink: {
    method: "POST",
    path: "/links",
    summary: "A link that signs a browser in to the portal, once",
    answer: object({ url: text }),
  },
} as const satisfies Readonly<Record<string, Operation>>;

export type Operations = typeof operations;
