// What the broker prints at a terminal: what is running, where to look, and what to type next.
// Programs read the fact `broker.started` instead.

export interface Greeting {
  readonly version: string;
  readonly http: string | null;
  readonly https: string | null;
  /** The authority to trust; null if the operator has their own. */
  readonly ca: string | null;
  readonly data: string;
  readonly store: string;
  readonly profile: string;
  readonly clock: "real" | "virtual";
  readonly portal: string;
  readonly topics: number;
  /** Whether the log shows failed attempts. */
  readonly logsFailures: boolean;
}

/** At most fifteen lines. */
export function greet(started: Greeting): string {
  const { http, https, ca, data, store, profile, portal } = started;
  const where =
    store === "memory" ? "in memory, until it stops" : `in ${store === "sqlite" ? data : store}`;
  const fate = store === "memory" ? "lost" : "kept";
  const base = http ?? https ?? "";
  const failures = started.logsFailures
    ? "Failed attempts are logged below."
    : "The log level hides failed attempts; posthorn tail --failed shows them.";
  const time = started.clock === "virtual" ? "; time stands still: posthorn clock advance 1h" : "";
  const tls = https === null || http === null ? [] : [line("TLS", trusting(https, ca))];
  return [
    `Posthorn ${started.version} is ready: profile ${profile}, events ${where}${time}`,
    "",
    line("portal", portal),
    line("publish", `${base}/topics/<topic>/api/events`),
    ...tls,
    "",
    "Next, in other terminals:",
    ...stepsFor(started).map((step) => `  ${step}`),
    "",
    `${failures} Ctrl+C stops the broker; waiting events are ${fate}.`,
    "",
  ].join("\n");
}

function line(name: string, words: string): string {
  return `  ${name.padEnd(8)} ${words}`;
}

function trusting(https: string, ca: string | null): string {
  return ca === null ? https : `${https}, trusted with ${ca}`;
}

/** Where commands look for a broker that is not named. */
const dataDefault = "./posthorn-data";

/** As they work when they are copied: each finds its broker by the data folder. */
function stepsFor({ topics, data }: Greeting): readonly string[] {
  const steps =
    topics > 0
      ? ["topic list", "tail"]
      : [
          "topic create -n orders",
          "listen --subscribe orders",
          "publish -t orders --body '{\"amount\": 12}'",
        ];
  const folder = /[^\w./-]/.test(data) ? JSON.stringify(data) : data;
  const where = data === dataDefault ? "" : ` --data ${folder}`;
  return [
    ...steps.map((step) => `npx posthorn ${step}${where}`),
    ...(topics > 0 ? ["npx posthorn help"] : []),
  ];
}
