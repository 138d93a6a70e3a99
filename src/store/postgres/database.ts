// The database as the rest of the store uses it: a few connections, given out one statement or one
// transaction at a time. When it is away, everything is refused at once while one connection is
// tried again and again; the log says so once, and once when it is back.

import type { Clock, Log } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import { Connection, codeOf, type Row, type Statement } from "./connection.ts";
import type { Target } from "./target.ts";

export interface DatabaseOptions {
  readonly target: Target;
  readonly clock: Clock;
  readonly log: Log;
  readonly connectionsMax: number;
  /** As `pg_stat_activity` shows it. */
  readonly name: string;
}

export interface Session {
  query(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
}

const retryMsMin = 100;
const retryMsMax = 1_000;
export const retryAfterMs = 1_000;
/** Of serialization failures and deadlocks: those are tried again. */
const triesMax = 5;

export class Database implements Session {
  readonly #options: DatabaseOptions;
  readonly #idle: Connection[] = [];
  readonly #all = new Set<Connection>();
  readonly #waiting: PromiseWithResolvers<Connection>[] = [];
  #opening = 0;
  #failure: string | null = null;
  #callOff: () => void = () => {};
  #retryMs = retryMsMin;
  #isClosed = false;
  readonly #backListeners: (() => void)[] = [];

  constructor(options: DatabaseOptions) {
    this.#options = options;
  }

  /** Why it cannot be used at present; null: as far as is known, it can. */
  get failure(): string | null {
    return this.#failure;
  }

  /** Called when it is there again. */
  onBack(listener: () => void): void {
    this.#backListeners.push(listener);
  }

  /** Refusal: Unavailable. Other errors are the server's own. */
  async query(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    return await this.#with((connection) => connection.query(statement, values));
  }

  /** All or nothing; tried again when it collides with another. */
  async transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
    for (let tried = 1; ; tried++) {
      try {
        return await this.#with((connection) => runIn(connection, work));
      } catch (error) {
        if (!["40001", "40P01"].includes(causeCode(error)) || tried === triesMax) throw error;
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#callOff();
    for (const { reject } of this.#waiting.splice(0)) reject(this.#refusal());
    await Promise.all([...this.#all].map((connection) => connection.close()));
  }

  async #with<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.#take();
    try {
      const answer = await work(connection);
      this.#free(connection);
      return answer;
    } catch (error) {
      const isServer = codeOf(error).length === 5 && connection.isOpen && !isShutdown(error);
      if (isServer) this.#free(connection);
      else this.#drop(connection);
      if (isServer && !isOutOfRoom(error)) throw error;
      if (error instanceof Refusal) throw error;
      const words = `The database cannot write at the moment: ${oneLine(error)}.`;
      throw new Refusal("Unavailable", words, { retryAfterMs, cause: error });
    }
  }

  async #take(): Promise<Connection> {
    if (this.#isClosed || this.#failure !== null) throw this.#refusal();
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.isOpen) return idle;
      this.#all.delete(idle);
    }
    const waiting = Promise.withResolvers<Connection>();
    this.#waiting.push(waiting);
    if (this.#all.size + this.#opening < this.#options.connectionsMax) void this.#open();
    return await waiting.promise;
  }

  #free(connection: Connection): void {
    const next = this.#waiting.shift();
    if (next !== undefined) next.resolve(connection);
    else this.#idle.push(connection);
  }

  #drop(connection: Connection): void {
    connection.destroy();
    this.#all.delete(connection);
    const place = this.#idle.indexOf(connection);
    if (place >= 0) this.#idle.splice(place, 1);
    if (this.#waiting.length > this.#opening && !this.#isClosed) void this.#open();
  }

  async #open(): Promise<void> {
    this.#opening += 1;
    try {
      const connection = await Connection.open({
        ...this.#options,
        onEnd: () => this.#drop(connection),
      });
      if (this.#isClosed) return await connection.close();
      this.#all.add(connection);
      this.#free(connection);
      this.#back();
    } catch (error) {
      this.#away(error);
    } finally {
      this.#opening -= 1;
    }
  }

  #back(): void {
    this.#retryMs = retryMsMin;
    if (this.#failure === null) return;
    this.#failure = null;
    this.#options.log.fact("info", "database.back", {});
    for (const listener of this.#backListeners) listener();
  }

  #away(error: unknown): void {
    if (this.#isClosed) return;
    const why = oneLine(error);
    if (this.#failure === null) this.#options.log.fact("error", "database.away", { why });
    this.#failure = why;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#refusal());
    this.#callOff();
    this.#callOff = this.#options.clock.after(this.#retryMs, () => void this.#open());
    this.#retryMs = Math.min(this.#retryMs * 2, retryMsMax);
  }

  #refusal(): Refusal {
    const why = this.#isClosed ? "The store is closed" : `The database is away: ${this.#failure}`;
    return new Refusal("Unavailable", `${why}.`, { retryAfterMs });
  }
}

async function runIn<T>(connection: Connection, work: (session: Session) => Promise<T>) {
  await connection.query({ name: "begin", text: "begin" });
  try {
    const answer = await work(connection);
    await connection.query({ name: "commit", text: "commit" });
    return answer;
  } catch (error) {
    if (connection.isOpen) await connection.query({ text: "rollback" }).catch(() => {});
    throw error;
  }
}

function isShutdown(error: unknown): boolean {
  return codeOf(error).startsWith("57P") || codeOf(error).startsWith("08");
}

/** Of its disk or memory, or too many at once. */
function isOutOfRoom(error: unknown): boolean {
  return codeOf(error).startsWith("53") || codeOf(error) === "58030" || codeOf(error) === "57014";
}

function causeCode(error: unknown): string {
  return codeOf(error) || codeOf((error as Error).cause);
}

/** The server's words, or Node's; never with a password, which neither repeats. */
export function oneLine(error: unknown): string {
  const { message, code } = error as Error & { code?: string };
  const words = message === "" || message === undefined ? String(code ?? error) : message;
  return words.split("\n", 1)[0]?.replace(/\.$/, "") ?? "";
}
