// Hears the notices of other brokers, on a connection of its own that is opened again when it is
// lost. A notice is a hint: what was missed meanwhile is found by looking.

import type { Clock, Instant } from "../../core/ports.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import { Connection } from "./connection.ts";
import type { Target } from "./target.ts";

export interface NoticesOptions {
  readonly target: Target;
  readonly clock: Clock;
  readonly name: string;
  /** This broker, which has a channel of its own. */
  readonly broker: string;
  readonly hear: (notice: Notice) => void;
  /** It hears again: anything may have happened meanwhile. */
  readonly onOpen: () => void;
}

export type Notice =
  /** These queues of somebody have something, due then by the database's clock; null: any. */
  | { readonly kind: "wake"; readonly due: ReadonlyMap<SubscriptionId, Instant> | null }
  | { readonly kind: "catalog" }
  | { readonly kind: "slots" }
  | { readonly kind: "mail"; readonly to: string };

const everybody = "posthorn";
const retryMs = 500;
/** A notice may have 8,000 bytes. */
const charsMax = 7_500;

export function wakeNotice(due: ReadonlyMap<SubscriptionId, Instant>): string {
  const text = `w${[...due].map(([id, at]) => `${id}:${at}`).join(";")}`;
  return text.length > charsMax ? "w" : text;
}

/** Of one broker, so that the others are not woken; null: of all. */
export function channelOf(broker: string | null): string {
  return broker === null ? everybody : `${everybody} ${broker}`;
}

export function readNotice(text: string): Notice | null {
  const rest = text.slice(1);
  switch (text[0]) {
    case "w":
      return { kind: "wake", due: dueIn(rest) };
    case "c":
      return { kind: "catalog" };
    case "s":
      return { kind: "slots" };
    case "m":
      return { kind: "mail", to: rest };
    default:
      // Of a newer release.
      return null;
  }
}

/** Anybody in the database may send notices: one with other words makes us look, and no more. */
function dueIn(text: string): ReadonlyMap<SubscriptionId, Instant> | null {
  if (!/^(?:(?:^|;)\d{1,15}:-?\d{1,15}(?:\.\d+)?)+$/.test(text)) return null;
  return new Map(text.split(";").map(pairIn));
}

function pairIn(text: string): [SubscriptionId, Instant] {
  const [id, at] = text.split(":");
  return [Number(id), Number(at)];
}

export class Notices {
  readonly #options: NoticesOptions;
  #connection: Connection | null = null;
  #callOff: () => void = () => {};
  #isClosed = false;

  constructor(options: NoticesOptions) {
    this.#options = options;
  }

  /** Resolves after the first try. */
  async begin(): Promise<void> {
    const { hear, onOpen, broker } = this.#options;
    try {
      const connection = await Connection.open({
        ...this.#options,
        onNotice: (text) => {
          const notice = readNotice(text);
          if (notice !== null && !this.#isClosed) hear(notice);
        },
        onEnd: () => this.#later(),
      });
      if (this.#isClosed) return await connection.close();
      this.#connection = connection;
      for (const channel of [channelOf(null), channelOf(broker)]) {
        await connection.query({ text: `listen "${channel.replaceAll('"', '""')}"` });
      }
      onOpen();
    } catch {
      this.#later();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#callOff();
    await this.#connection?.close();
  }

  #later(): void {
    this.#connection?.destroy();
    this.#connection = null;
    this.#callOff();
    if (!this.#isClosed) {
      this.#callOff = this.#options.clock.after(retryMs, () => void this.begin());
    }
  }
}
