// A broker's address and key: from options or the environment, or from its data folder on the same
// machine.

import { join } from "node:path";
import { Refusal } from "../core/refusal.ts";
import { isLoopback, urlFromHere } from "../core/text/setting-kinds.ts";
import { refuseValue } from "../core/text/wording.ts";
import type { Outside } from "./client.ts";
import { type Context, contextIn } from "./contexts.ts";

const serverDefault = "http://127.0.0.1:5888";
const dataDefault = "./posthorn-data";

/** The options for it. */
export interface BrokerAddress {
  one(name: "server" | "key" | "data" | "ca" | "context"): string | null;
}

/** Refusal: InvalidSetting. */
export function findBroker(
  given: BrokerAddress,
  outside: Outside,
): { readonly base: string; readonly key: string | null } {
  const { env } = outside;
  const context = contextFor(given, outside);
  const folder = given.one("data") ?? (env.POSTHORN_DATA || context.data || dataDefault);
  const found = addressIn(folder, outside);
  const said = given.one("server") ?? (env.POSTHORN_SERVER || context.server);
  const named = said ?? (found || serverDefault);
  const server = serverOf(named);
  const isHere = named === found || isLoopback(server.hostname.replace(/^\[|\]$/g, ""));
  const key =
    given.one("key") ??
    (env.POSTHORN_KEY || env.POSTHORN_ADMIN_KEY || context.key) ??
    (isHere ? keyIn(folder, outside) : null);
  if (server.protocol === "https:") trustOwn(given.one("ca") ?? context.ca, folder, outside);
  return { base: server.href.replace(/\/+$/, ""), key };
}

/**
 * A broker that is named in another way has nothing to do with the usual context: its key is for
 * its own server alone.
 */
function contextFor(given: BrokerAddress, outside: Outside): Context {
  const { env } = outside;
  const isNamed = given.one("context") !== null || env.POSTHORN_CONTEXT;
  const isElsewhere = [
    given.one("server"),
    given.one("data"),
    env.POSTHORN_SERVER,
    env.POSTHORN_DATA,
  ];
  return !isNamed && isElsewhere.some(Boolean) ? {} : contextIn(given, outside);
}

function serverOf(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "") {
    return url;
  }
  const allowed = "a URL such as http://127.0.0.1:5888";
  throw refuseValue({ field: "server", value: text, allowed });
}

/** The key of a local broker is only for that broker: it is not sent to other machines. */
function keyIn(folder: string, { readFile }: Outside): string | null {
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

function trustOwn(file: string | undefined, folder: string, { readFile, trust }: Outside): void {
  const pem =
    file === undefined ? readOr(() => readFile(join(folder, "ca.pem"))) : readNamed(file, readFile);
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

/** A file given by an option. Refusal: InvalidSetting. */
export function readNamed(file: string, readFile: Outside["readFile"]): string {
  try {
    return readFile(file);
  } catch (error) {
    const code = (error as { code?: unknown }).code ?? "unknown";
    throw new Refusal("InvalidSetting", `${file} cannot be read (${code})`, { cause: error });
  }
}

/** The address that a running local broker has written; it may listen on all interfaces. */
function addressIn(folder: string, { readFile }: Outside): string | null {
  return readOr(() => urlFromHere(readFile(join(folder, "address")).trim()));
}
