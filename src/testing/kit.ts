// What the test kit offers, as types: the options of a grid, what can be published and waited for.
// grid.ts implements it.

import type { EndpointView, Overview, Story, SubscriptionView } from "../core/api/views.ts";
import type { Call, Template } from "./calls.ts";
import type { ScriptedEndpoint } from "./endpoint.ts";
import type { PublishedEvent, PublishedQuery } from "./facts.ts";
import type { QueueOptions, TestQueue } from "./queue.ts";

export interface GridOptions {
  /** `memory`, which is fastest, or `disk`: the embedded store in a folder of its own. */
  readonly store?: "memory" | "disk";
  /** `virtual`: time stands still until it is advanced. */
  readonly clock?: "virtual" | "real";
  /** The start of the virtual clock, ISO 8601. Default: now. */
  readonly startAt?: string;
  /** Makes the random additions to waits repeatable, so that times can be compared. */
  readonly seed?: number;
  /** Which version of the service to behave like. */
  readonly profile?: string;
  /** Also listens with TLS, which clients require for bearer tokens. */
  readonly https?: boolean;
  /** Any other setting of `posthorn serve`, by its name. */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * What there is from the beginning: an ARM template, or a configuration file with `topics` as
   * `posthorn serve --config` takes it; as a value, or the file it is in.
   */
  readonly resources?: string | Readonly<Record<string, unknown>>;
  /** Parameters of that template. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** How long a wait may take, in real time. Default: 5,000. */
  readonly patienceMs?: number;
}

/** An event of the Event Grid schema for `publish`; what is left out is filled in. */
export interface TestEvent {
  readonly id?: string;
  readonly subject?: string;
  readonly eventType?: string;
  readonly eventTime?: string;
  readonly dataVersion?: string;
  readonly data?: unknown;
}

/** The same for a topic of CloudEvents, with any extension. */
export interface TestCloudEvent {
  readonly id?: string;
  readonly type?: string;
  readonly source?: string;
  readonly subject?: string;
  readonly time?: string;
  readonly data?: unknown;
  readonly [extension: string]: unknown;
}

export interface TestTopic {
  readonly name: string;
  /** The URL to publish to. */
  readonly endpoint: string;
  readonly key: string;
}

/** What ARM calls `properties` of an event subscription, without its destination. */
export type SubscriptionTerms = Readonly<Record<string, unknown>>;

export interface SubscribeOptions {
  /** `filter`, `retryPolicy`, `eventDeliverySchema`, … as in ARM. */
  readonly properties?: SubscriptionTerms;
  /** `maxEventsPerBatch`, `deliveryAttributeMappings`, … as in ARM. */
  readonly destination?: Readonly<Record<string, unknown>>;
  /** Whether undeliverable events are kept, to be read with `deadLetters`. */
  readonly deadLetter?: boolean;
}

/** A record as in a blob. */
export type DeadLetter = Readonly<Record<string, unknown>>;

export interface WaitOptions {
  /** One subscription. Default: every one that matched the event. */
  readonly to?: string;
}

/** What happened while time moved. */
export interface Advanced {
  readonly now: string;
  readonly attempts: number;
  readonly delivered: number;
  readonly deadLettered: number;
  readonly dropped: number;
}

export interface Posthorn extends AsyncDisposable {
  readonly url: string;
  /** Null unless it was asked for. */
  readonly httpsUrl: string | null;
  readonly adminKey: string;
  /** A real endpoint on this machine, with scripted answers. Closed with the grid. */
  endpoint(): Promise<ScriptedEndpoint>;
  /** Creates a topic; `properties` as in ARM, such as `inputSchema`. */
  topic(name: string, properties?: Readonly<Record<string, unknown>>): Promise<TestTopic>;
  /** Creates an event subscription, and resolves when it is active. */
  subscribe(
    topic: string,
    name: string,
    endpoint: ScriptedEndpoint | { readonly url: string },
    options?: SubscribeOptions,
  ): Promise<void>;
  /**
   * Creates a pull queue: an event subscription of `namespace/topic`, and what is missing of these.
   */
  queue(topic: string, name: string, options?: QueueOptions): Promise<TestQueue>;
  /** Publishes in the topic's own schema and returns the ids, in order. */
  publish(topic: string, ...events: readonly (TestEvent | TestCloudEvent)[]): Promise<string[]>;
  /** Deploys an ARM template, as a value or from a file, and returns its outputs. */
  deploy(
    template: Template,
    parameters?: Readonly<Record<string, unknown>>,
  ): Promise<Readonly<Record<string, unknown>>>;
  /** Resolves with the first event that fits, published already or later, by anyone. */
  published(query?: PublishedQuery): Promise<PublishedEvent>;
  /**
   * Resolves when nothing goes on any more: every event has ended, or was tried and waits for a
   * later time.
   */
  settled(): Promise<void>;
  /** When all is settled: rejects if an endpoint accepted events that no `received` asked for. */
  nothingElse(): Promise<void>;
  /** Deletes all topics, subscriptions and dead letters, and resets the endpoints. */
  reset(): Promise<void>;
  /**
   * Moves the virtual clock: a duration such as `1h`, `90s` or `PT1H`, or `next` for the next
   * moment at which something is due.
   */
  advance(by: string): Promise<Advanced>;
  /** The broker's time, as in events. */
  now(): Promise<string>;
  accepted(id: string): Promise<void>;
  delivered(id: string, options?: WaitOptions): Promise<void>;
  deadLettered(id: string, options?: WaitOptions): Promise<void>;
  dropped(id: string, options?: WaitOptions): Promise<void>;
  /** Resolves when this many sends have been made and decided on. */
  attempted(id: string, attempts: number, options?: WaitOptions): Promise<void>;
  /** Everything known about one event. */
  story(id: string): Promise<Story>;
  /** All dead letters, as records. */
  deadLetters(): Promise<DeadLetter[]>;
  overview(): Promise<Overview>;
  subscriptions(): Promise<readonly SubscriptionView[]>;
  endpoints(): Promise<readonly EndpointView[]>;
  /** A request to the broker with the admin key: ARM's routes, or those of `/api/v1`. */
  readonly call: Call;
  /** Stops the broker and starts it again on the same folder; only `disk` keeps its events. */
  restart(): Promise<void>;
  close(): Promise<void>;
}
