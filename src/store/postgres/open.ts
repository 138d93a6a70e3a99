// Opens the PostgreSQL store for a broker: a setting that cannot work is refused in a sentence, a
// database that is away is waited for, and one that would lose what was answered is refused unless
// the operator says otherwise.

import type { Clock } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Target } from "../../core/text/connection-string.ts";
import { Connection, codeOf, isTlsError, ReadOnlyError } from "./connection.ts";
import { oneLine } from "./database.ts";
import { type Finding, lookAtServer } from "./durability.ts";
import type { PostgresOptions } from "./options.ts";
import { PostgresStore } from "./store.ts";

export interface OpenOptions extends PostgresOptions {
  /** Whether a database that may lose events is accepted. */
  readonly isUnsafeFine: boolean;
  /** The database is away: called once. The answer is called when it is there. */
  readonly onAwait?: () => Promise<() => Promise<void>>;
}

const retryMs = 1_000;

/** Refusal: InvalidSetting, when waiting would not help. */
export async function openPostgresStore(options: OpenOptions): Promise<PostgresStore> {
  const { clock, log } = options;
  let isThere: (() => Promise<void>) | null = null;
  try {
    for (;;) {
      try {
        await checkServer(options);
        return await PostgresStore.open(options);
      } catch (error) {
        const refusal = refusalOf(error, options.target);
        if (refusal !== null) throw refusal;
        if (isThere === null) {
          const why = oneLine((error as Error).cause ?? error);
          log.fact("warn", "database.awaited", { why });
          isThere = (await options.onAwait?.()) ?? (async () => {});
        }
      }
      await new Promise<void>((resolve) => void clock.after(retryMs, resolve));
    }
  } finally {
    await isThere?.();
  }
}

async function checkServer({ isUnsafeFine, log, ...options }: OpenOptions): Promise<void> {
  for (const { check, state, found, advice } of await examineServer(options)) {
    if (state === "fine") continue;
    if (state === "unusable") {
      throw new Refusal("InvalidSetting", `The ${check} is ${found}. ${advice}`, {
        target: "store",
      });
    }
    if (state === "unsafe" && !isUnsafeFine) {
      const words = `The ${check} is ${found}. ${advice} Or accept it with --store-unsafe on.`;
      throw new Refusal("InvalidSetting", words, { target: "store" });
    }
    log.fact("warn", "database.unsafe", { check, found, advice });
  }
}

/** Of the server as it is now; rejects when it cannot be reached. */
export async function examineServer(options: {
  readonly target: Target;
  readonly clock: Clock;
}): Promise<readonly Finding[]> {
  const name = "posthorn check";
  const connect = () => Connection.open({ ...options, name, onEnd: () => {} });
  const connection = await connect();
  try {
    return await lookAtServer(connection, connect);
  } finally {
    await connection.close();
  }
}

/** Null: it may help to wait. */
export function refusalOf(error: unknown, { hosts, user, database }: Target): Refusal | null {
  if (error instanceof Refusal && error.code === "InvalidSetting") return error;
  const cause = error instanceof Refusal ? error.cause : error;
  const words = wordsFor(cause, {
    where: hosts.map(({ host }) => host).join(", "),
    user,
    database,
    isOne: hosts.length === 1,
  });
  return words === null ? null : new Refusal("InvalidSetting", words, { target: "store", cause });
}

function wordsFor(
  error: unknown,
  {
    where,
    user,
    database,
    isOne,
  }: { where: string; user: string; database: string; isOne: boolean },
): string | null {
  switch (codeOf(error)) {
    case "28P01":
    case "28000":
      return `The database at ${where} refuses the user '${user}': ${oneLine(error)}. See store-password.`;
    case "3D000":
      return `There is no database '${database}' at ${where}. Create it: createdb -O ${user} ${database}`;
    case "42501":
      return `The user '${user}' may not do what a broker needs: ${oneLine(error)}.`;
    case "ENOTFOUND":
      return `There is no host ${where}: ${oneLine(error)}.`;
    default:
      break;
  }
  // The driver's own words.
  if (error instanceof Error && /password must be/.test(error.message)) {
    return `The database at ${where} asks for a password of the user '${user}'. See store-password.`;
  }
  // Of several hosts one may become the primary soon.
  if (isOne && error instanceof ReadOnlyError) {
    return `The database takes no writes: ${oneLine(error)}. Name its primary in store, too.`;
  }
  return isTlsError(error)
    ? `There is no TLS with the database at ${where}: ${oneLine(error)}.`
    : null;
}
