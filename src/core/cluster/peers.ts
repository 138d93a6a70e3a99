// The brokers of a cluster, and the words that pass between them. They pass through the database,
// which all brokers reach, because they may not reach each other. A broker alone has no peers.

import type { Instant } from "../ports.ts";
import type { Slot } from "./slot.ts";

export interface Peer {
  readonly id: string;
  readonly startedAt: Instant;
  /** When it was last heard of, by the database's clock. */
  readonly seenAt: Instant;
  readonly slots: readonly Slot[];
  /** What it tells of itself, as it told it. */
  readonly about: object;
}

export interface Peers {
  /** Those that are alive, this broker included. */
  list(): Promise<readonly Peer[]>;
  /** What is told of this broker from its next heartbeat on. */
  tell(about: object): void;
  /** Lost when that broker is gone; it may come twice, and in any order. */
  post(to: string, text: string): Promise<void>;
  onPost(listener: (text: string) => void): void;
}

export const noPeers: Peers = {
  list: () => Promise.resolve([]),
  tell: () => {},
  post: () => Promise.resolve(),
  onPost: () => {},
};
