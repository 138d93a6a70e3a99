// Where the database is and how to log in, read from a connection string as libpq writes them:
// postgres://user:password@host1:5432,host2/database?sslmode=verify-full&sslrootcert=ca.pem. The
// password may come from elsewhere; nothing here ever shows it.

import { Refusal } from "../refusal.ts";
import type { Kind } from "./setting-kinds.ts";
import { refuseValue } from "./wording.ts";

export const sslModes = ["disable", "prefer", "require", "verify-ca", "verify-full"] as const;
export type SslMode = (typeof sslModes)[number];

export interface Host {
  readonly host: string;
  readonly port: number;
}

export interface Target {
  /** In the order in which they are tried. */
  readonly hosts: readonly Host[];
  readonly user: string;
  readonly database: string;
  /** Null: none. */
  readonly password: string | null;
  readonly ssl: {
    readonly mode: SslMode;
    readonly rootCertFile: string | null;
    readonly certFile: string | null;
    readonly keyFile: string | null;
  };
  readonly connectMsMax: number;
  /** The tables are in a schema of their own. */
  readonly schema: string;
}

const usualPort = 5432;
const usualConnectMs = 5_000;
const parameters = ["sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout", "schema"];
const form = "postgres://user@host1,host2/database";
const shape = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^/?#]*)\/([^/?#]*)(?:\?([^#]*))?$/;

/** Whether the text is meant as a connection string at all. */
export function isTarget(text: string): boolean {
  return /^postgres(ql)?:/i.test(text);
}

/** A sentence: why this cannot be one. It repeats nothing of what may be a password. */
export function parseTarget(text: string, password: string | null): Target | string {
  const found = shape.exec(text);
  if (found === null) return `It must look like ${form}.`;
  try {
    return read(found, password);
  } catch (error) {
    return error instanceof URIError
      ? "It has a '%' that is not followed by two hexadecimal digits."
      : (error as Error).message;
  }
}

function read(
  [, login = "", hosts = "", path = "", query = ""]: RegExpExecArray,
  given: string | null,
): Target {
  const [user = "", ...rest] = login.split(":");
  const inUrl = rest.length === 0 ? null : decodeURIComponent(rest.join(":"));
  if (user === "") throw new Error(`It names no user: it must look like ${form}.`);
  if (hosts === "") throw new Error(`It names no host: it must look like ${form}.`);
  if (path === "") throw new Error(`It names no database: it must look like ${form}.`);
  const params = new URLSearchParams(query);
  for (const name of params.keys()) {
    if (parameters.includes(name)) continue;
    throw new Error(`It has a parameter '${name}'; there are ${parameters.join(", ")}.`);
  }
  const mode = params.get("sslmode") ?? "prefer";
  if (!isSslMode(mode)) throw new Error(`Its sslmode must be one of ${sslModes.join(", ")}.`);
  const schema = params.get("schema") ?? "posthorn";
  if (!/^[a-z_][a-z0-9_]{0,40}$/.test(schema)) {
    throw new Error("Its schema must be letters a to z, digits and underscores.");
  }
  return {
    hosts: hosts.split(",").map(hostIn),
    user: decodeURIComponent(user),
    database: decodeURIComponent(path),
    password: inUrl ?? given,
    ssl: {
      mode,
      rootCertFile: params.get("sslrootcert"),
      certFile: params.get("sslcert"),
      keyFile: params.get("sslkey"),
    },
    connectMsMax: secondsIn(params.get("connect_timeout")),
    schema,
  };
}

function isSslMode(text: string): text is SslMode {
  return (sslModes as readonly string[]).includes(text);
}

function hostIn(text: string): Host {
  const found = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(text);
  const port = Number(found?.[2] ?? usualPort);
  if (found?.[1] === undefined || port === 0 || port > 65_535) {
    throw new Error(`It has a host that cannot be one: it must look like ${form}.`);
  }
  return { host: decodeURIComponent(found[1].replace(/^\[|\]$/g, "")), port };
}

function secondsIn(text: string | null): number {
  if (text === null) return usualConnectMs;
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new Error("Its connect_timeout must be seconds.");
  return Number(text) * 1_000;
}

/** The same without the password, for people. */
export function shownTarget(text: string): string {
  return text.replace(/^([^/]*:\/\/[^@/:]*):.*@/, "$1:***@");
}

/** Where events are kept: a word, or a database. A refusal never repeats a password. */
export function storePlace(): Kind<string> {
  const allowed = `sqlite, memory or ${form}`;
  return {
    allowed,
    parse(text, field) {
      if (text === "sqlite" || text === "memory") return text;
      if (!isTarget(text)) throw refuseValue({ field, value: shownTarget(text), allowed });
      const target = parseTarget(text, null);
      if (typeof target !== "string") return text;
      throw new Refusal("InvalidSetting", `${field} must be ${allowed}. ${target}`);
    },
  };
}
