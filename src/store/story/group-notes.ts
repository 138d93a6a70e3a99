// A batch of notes, grouped by event: what the engine has to write for each.

import type { DeliveryState } from "../../core/api/views.ts";
import type { Head } from "../../core/story/chronicle.ts";
import type { ClearedNote } from "../../core/story/note.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import { type Batch, type PackedSeat, Reader } from "./pack.ts";

/** What is reported about one delivery. */
export interface Act {
  /** `seat`: it exists, in this state, if nothing was known about it. `lost`: if it was open. */
  readonly kind: "seat" | "note" | "lost";
  readonly subscription: SubscriptionId;
  readonly seat: PackedSeat | null;
  /** Empty: unchanged. */
  readonly state: DeliveryState | "";
  /** As written. */
  readonly note: string | null;
}

/** What is reported about one event. */
export interface EventNotes {
  readonly event: string;
  head: Head | null;
  /** As written. */
  particulars: string | null;
  isAccepted: boolean;
  /** The number of the roll in the process that reports it; 0: all of it matched the event. */
  roll: number;
  text: string | null;
  readonly acts: Act[];
}

export function groupNotes({ flat, seats }: Batch): {
  readonly tellings: readonly EventNotes[];
  readonly clearances: readonly ClearedNote[];
} {
  const tellings = new Map<string, EventNotes>();
  const clearances: ClearedNote[] = [];
  const of = (event: string) => {
    const known = tellings.get(event);
    if (known !== undefined) return known;
    const made = newEventNotes(event);
    tellings.set(event, made);
    return made;
  };
  const from = new Reader(flat);
  const takeSeat = () => seats[from.take<number>()] ?? null;
  while (!from.isAtEnd) {
    switch (from.take<"accepted" | "head" | "noted" | "recalled" | "lost" | "cleared">()) {
      case "accepted":
        readAccepted(from, of, takeSeat);
        break;
      case "head": {
        const head = from.takeHead();
        const telling = of(head.event);
        const particulars = from.take<string>();
        if (telling.head === null) Object.assign(telling, { head, particulars });
        break;
      }
      case "noted": {
        const { acts } = of(from.take<string>());
        const seat = takeSeat();
        const state = from.take<DeliveryState | "">();
        const note = from.take<string>();
        acts.push({ kind: "note", subscription: seat?.subscription ?? 0, seat, state, note });
        break;
      }
      case "recalled": {
        const { acts } = of(from.take<string>());
        const seat = takeSeat();
        const state = from.take<DeliveryState>();
        acts.push({ kind: "seat", subscription: seat?.subscription ?? 0, seat, state, note: null });
        break;
      }
      case "lost": {
        const { acts } = of(from.take<string>());
        const subscription = from.take<number>();
        const note = from.take<string>();
        acts.push({ kind: "lost", subscription, seat: null, state: "unknown", note });
        break;
      }
      default:
        clearances.push(from.take<ClearedNote>());
    }
  }
  return { tellings: [...tellings.values()], clearances };
}

function newEventNotes(event: string): EventNotes {
  const nothing = { head: null, particulars: null, isAccepted: false, roll: 0, text: null };
  return { event, ...nothing, acts: [] };
}

function readAccepted(
  from: Reader,
  of: (event: string) => EventNotes,
  takeSeat: () => PackedSeat | null,
): void {
  const head = from.takeHead();
  const telling = of(head.event);
  telling.head = head;
  telling.isAccepted = true;
  telling.roll = from.take<number>();
  telling.text = from.take<string | null>();
  telling.particulars = from.take<string>();
  for (let left = from.take<number>(); left > 0; left--) {
    const seat = takeSeat();
    if (seat === null) continue;
    const { subscription } = seat;
    telling.acts.push({ kind: "seat", subscription, seat, state: "waiting", note: null });
  }
}
