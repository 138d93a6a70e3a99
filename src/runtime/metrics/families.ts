// All metrics of the broker: the name, its meaning and its type. A new metric needs a line here; a
// test finds those that are missing.
//
// `eventgrid_*` are the metrics of Azure Monitor under Prometheus' rules for names: words in lower
// case with underscores between them, `_total` for counters, seconds instead of milliseconds;
// dimensions likewise. `posthorn_*` are ours. If both have the same value, the second is derived
// from the first, and nothing is counted twice.

export type Labels = Readonly<Record<string, string>>;

export interface Family {
  readonly name: string;
  readonly kind: "counter" | "gauge" | "histogram" | "summary";
  /** One sentence, for the metrics page. */
  readonly help: string;
  /** Upper bounds of a histogram's buckets, the smallest first. */
  readonly buckets?: readonly number[];
  /** For gauges with too many labels: how they are combined, as a sum or the largest. */
  readonly fold?: "sum" | "max";
  /** The family whose counts are shown here under other labels. */
  readonly from?: { readonly name: string; labels(given: Labels): Labels };
}

const latencyBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** From a first attempt to the last one of a day. */
const deliveryBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 600, 3_600, 14_400, 86_400];
const sizeBuckets = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

const counter = (name: string, help: string): Family => ({ name, kind: "counter", help });

const counterFrom = (
  name: string,
  help: string,
  from: string,
  labels: (given: Labels) => Labels = (given) => given,
): Family => ({ name, kind: "counter", help, from: { name: from, labels } });

const gauge = (name: string, help: string, fold: "sum" | "max" = "sum"): Family => ({
  ...{ name, kind: "gauge", help, fold },
});

const histogram = (name: string, help: string, buckets: readonly number[]): Family => ({
  ...{ name, kind: "histogram", help, buckets },
});

/** Whether the client or the broker caused a refusal, as in the service. */
function publishErrorType(code: string): string {
  return code === "Unavailable" || code === "Internal" ? "ServerError" : "ClientError";
}

const ofSubscription = ({ subscription = "", ...rest }: Labels): Labels => ({
  ...rest,
  event_subscription_name: subscription,
});

export const families: readonly Family[] = [
  // Event Grid's.
  counterFrom(
    "eventgrid_publish_success_count_total",
    "PublishSuccessCount: events accepted.",
    "posthorn_published_events_total",
  ),
  counterFrom(
    "eventgrid_publish_fail_count_total",
    "PublishFailCount: publish requests refused.",
    "posthorn_publish_refused_total",
    ({ topic = "", code = "" }) => ({ topic, error: code, error_type: publishErrorType(code) }),
  ),
  histogram(
    "eventgrid_publish_success_latency_seconds",
    "PublishSuccessLatencyInMs, in seconds: from the request to the commit.",
    latencyBuckets,
  ),
  counterFrom(
    "eventgrid_unmatched_event_count_total",
    "UnmatchedEventCount: events accepted that no subscription wanted.",
    "posthorn_unmatched_events_total",
  ),
  counter(
    "eventgrid_matched_event_count_total",
    "MatchedEventCount: events accepted for a subscription.",
  ),
  counter(
    "eventgrid_advanced_filter_evaluation_count_total",
    "AdvancedFilterEvaluationCount: evaluations of advanced filters.",
  ),
  counterFrom(
    "eventgrid_delivery_success_count_total",
    "DeliverySuccessCount: events delivered.",
    "posthorn_delivered_events_total",
    ofSubscription,
  ),
  counter(
    "eventgrid_delivery_attempt_fail_count_total",
    "DeliveryAttemptFailCount: attempts to deliver an event that failed.",
  ),
  {
    name: "eventgrid_destination_processing_duration_seconds",
    kind: "summary",
    help: "DestinationProcessingDurationInMs, in seconds: how long the endpoint took over an event.",
  },
  counterFrom(
    "eventgrid_dropped_event_count_total",
    "DroppedEventCount: undeliverable events without a dead letter.",
    "posthorn_dropped_events_total",
    ({ reason = "", ...rest }) => ({ ...ofSubscription(rest), drop_reason: reason }),
  ),
  counter(
    "eventgrid_dead_lettered_count_total",
    "DeadLetteredCount: events written to a dead-letter destination.",
  ),

  // Ours: events.
  counter("posthorn_published_events_total", "Events accepted."),
  counter("posthorn_publish_refused_total", "Publish requests refused, by code."),
  counter("posthorn_matched_deliveries_total", "Deliveries made of accepted events."),
  counter("posthorn_unmatched_events_total", "Events accepted that no subscription wanted."),
  counter("posthorn_delivery_attempts_total", "Attempts, to dead-letter stores too, by outcome."),
  counter("posthorn_delivered_events_total", "Events delivered."),
  counter("posthorn_dead_lettered_events_total", "Events written to a dead-letter destination."),
  counter(
    "posthorn_dropped_events_total",
    "Undeliverable events without a dead letter, by reason.",
  ),
  counter("posthorn_received_events_total", "Events handed out to receivers of pull queues."),
  counter(
    "posthorn_lock_orders_total",
    "Locks that receivers asked to acknowledge, release, reject or renew, by order and result.",
  ),
  counter("posthorn_halved_batches_total", "Batches sent again in halves to find a bad event."),
  counter("posthorn_redriven_events_total", "Dead letters sent again, by whose they are."),
  counter("posthorn_lost_notices_total", "Notices of dead-letter blobs that could not be kept."),
  histogram(
    "posthorn_delivery_latency_seconds",
    "From the publish of an event to its delivery, retries included.",
    deliveryBuckets,
  ),

  // Ours: what waits, and for whom.
  gauge("posthorn_waiting_events", "Events that wait, by stage: deliver or deadLetter."),
  gauge(
    "posthorn_oldest_waiting_seconds",
    "How long the one that has waited longest has been in its stage.",
    "max",
  ),
  gauge(
    "posthorn_locked_events",
    "Events of a pull queue that are locked, or released until later.",
  ),
  gauge("posthorn_waiting_receivers", "Requests that wait for events of a pull queue."),
  gauge("posthorn_endpoint_state", "1 for the state that a subscription's endpoint is in.", "max"),
  gauge("posthorn_sends_under_way", "Requests to endpoints that are not answered yet."),
  gauge("posthorn_topics", "Topics, domains and storage accounts."),
  gauge("posthorn_subscriptions", "Event subscriptions."),
  gauge("posthorn_ready", "1 while publishes are accepted, else 0."),

  // Ours: the store and the process.
  counter("posthorn_store_failures_total", "Calls of the store that failed, by verb."),
  histogram(
    "posthorn_store_commit_seconds",
    "How long the store took over a round.",
    latencyBuckets,
  ),
  histogram("posthorn_store_round_operations", "Operations that shared a round.", sizeBuckets),
  counter(
    "posthorn_story_missed_total",
    "Notes that are missing in stories: the disk was too slow.",
  ),
  gauge("posthorn_event_loop_delay_mean_seconds", "Delay of the event loop since the last look."),
  gauge("posthorn_event_loop_delay_p99_seconds", "Its 99th percentile since the last look."),
  gauge("posthorn_event_loop_delay_max_seconds", "Its largest since the last look."),
  gauge("posthorn_build_info", "1, with the version as a label."),
  counter("process_cpu_seconds_total", "Processor time used, user and system."),
  gauge("process_resident_memory_bytes", "Memory in use by the process."),
  gauge("process_start_time_seconds", "When the process started, in seconds since 1970."),
  gauge("nodejs_heap_size_total_bytes", "Heap that Node has allocated."),
  gauge("nodejs_heap_size_used_bytes", "Heap that is in use."),
  gauge("nodejs_external_memory_bytes", "Memory outside of the heap, buffers among it."),
];
