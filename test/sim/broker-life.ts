// One life of the broker: from its start until it crashes or is stopped. Every port it is given
// goes through here, and each call is a place where it can die: before the call, or when its answer
// comes back. A dead broker's promises never continue, and nothing it still calls has any effect;
// that is all there is to a crash, seen from inside.

import type { Sink } from "../../src/core/delivery/sink.ts";
import type { Clock, Instant, Log, Meter, WholeStore } from "../../src/core/ports.ts";
import type { Rooms } from "../../src/wiring.ts";
import type { Journal, LifeNote } from "./journal.ts";

export type Everything = WholeStore;

/** What came of a question that the broker may have died over. */
export type Answered<T> =
  | { readonly kind: "answer"; readonly value: T }
  | { readonly kind: "lost" };

/** So many calls without a turn of the event loop, and it would never end. */
const callsPerTurnMax = 200_000;

export interface LifeOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  /** Asked at each call, which is named by its number and by what it is. */
  readonly isLast: (call: number, where: string) => boolean;
  readonly onCrash: (where: string) => void;
}

export class Life {
  readonly note: LifeNote;
  rooms: Rooms | null = null;
  readonly #options: LifeOptions;
  readonly #alarms = new Set<() => void>();
  readonly #gone = Promise.withResolvers<{ readonly kind: "lost" }>();
  #calls = 0;
  #callsThisTurn = 0;
  #isAlive = true;

  constructor(number: number, options: LifeOptions) {
    this.#options = options;
    const { journal } = options;
    this.note = { number, started: journal.mark(), ready: null, ended: null, drops: 0 };
    journal.lives.push(this.note);
    journal.say(() => `life ${number} begins`);
  }

  get number(): number {
    return this.note.number;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Port calls made so far. */
  get calls(): number {
    return this.#calls;
  }

  get alarms(): number {
    return this.#alarms.size;
  }

  turn(): void {
    this.#callsThisTurn = 0;
  }

  /** After this, nothing that the broker still does has any effect. */
  end(how: "crash" | "stop"): void {
    const { journal } = this.#options;
    this.#isAlive = false;
    this.note.ended = { ...journal.mark(), how };
    journal.say(() => `life ${this.number} ends with a ${how}`);
    for (const cancel of this.#alarms) cancel();
    this.#alarms.clear();
    this.#gone.resolve({ kind: "lost" });
  }

  /** Whether the broker lives on at this call. */
  isPast(where: string): boolean {
    if (!this.#isAlive) return false;
    this.#calls += 1;
    this.#callsThisTurn += 1;
    const { journal, isLast, onCrash } = this.#options;
    if (this.#callsThisTurn > callsPerTurnMax) {
      journal.fault(`the broker goes round in circles without end, last at ${where}`);
      onCrash(where);
      return false;
    }
    if (!isLast(this.#calls, where)) return true;
    onCrash(where);
    return false;
  }

  guard<T>(where: string, act: () => Promise<T>): Promise<T> {
    if (!this.isPast(where)) return new Promise(() => {});
    return this.guardAnswer(where, act());
  }

  guardAnswer<T>(where: string, answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      answer.then(
        (value) => {
          if (this.isPast(`${where}: done`)) resolve(value);
        },
        (error) => {
          if (this.isPast(`${where}: failed`)) reject(error);
        },
      );
    });
  }

  /** For those outside, who live on when the broker does not. */
  outlive<T>(answer: Promise<T>): Promise<Answered<T>> {
    const told = answer.then((value) => ({ kind: "answer", value }) as const);
    return Promise.race([told, this.#gone.promise]);
  }

  // The ports, as this life sees them.

  store(store: Everything): Everything {
    return {
      ownership: store.ownership,
      peers: store.peers,
      ...(store.isShared === true && { isShared: true }),
      append: (routed, now, by) => this.guard("append", () => store.append(routed, now, by)),
      claim: (queue, want) => this.guard("claim", () => store.claim(queue, want)),
      settle: (settlements) => this.guard("settle", () => store.settle(settlements)),
      receive: (id, want) => this.guard("receive", () => store.receive(id, want)),
      takeEnded: (id, want) => this.guard("takeEnded", () => store.takeEnded(id, want)),
      locked: (ids, now) => this.guard("locked", () => store.locked(ids, now)),
      onWake: (listener) =>
        store.onWake((wake) => {
          if (this.isPast("wake")) listener(wake);
        }),
      counts: () => this.guard("counts", () => store.counts()),
      waiting: (queue, page) => this.guard("waiting", () => store.waiting(queue, page)),
      look: (ids) => this.guard("look", () => store.look(ids)),
      skip: (queue, step) => this.guard("skip", () => store.skip(queue, step)),
      hasten: (queue, which) => this.guard("hasten", () => store.hasten(queue, which)),
      find: (systemId, after) => this.guard("find", () => store.find(systemId, after)),
      notes: (kind) => this.guard("notes", () => store.notes(kind)),
      putMemo: (kind, key, record) => this.guard("putNote", () => store.putMemo(kind, key, record)),
      keepMemo: (kind, key, record) =>
        this.guard("keepNote", () => store.keepMemo(kind, key, record)),
      redriven: (keys) => this.guard("redriven", () => store.redriven(keys)),
      noteRedriven: (notes) => this.guard("noteRedriven", () => store.noteRedriven(notes)),
      catalog: (only) => this.guard("catalog", () => store.catalog(only)),
      putTopic: (draft, revision) => this.guard("putTopic", () => store.putTopic(draft, revision)),
      putSubscription: (draft, revision) =>
        this.guard("putSubscription", () => store.putSubscription(draft, revision)),
      removeTopic: (name) => this.guard("removeTopic", () => store.removeTopic(name)),
      removeSubscription: (id, revision) =>
        this.guard("removeSubscription", () => store.removeSubscription(id, revision)),
      onChange: (listener) =>
        store.onChange((changed) => {
          if (this.isPast("change")) listener(changed);
        }),
      onDropped: (listener) =>
        store.onDropped((subscription, count) => {
          if (this.isPast("dropped")) listener(subscription, count);
        }),
    };
  }

  sink<D>(sink: Sink<D>): Sink<D> {
    return {
      send: async (parcel, destination, limits) => {
        const outcome = await this.guard("send", () => sink.send(parcel, destination, limits));
        if (outcome.kind !== "noReply" || outcome.late === undefined) return outcome;
        return { ...outcome, late: this.guardAnswer("late answer", outcome.late) };
      },
    };
  }

  get clock(): Clock {
    const { clock } = this.#options;
    return {
      now: (): Instant => clock.now(),
      after: (ms, ring) => {
        if (!this.isPast("alarm")) return () => {};
        const cancel = clock.after(ms, () => {
          this.#alarms.delete(cancel);
          if (this.isPast("ring")) ring();
        });
        this.#alarms.add(cancel);
        return () => {
          this.#alarms.delete(cancel);
          cancel();
        };
      },
    };
  }

  get log(): Log {
    const { journal } = this.#options;
    return {
      fact: (_level, name, fields) => {
        if (this.isPast(`fact ${name}`)) journal.fact(this.number, name, fields);
      },
    };
  }

  get meter(): Meter {
    return {
      count: (name, _labels, by = 1) => {
        if (name === "posthorn_dropped_events_total" && this.#isAlive) this.note.drops += by;
      },
    };
  }
}
