// What an invariant finds wrong, as text, and the event whose story shows it.

import type { History, Tale } from "./history.ts";
import type { Publication, SendNote } from "./journal.ts";

export interface Finding {
  readonly words: string;
  /** Null: it is about the run as a whole. */
  readonly publication: number | null;
}

export type Invariant = (history: History) => Iterable<Finding>;

export function about({ number }: Publication, words: string): Finding {
  return { words: `e${number}: ${words}`, publication: number };
}

export function aboutTale({ publication }: Tale, words: string): Finding {
  return about(publication, words);
}

export function aboutSend(history: History, send: SendNote, words: string): Finding {
  const first = send.deliveries[0];
  const number = first === undefined ? null : history.journal.numberOf(first.event);
  const at = history.journal.clockOf(send.begun.at);
  return { words: `e${number} ${at}: ${words}`, publication: number };
}
