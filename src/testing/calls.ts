// What the test kit asks the broker for, over HTTP like anyone else, and its refusals in words.

import { readFileSync } from "node:fs";

export type Call = (method: string, path: string, body?: unknown) => Promise<unknown>;

export const group = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn";
const version = "api-version=2025-02-15";
const provider = `${group}/providers/Microsoft.EventGrid`;

/** `shop/orders` is the topic `orders` of the namespace `shop`, and `shop/` the namespace. */
export function topicPath(topic: string, more = ""): string {
  const [first = "", second] = topic.split("/");
  if (second === undefined) return `${provider}/topics/${topic}${more}?${version}`;
  const within = second === "" ? "" : `/topics/${second}`;
  return `${provider}/namespaces/${first}${within}${more}?${version}`;
}

export function namespacesPath(): string {
  return `${provider}/namespaces?${version}`;
}

export function callerOf(url: () => string, key: string): Call {
  return async (method, path, body) => {
    const response = await fetch(`${url()}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${nameOf(path)}: ${wordsOf(response, text)}`);
    return text === "" ? null : JSON.parse(text);
  };
}

/** Without what is the same for all: `topics/orders`. */
function nameOf(path: string): string {
  const [plain = ""] = path.split("?");
  return plain.replace(`${provider}/`, "").replace(`${group}/providers/`, "");
}

/** The broker's own words. */
function wordsOf({ status }: Response, text: string): string {
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string } };
    return `${error.message} (${status} ${error.code})`;
  } catch {
    return `${status} ${text}`;
  }
}

/** A template as a value, or the file it is in. */
export type Template = string | Readonly<Record<string, unknown>>;

let deployed = 0;

/** Deploys as `az deployment group create` does, and resolves when it is done. */
export async function deploy(
  call: Call,
  template: Template,
  parameters: Readonly<Record<string, unknown>>,
  turn: () => Promise<void>,
): Promise<Readonly<Record<string, unknown>>> {
  const whole = typeof template === "string" ? readJson(template) : template;
  const name = `test-${++deployed}`;
  const path = `${group}/providers/Microsoft.Resources/deployments/${name}?api-version=2024-03-01`;
  await call("PUT", `${group}?api-version=2024-03-01`, { location: "local" });
  const values = Object.entries(parameters).map(([key, value]) => [key, { value }]);
  await call("PUT", path, {
    properties: {
      ...{ template: whole, parameters: Object.fromEntries(values), mode: "Incremental" },
    },
  });
  for (;;) {
    const { properties } = (await call("GET", path)) as { properties: DeploymentState };
    if (properties.provisioningState === "Succeeded") return outputsOf(properties);
    if (properties.provisioningState === "Failed") {
      throw new Error(`the template was not deployed: ${reasonOf(properties.error)}`);
    }
    await turn();
  }
}

interface DeploymentError {
  readonly message: string;
  readonly details?: readonly DeploymentError[];
}

interface DeploymentState {
  readonly provisioningState: string;
  readonly error?: DeploymentError;
  readonly outputs?: Readonly<Record<string, { readonly value: unknown }>>;
}

/** The innermost says most. */
function reasonOf(error: DeploymentError | undefined): string {
  const [inner] = error?.details ?? [];
  return inner === undefined ? (error?.message ?? "no reason was given") : reasonOf(inner);
}

function outputsOf({ outputs = {} }: DeploymentState): Record<string, unknown> {
  return Object.fromEntries(Object.entries(outputs).map(([name, { value }]) => [name, value]));
}

export function readJson(file: string): Readonly<Record<string, unknown>> {
  return JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, unknown>>;
}

/** Dead letters as records. */
export async function readDeadLetters(
  call: Call,
  container: string,
): Promise<Readonly<Record<string, unknown>>[]> {
  const records: Readonly<Record<string, unknown>>[] = [];
  let after: string | null = null;
  do {
    const query: string = after === null ? "" : `&after=${encodeURIComponent(after)}`;
    const page = (await call(
      "GET",
      `/api/v1/dead-letters?account=letters&container=${container}${query}`,
    )) as { value: { id: string }[]; next: string | null };
    for (const { id } of page.value) {
      const letter = (await call("GET", `/api/v1/dead-letters/${id}`)) as { record: string };
      records.push(JSON.parse(letter.record));
    }
    after = page.next;
  } while (after !== null);
  return records;
}
