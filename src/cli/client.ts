// A client of a broker's control plane, as anyone could write one: plain HTTP with the admin key.
// What the broker refuses is a value; that it cannot be reached, or that it does not know us, ends
// the command.

import { join } from "node:path";
import type { Members } from "../core/members.ts";
import { Refusal } from "../core/refusal.ts";
import { isLoopback } from "../core/setting.ts";
import { refuseValue } from "../core/wording.ts";
import { isObject } from "./expression.ts";
import type { Secrets } from "./likeness.ts";
import { signingOf } from "./signing.ts";

/** What the process alone can do. */
export interface Wire {
  readonly readInput: () => Promise<string>;
  readonly fetch: typeof fetch;
  readonly sleep: (ms: number) => Promise<void>;
  /** Trusts an authority, given as PEM, beside the usual ones. */
  readonly trust: (pem: string) => void;
}

/** What a command stands on. */
export interface Outside extends Wire {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string;
  readonly print: (text: string) => void;
}

export interface Answer {
  readonly status: number;
  readonly body: Members;
  /** Where to ask how it goes on. */
  readonly operation: string | null;
}

export interface Client {
  readonly server: string;
  ask(method: string, path: string, body?: object): Promise<Answer>;
  /** All pages of a list. Refusal: Unavailable. */
  list(path: string): Promise<readonly Members[]>;
  /** Waits for what a write began; null when all went well, else why not. */
  follow(answer: Answer): Promise<string | null>;
}

const apiVersion = "2025-02-15";
const serverDefault = "http://127.0.0.1:5888";
const dataDefault = "./posthorn-data";
/** The broker holds its answers back; so this is about an hour. */
const pollsMax = 180;
const pagesMax = 10_000;

/** Refusal: InvalidSetting. */
export function openClient(
  given: { one(name: "server" | "key" | "data" | "ca"): string | null },
  outside: Outside,
): Client {
  const { env } = outside;
  const server = serverOf(given.one("server") ?? (env.POSTHORN_SERVER || serverDefault));
  const folder = given.one("data") ?? (env.POSTHORN_DATA || dataDefault);
  const key = given.one("key") ?? (env.POSTHORN_ADMIN_KEY || keyIn(folder, server, outside));
  if (server.protocol === "https:") trustOwn(given.one("ca"), folder, outside);
  const base = server.href.replace(/\/+$/, "");
  const ask: Client["ask"] = async (method, path, body) => {
    const url = new URL(`${base}${path}`);
    if (!url.searchParams.has("api-version")) url.searchParams.set("api-version", apiVersion);
    const response = await reach(base, outside, url, {
      method,
      redirect: "error",
      headers: {
        accept: "application/json",
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (response.status === 401) throw refuseKey(base, key);
    return response;
  };
  return {
    server: base,
    ask,
    async list(path) {
      const all: Members[] = [];
      let next: string | null = path;
      for (let page = 0; next !== null && page < pagesMax; page++) {
        const { status, body } = await ask("GET", next);
        if (status !== 200 || !Array.isArray(body.value)) throw refuseAnswer(base, next, status);
        all.push(...body.value.filter(isObject));
        next = typeof body.nextLink === "string" ? pathOf(body.nextLink, base) : null;
      }
      return all;
    },
    async follow({ operation }) {
      if (operation === null) return null;
      const path = pathOf(operation, base);
      for (let poll = 0; poll < pollsMax; poll++) {
        const { status, body } = await ask("GET", path);
        if (status !== 200) throw refuseAnswer(base, path, status);
        if (body.status === "Succeeded") return null;
        if (body.status === "Failed") return wordsOf(body, "it failed");
        await outside.sleep(1_000);
      }
      return "it has not ended yet; look at its provisioningState later";
    },
  };
}

function serverOf(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "") {
    return url;
  }
  const allowed = "a URL such as http://127.0.0.1:5888";
  throw refuseValue({ field: "server", value: text, allowed });
}

/** The key of a broker here is for that broker: it is not sent to other machines. */
function keyIn(folder: string, { hostname }: URL, { readFile }: Outside): string | null {
  if (!isLoopback(hostname.replace(/^\[|\]$/g, ""))) return null;
  return readOr(() => readFile(join(folder, "admin.key")).trim());
}

function readOr(read: () => string): string | null {
  try {
    return read();
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EACCES") return null;
    throw error;
  }
}

function trustOwn(file: string | null, folder: string, { readFile, trust }: Outside): void {
  const pem =
    file === null ? readOr(() => readFile(join(folder, "ca.pem"))) : readNamed(file, readFile);
  if (pem === null) return;
  try {
    trust(pem);
  } catch {
    const field = file ?? join(folder, "ca.pem");
    throw new Refusal(
      "InvalidSetting",
      `${field} must be a PEM file with certificates, and is not`,
    );
  }
}

/** A file that someone named. Refusal: InvalidSetting. */
export function readNamed(file: string, readFile: Outside["readFile"]): string {
  try {
    return readFile(file);
  } catch (error) {
    const code = (error as { code?: unknown }).code ?? "unknown";
    throw new Refusal("InvalidSetting", `${file} cannot be read (${code})`, { cause: error });
  }
}

async function reach(
  base: string,
  { fetch }: Outside,
  url: URL,
  init: RequestInit,
): Promise<Answer> {
  try {
    const response = await fetch(url, init);
    const text = await response.text();
    const operation = response.headers.get("azure-asyncoperation");
    return { status: response.status, body: parseBody(text), operation };
  } catch (error) {
    const cause = (error as { cause?: { code?: unknown; message?: unknown } }).cause;
    const why = cause?.code ?? cause?.message ?? (error as Error).message;
    throw new Refusal("Unavailable", `the broker at ${base} cannot be reached (${why})`, {
      cause: error,
    });
  }
}

function parseBody(text: string): Members {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Wherever the broker believes to be: the key goes where it was meant to go, and nowhere else. */
function pathOf(link: string, base: string): string {
  const { pathname, search } = new URL(link, base);
  return `${pathname}${search}`;
}

function refuseKey(base: string, key: string | null): Refusal {
  const why =
    key === null
      ? "asks for its admin key: give --key, POSTHORN_ADMIN_KEY or its data folder with --data"
      : "does not take this admin key";
  return new Refusal("Unauthorized", `the broker at ${base} ${why}`);
}

function refuseAnswer(base: string, path: string, status: number): Refusal {
  const words = `${base} answered ${status} to ${path.split("?")[0]}, as no Posthorn would`;
  return new Refusal("Unavailable", words);
}

/** What an answer says is wrong, in one line. */
export function wordsOf({ error }: Members, otherwise: string): string {
  const words = isObject(error) && typeof error.message === "string" ? error.message : otherwise;
  return words.replace(/\s+/g, " ");
}

/** The segments of an id, written so that a URL can hold them. */
export function pathTo(id: string): string {
  return id.split("/").map(encodeURIComponent).join("/");
}

export async function secretsOf(client: Client, id: string): Promise<Secrets> {
  const [url, attributes, signing] = await Promise.all([
    client.ask("POST", `${pathTo(id)}/getFullUrl`),
    client.ask("POST", `${pathTo(id)}/getDeliveryAttributes`),
    signingOf(client, id),
  ]);
  return {
    endpointUrl: url.body.endpointUrl ?? null,
    deliveryAttributeMappings: attributes.body.value ?? null,
    signing,
  };
}
