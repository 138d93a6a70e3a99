// One request to a webhook and its outcome. An answer is a status: its body does not matter, nor
// whether it is a success, which the profile decides (P-1). A redirect is an answer like any other
// (D-6). Timeouts use the clock, which may be virtual, with one alarm per send. Deliberately
// absent: retries, except for that at `#isStale`.

import type { Chain, Linked } from "../../core/chain.ts";
import type { Exchanged, Outcome, Silence } from "../../core/delivery/outcome.ts";
import type { Sink } from "../../core/delivery/sink.ts";
import type { Activity, Clock, Instant } from "../../core/ports.ts";
import type { AnswerHead } from "./answer-reader.ts";
import type { Connection, Listener } from "./connection.ts";
import type { Connections, Taken } from "./connections.ts";
import {
  excerptOf,
  type Post,
  readRetryAfter,
  silenceOf,
  type Target,
  wordsOf,
} from "./message.ts";

export type Limits = Parameters<Sink["send"]>[2];
type NoReply = Extract<Outcome, { kind: "noReply" }>;

/** Servers close idle connections after some seconds: one that was idle for less is not stale. */
const staleMs = 1_000;

export const canceled: NoReply = { kind: "noReply", why: "canceled" };
const nothingLate: Promise<null> = Promise.resolve(null);

/** What all exchanges share. */
export interface Floor {
  readonly clock: Clock;
  readonly activity: Activity;
  readonly lateMax: number;
  readonly allLateMax: number;
  readonly answerBytesMax: number;
  readonly answerDrainBytesMax: number;
  readonly connections: Connections;
  /** Runs it when everything that has already arrived was read. */
  readonly nextTurn: (go: () => void) => void;
  /** How many exchanges are late, by URL; only URLs that have any. */
  readonly late: Map<string, number>;
  /** Of all URLs. */
  lateCount: number;
  readonly exchanges: Chain<Exchange>;
  /** When an exchange with each URL that went well was last shown whole. */
  readonly shownAt: Map<string, Instant>;
}

/** Of exchanges that go well, one in this time is shown whole for each URL. */
const showEveryMs = 60_000;
/** Beyond so many URLs it begins again. */
const shownMax = 10_000;

/**
 * The states of an exchange:
 *
 * - `open`: on a connection, which may still be connecting. The answer, a failure or the timeout
 *   ends this state.
 * - `late`: the caller knows of the timeout, and an answer may still come. A request that was
 *   not even written in time is never late: it would arrive together with its retry.
 * - `over`: the outcome is known, and later events of the connection are ignored.
 */
export class Exchange implements Listener, Linked<Exchange> {
  before: Exchange | null = null;
  after: Exchange | null = null;
  readonly outcome: Promise<Outcome>;
  readonly limits: Limits;
  readonly #floor: Floor;
  readonly #target: Target;
  readonly #post: Post;
  readonly #tell: (outcome: Outcome) => void;
  readonly #endActivity: () => void;
  #reportLate: ((outcome: Outcome | null) => void) | null = null;
  #cancelAlarm: () => void;
  #state: "open" | "late" | "over" = "open";
  #connection: Connection | null = null;
  #idleMs = 0;
  #isWritten = false;
  #isAnswering = false;
  #status = 0;
  #retryAfter: string | undefined;
  #head: string | null = null;
  #answer: Buffer[] = [];
  #answerBytes = 0;

  constructor(floor: Floor, target: Target, post: Post, limits: Limits) {
    this.limits = limits;
    this.#floor = floor;
    this.#target = target;
    this.#post = post;
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.outcome = promise;
    this.#tell = resolve;
    this.#endActivity = floor.activity.begin("outside");
    this.#cancelAlarm = floor.clock.after(limits.waitMs, () => this.#waitIsOver());
    floor.exchanges.add(this);
    this.#dispatch(floor.connections.take(target.origin));
  }

  cancel(): void {
    this.#end(canceled);
  }

  /**
   * A connection that was idle is written to in the next turn: bytes that came unasked, or the end
   * of the connection, may be waiting to be read, and must not pass for the answer.
   */
  #dispatch({ connection, idleMs }: Taken): void {
    this.#connection = connection;
    this.#idleMs = idleMs ?? 0;
    if (idleMs === null) this.#send(connection);
    else this.#floor.nextTurn(() => this.#sendOrReplace(connection));
  }

  #sendOrReplace(connection: Connection): void {
    if (this.#state === "over") return;
    const { connections } = this.#floor;
    if (connection.isClosed) this.#dispatch(connections.take(this.#target.origin));
    else this.#send(connection);
  }

  #send(connection: Connection): void {
    try {
      connection.send(this.#post, this);
    } catch (error) {
      this.#end(silent("connection", wordsOf(error as Error)));
    }
  }

  // What the connection tells.

  onWritten(): void {
    this.#isWritten = true;
  }

  onAnswering(): void {
    this.#isAnswering = true;
  }

  onHead({ status, retryAfter, text }: AnswerHead): void {
    this.#status = status;
    if (status > 299 || this.#isShown()) this.#head = text;
    this.#retryAfter = retryAfter;
  }

  #isShown(): boolean {
    const { clock, shownAt } = this.#floor;
    const { url } = this.#target;
    const now = clock.now();
    if (now < (shownAt.get(url) ?? Number.NEGATIVE_INFINITY) + showEveryMs) return false;
    if (shownAt.size >= shownMax) shownAt.clear();
    shownAt.set(url, now);
    return true;
  }

  onData(chunk: Buffer): void {
    if (this.#answerBytes < this.#floor.answerBytesMax) this.#answer.push(Buffer.from(chunk));
    this.#answerBytes += chunk.length;
    if (this.#answerBytes > this.#floor.answerDrainBytesMax) this.#end(this.#answered());
  }

  onEnd(mayReuse: boolean): void {
    if (this.#state === "over" || this.#connection === null) return;
    if (mayReuse) {
      this.#floor.connections.giveBack(this.#connection);
      this.#connection = null;
    }
    this.#end(this.#answered());
  }

  onError(error: Error): void {
    if (this.#state === "over" || this.#connection === null) return;
    if (this.#status > 0) this.#end(this.#answered());
    else if (this.#isStale(this.#connection)) this.#sendAgain(this.#connection);
    else this.#end(silent(silenceOf(error), wordsOf(error)));
  }

  /**
   * Whether the peer closed an idle connection just as we took it: certainly if the request was not
   * yet written, very likely if the connection had been idle for long and no byte of an answer
   * came. The request is then sent once more, on a new connection, because this is not the
   * endpoint's failure and would delay the event by its first wait. Not so for a connection in
   * steady use: there the endpoint closed it, which is a failed attempt, retried by the rules
   * (R-1).
   */
  #isStale({ served }: Connection): boolean {
    if (this.#state !== "open" || this.#isAnswering || served === 0) return false;
    return !this.#isWritten || this.#idleMs >= staleMs;
  }

  #sendAgain(stale: Connection): void {
    this.#isWritten = false;
    this.#floor.connections.drop(stale);
    this.#dispatch(this.#floor.connections.open(this.#target.origin));
  }

  // The end of the timeout.

  #waitIsOver(): void {
    const { lateMs, waitMs } = this.limits;
    const { lateMax, allLateMax } = this.#floor;
    const hasRoom =
      this.#isWritten && this.#lateCount < lateMax && this.#floor.lateCount < allLateMax;
    if (this.#status > 0) this.#end(this.#answered());
    else if (lateMs <= waitMs) this.#end(this.#timedOut());
    else if (!hasRoom) this.#end({ ...this.#timedOut(), late: nothingLate });
    else this.#turnLate(lateMs - waitMs);
  }

  #turnLate(ms: number): void {
    const { promise, resolve } = Promise.withResolvers<Outcome | null>();
    this.#reportLate = resolve;
    this.#state = "late";
    this.#countLate(1);
    this.#cancelAlarm = this.#floor.clock.after(ms, () => {
      this.#end(this.#status > 0 ? this.#answered() : canceled);
    });
    this.#endActivity();
    this.#tell({ ...this.#timedOut(), late: promise });
  }

  get #lateCount(): number {
    return this.#floor.late.get(this.#target.url) ?? 0;
  }

  #countLate(by: 1 | -1): void {
    this.#floor.lateCount += by;
    const count = this.#lateCount + by;
    if (count === 0) this.#floor.late.delete(this.#target.url);
    else this.#floor.late.set(this.#target.url, count);
  }

  get #exchanged(): Exchanged {
    return { request: this.#post, head: this.#head };
  }

  #timedOut(): NoReply {
    const lack = this.#isWritten ? "No answer came" : "No connection could be made";
    return { ...silent("timeout", `${lack} in time.`), exchanged: this.#exchanged };
  }

  // The end.

  #end(outcome: Outcome): void {
    const { connections, exchanges } = this.#floor;
    const state = this.#state;
    if (state === "over") return;
    this.#state = "over";
    this.#cancelAlarm();
    exchanges.remove(this);
    if (this.#connection !== null) connections.drop(this.#connection);
    if (state === "late") {
      this.#countLate(-1);
      this.#reportLate?.(outcome.kind === "answered" ? outcome : null);
    } else {
      this.#endActivity();
      this.#tell(outcome);
    }
  }

  #answered(): Outcome {
    const isBare = this.#retryAfter === undefined && this.#head === null;
    if (isBare && this.#answerBytes === 0) return bareAnswer(this.#status);
    const { clock, answerBytesMax } = this.#floor;
    const retryAfterMs =
      this.#retryAfter === undefined ? undefined : readRetryAfter(this.#retryAfter, clock.now());
    const excerpt = excerptOf(this.#answer, answerBytesMax);
    return {
      kind: "answered",
      status: this.#status,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(excerpt === "" ? {} : { excerpt }),
      ...(this.#head !== null && { exchanged: this.#exchanged }),
    };
  }
}

/** By status; there are less than a thousand. */
const bareAnswers: Outcome[] = [];

/** The same object for all of them: whoever notes the next one sees at once that nothing is new. */
function bareAnswer(status: number): Outcome {
  bareAnswers[status] ??= { kind: "answered", status };
  return bareAnswers[status];
}

export function silent(why: Silence, detail: string): NoReply {
  return { kind: "noReply", why, detail };
}
