// One connection to the database: finds the host that takes writes, sets the session up, and runs
// prepared statements one after the other. A statement that is not answered in time, or meets a
// server that has become read-only, ends the connection. There is no reconnecting here: its owner
// (database.ts) opens another.

import type { Socket } from "node:net";
import pg from "pg";
import type { Clock } from "../../core/ports.ts";
import { type Columns, Prepared } from "./prepared.ts";
import { type Host, type Target, tlsOf } from "./target.ts";

/** A statement of SQL. With a name it is prepared once per connection. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
}

// biome-ignore lint/suspicious/noExplicitAny: columns are what their statement says.
export type Row = any[];

export interface ConnectOptions {
  readonly target: Target;
  readonly clock: Clock;
  /** As `pg_stat_activity` shows it. */
  readonly name: string;
  readonly onNotice?: (text: string) => void;
  readonly onEnd: () => void;
}

/** How long a statement may take before the connection counts as broken. */
const statementMsMax = 20_000;

/** In every session. The tables grow fast, and a plan made for an empty one would scan it. */
const session = (schema: string) => `
  set search_path = ${schema}, pg_catalog;
  set enable_seqscan = off;
  set plan_cache_mode = force_generic_plan;
  set jit = off;
  set statement_timeout = '15s';
  set lock_timeout = '10s';
  set idle_in_transaction_session_timeout = '20s';
  set timezone = 'UTC'`;

export class Connection {
  readonly #client: pg.Client;
  readonly #clock: Clock;
  readonly #columns: Columns = new Map();
  /** For cancelling, and to see whether a pooler is in between. */
  readonly processId: number;
  readonly serverVersion: number;
  #isOpen = true;

  private constructor(client: pg.Client, clock: Clock, serverVersion: number) {
    this.#client = client;
    this.#clock = clock;
    this.processId = (client as unknown as { processID: number }).processID;
    this.serverVersion = serverVersion;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The first host that takes writes. Rejects with the error of the most telling of them. */
  static async open(options: ConnectOptions): Promise<Connection> {
    const errors: Error[] = [];
    for (const host of options.target.hosts) {
      try {
        return await openAt(host, options, (client, version) => {
          const connection = new Connection(client, options.clock, version);
          client.on("end", () => connection.#end(options.onEnd));
          client.on("error", () => connection.#end(options.onEnd));
          return connection;
        });
      } catch (error) {
        errors.push(error as Error);
      }
    }
    throw errors.find(isLasting) ?? errors.find(isReadOnly) ?? errors[0];
  }

  /** Rows as lists of columns. */
  async query(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    const late = this.#clock.after(statementMsMax, () => this.destroy());
    try {
      const { name, text } = statement;
      if (name !== undefined) return await this.#run({ name, text }, values);
      const config = { text, values: values as unknown[], rowMode: "array" as const };
      return (await this.#client.query(config)).rows as Row[];
    } catch (error) {
      // After a failover the old primary may still take connections.
      if (isReadOnly(error as Error)) this.destroy();
      throw error;
    } finally {
      late();
    }
  }

  #run(statement: Required<Statement>, values: readonly unknown[]): Promise<Row[]> {
    const columns = this.#columns;
    return new Promise((resolve, reject) => {
      const done = { resolve, reject };
      this.#client.query(new Prepared({ ...statement, values, columns, parserOf, done }));
    });
  }

  /** Several statements without values. */
  async script(text: string): Promise<void> {
    await this.#client.query(text);
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#client.end().catch(() => {});
  }

  /** At once, whatever is under way. */
  destroy(): void {
    this.#isOpen = false;
    socketOf(this.#client)?.destroy();
  }

  #end(onEnd: () => void): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    onEnd();
  }
}

async function openAt<T>(
  host: Host,
  options: ConnectOptions,
  done: (client: pg.Client, serverVersion: number) => T,
): Promise<T> {
  const { target } = options;
  const tls = tlsOf(target, host.host);
  try {
    return await connect(host, options, tls, done);
  } catch (error) {
    const isWithoutTls = /does not support SSL/i.test((error as Error).message);
    if (target.ssl.mode !== "prefer" || tls === false || !isWithoutTls) throw error;
    return await connect(host, options, false, done);
  }
}

async function connect<T>(
  { host, port }: Host,
  { target, name, onNotice }: ConnectOptions,
  ssl: object | false,
  done: (client: pg.Client, serverVersion: number) => T,
): Promise<T> {
  const client = new pg.Client({
    ...{ host, port, user: target.user, database: target.database, ssl },
    // Without one, the driver would look into files of the user's home.
    password: target.password ?? "",
    application_name: name,
    keepAlive: true,
    connectionTimeoutMillis: target.connectMsMax,
    types: {
      getTypeParser: parserOf,
    } as unknown as pg.CustomTypesConfig,
  });
  client.on("error", () => {});
  if (onNotice !== undefined) {
    client.on("notification", ({ payload }) => onNotice(payload ?? ""));
  }
  try {
    await client.connect();
    const words =
      "select pg_is_in_recovery(), current_setting('transaction_read_only'), current_setting('server_version_num')";
    const { rows } = await client.query({ text: words, rowMode: "array" });
    const [isStandby, readOnly, version] = rows[0] as [boolean, string, string];
    if (isStandby || readOnly === "on") throw new ReadOnlyError(host);
    await client.query(session(target.schema));
    return done(client, Number(version));
  } catch (error) {
    socketOf(client)?.destroy();
    throw error;
  }
}

export class ReadOnlyError extends Error {
  constructor(host: string) {
    super(`the server at ${host} takes no writes: it is a standby, or its default is read-only`);
  }
}

function isReadOnly(error: Error): boolean {
  return error instanceof ReadOnlyError || codeOf(error) === "25006";
}

/** The five letters of PostgreSQL, or Node's name of the failure. */
export function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? "");
}

/** Whether waiting would not help: somebody has to change a setting. */
export function isLasting(error: unknown): boolean {
  const code = codeOf(error);
  return (
    ["28P01", "28000", "3D000", "42501", "3F000", "ENOTFOUND"].includes(code) || isTlsError(error)
  );
}

export function isTlsError(error: unknown): boolean {
  return (
    /CERT|TLS|SSL|self.signed/i.test(codeOf(error)) || /does not support SSL/i.test(String(error))
  );
}

/** Kept by the driver, and not in its types. */
function socketOf(client: pg.Client): Socket | undefined {
  return (client as unknown as { connection?: { stream?: Socket } }).connection?.stream;
}

function parserOf(type: number): (value: string) => unknown {
  return parsers[type] ?? asText;
}

const asText = (value: string) => value;
const asList = (value: string) => (value === "{}" ? [] : value.slice(1, -1).split(",").map(Number));

/** By the number of the type. Whole numbers here never exceed 2^53. */
const parsers: Readonly<Record<number, (value: string) => unknown>> = {
  16: (value) => value === "t",
  20: Number,
  21: Number,
  23: Number,
  700: Number,
  701: Number,
  1005: asList,
  1007: asList,
  1016: asList,
  114: (value) => JSON.parse(value),
  3802: (value) => JSON.parse(value),
};
