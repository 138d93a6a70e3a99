// Shorter words for commands that are typed often, and the words of `az eventgrid` that Posthorn
// has no use for, which are refused by name.

/** By word; each is tried only where the word itself is no command. */
const shorter: Readonly<Record<string, string>> = {
  dl: "deadletter",
  "dead-letter": "deadletter",
  deadletters: "deadletter",
  domains: "domain",
  endpoints: "endpoint",
  events: "event",
  get: "show",
  ls: "list",
  redrives: "redrive",
  rm: "delete",
  sub: "event-subscription",
  subs: "event-subscription",
  subscription: "event-subscription",
  subscriptions: "event-subscription",
  topics: "topic",
};

export const shortNames: readonly (readonly [string, string])[] = [
  ["sub", "event-subscription"],
  ["dl", "deadletter"],
  ["ls", "list"],
  ["get", "show"],
  ["rm", "delete"],
];

export function longWord(word: string): string {
  return shorter[word] ?? word;
}

/** What `az eventgrid` has beyond Posthorn, and what to do instead. */
const onlyInAzure: Readonly<Record<string, string>> = {
  "system-topic":
    "Azure's own services publish to it; `posthorn trigger` publishes samples of their events",
  "extension-topic": "it belongs to resources in Azure",
  partner: "events of partners are routed by Azure",
  "partner configuration": "events of partners are routed by Azure",
  "verified-partner": "events of partners are routed by Azure",
  "topic-type list-event-types": "`posthorn trigger` lists the types it has samples of",
  "topic private-endpoint-connection": "use --inbound-ip-rules, or a firewall",
  "topic private-link-resource": "use --inbound-ip-rules, or a firewall",
  "domain private-endpoint-connection": "use --inbound-ip-rules, or a firewall",
  "domain private-link-resource": "use --inbound-ip-rules, or a firewall",
};

const page = "docs/compatibility.md";

/** Null: it is no command of `az eventgrid` either. */
export function whyNotHere(name: string): string | null {
  const known = Object.keys(onlyInAzure).find((each) => `${name} `.startsWith(`${each} `));
  if (known === undefined) return null;
  return `az eventgrid ${known} has no counterpart here: ${onlyInAzure[known]} (${page})`;
}
