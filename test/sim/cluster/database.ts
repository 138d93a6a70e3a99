// The database of the simulated cluster: one memory store, the rows of brokers and slots, and the
// mail, with a clock of its own. Each process sees it through a line that can be cut, and is slow:
// a call that is cut off may have been carried out.
//
// As in PostgreSQL, leases are the owner's, and end with its ownership; a settlement counts only
// from whoever owns the slot under the term of the claim; and an append must name what it was
// routed by.

import { homeSlot, type Slot, servingSlot } from "../../../src/core/cluster/slot.ts";
import type { DeliveryId, Queue } from "../../../src/core/delivery/delivery.ts";
import type {
  Claim,
  Clock,
  Instant,
  Log,
  Settlement,
  Wake,
  Want,
  WholeStore,
} from "../../../src/core/ports.ts";
import { Refusal } from "../../../src/core/refusal.ts";
import type { Catalog, RecordNames } from "../../../src/core/registry.ts";
import type { Subscription, SubscriptionId } from "../../../src/core/subscription.ts";
import { type Rhythm, SlotKeeper } from "../../../src/store/cluster/slot-keeper.ts";
import { MemoryStore } from "../../../src/store/memory.ts";
import { MemorySlotTable } from "../../fixtures/slot-table.ts";
import type { Dice } from "../dice.ts";
import type { Process } from "./process.ts";

interface Listeners {
  readonly process: Process;
  readonly wake: ((wake: Wake) => void)[];
  readonly change: ((changed: RecordNames | null) => void)[];
  readonly dropped: ((subscription: SubscriptionId, count: number) => void)[];
  readonly mail: ((text: string) => void)[];
  /** Mail that has not been fetched. */
  readonly box: string[];
  /** Whether notices did not come: the next heartbeat has everything looked at. */
  isBehind: boolean;
}

/** A delivery that was claimed, and under which term. */
interface Leased {
  readonly holder: Process;
  readonly id: DeliveryId;
  readonly slot: Slot;
  readonly term: number;
}

export class SimDatabase {
  readonly bare = new MemoryStore();
  readonly table: MemorySlotTable;
  /** When each delivery may be sent at the earliest, as last settled. */
  readonly dueAt = new Map<string, Instant>();
  readonly #clock: Clock;
  readonly #dice: Dice;
  readonly #slots = new Map<SubscriptionId, Slot>();
  readonly #leases = new Map<number, Leased>();
  readonly #listeners = new Map<string, Listeners>();
  readonly #stores = new Map<string, WholeStore>();
  /** Whose call is being carried out. */
  #acting: Process | null = null;

  constructor(clock: Clock, dice: Dice) {
    this.#clock = clock;
    this.#dice = dice;
    this.table = new MemorySlotTable(() => clock.now());
    this.bare.onWake((wake) => this.#tell("wake", wake));
    this.bare.onChange((changed) => this.#tell("change", changed));
    this.bare.onDropped((id, count) => {
      const own = this.#listeners.get(this.#acting?.name ?? "");
      for (const listener of own?.dropped ?? []) listener(id, count);
    });
  }

  /** As a process sees it. */
  storeOf(process: string): WholeStore {
    const store = this.#stores.get(process);
    if (store === undefined) throw new Error(`${process} has no store`);
    return store;
  }

  ownerOf(slot: Slot): string | null {
    return this.table.rows()[slot]?.owner ?? null;
  }

  open(process: Process, { log, rhythm }: { log: Log; rhythm: Rhythm }): WholeStore {
    const listeners: Listeners = {
      ...{ process, wake: [], change: [], dropped: [], mail: [], box: [], isBehind: false },
    };
    this.#listeners.set(process.name, listeners);
    const via = <T>(act: () => Promise<T>) => this.#via(process, act);
    const { bare, table } = this;
    const { clock, elapsed } = process;
    const keeper = new SlotKeeper({
      ...{ broker: process.name, clock, elapsed, log, rhythm },
      table: {
        beat: async (self) => {
          const rows = await via(() => table.beat(self));
          void this.#lookAround(listeners);
          return rows;
        },
        take: (id, slots) => via(() => table.take(id, slots)),
        free: (id, slots) => via(() => table.free(id, slots)),
        leave: (id) => via(() => table.leave(id)),
        onHint: (listener) => table.onHint(() => process.notice(listener)),
      },
      onChange: ({ gained, lost }) => {
        this.#forget(gained, () => true);
        this.#forget(lost, (holder) => holder === process);
      },
      handOver: (id, to) =>
        via(async () => {
          this.#slots.set(id, to);
          this.#tell("change", { topics: [], subscriptions: [id] });
        }),
    });
    void keeper.begin();
    const store: WholeStore = {
      isShared: true,
      ownership: keeper,
      peers: {
        list: () => Promise.resolve(keeper.peers()),
        tell: (about) => keeper.tell(about),
        post: (to, text) => via(async () => this.#post(to, text)),
        onPost: (listener) => void listeners.mail.push(listener),
      },
      append: (routed, now, by) =>
        via(() => bare.append(routed, this.#here(now), by)).catch((error) => {
          // What has changed is told before the refusal.
          if (isStale(error)) for (const listener of listeners.change) listener(null);
          throw error;
        }),
      claim: (queue, want) => via(() => this.#claim(process, keeper, queue, want)),
      settle: (settlements) => via(() => this.#settle(process, settlements)),
      onWake: (listener) => void listeners.wake.push(listener),
      counts: () => via(() => bare.counts()),
      waiting: (queue, page) => via(() => bare.waiting(queue, page)),
      look: (ids) => via(() => bare.look(ids)),
      skip: (queue, step) => via(() => bare.skip(queue, step)),
      hasten: (queue, which) =>
        via(() => {
          for (const key of this.dueAt.keys()) {
            if (key.endsWith(`/${queue.subscription}`)) this.dueAt.delete(key);
          }
          return bare.hasten(queue, which);
        }),
      find: (systemId, after) => via(() => bare.find(systemId, after)),
      notes: (kind) => via(() => bare.notes(kind)),
      putMemo: (kind, key, record) => via(() => bare.putMemo(kind, key, record)),
      keepMemo: (kind, key, record) => via(() => bare.keepMemo(kind, key, record)),
      redriven: (keys) => via(() => bare.redriven(keys)),
      noteRedriven: (notes) => via(() => bare.noteRedriven(notes)),
      catalog: (only) => via(async () => this.#withSlots(await bare.catalog(only))),
      putTopic: (draft, revision) => via(() => bare.putTopic(draft, revision)),
      putSubscription: (draft, revision) =>
        via(async () => {
          const written = await bare.putSubscription(withoutSlot(draft), revision);
          if (!this.#slots.has(written.id)) this.#slots.set(written.id, homeSlot(draft));
          return this.#withSlot(written);
        }).catch((error) => {
          if (isStale(error)) for (const listener of listeners.change) listener(null);
          throw error;
        }),
      removeTopic: (name) => via(() => bare.removeTopic(name)),
      removeSubscription: (id, revision) => via(() => bare.removeSubscription(id, revision)),
      onChange: (listener) => void listeners.change.push(listener),
      catchUp: () =>
        via(async () => {}).then(() => {
          for (const listener of listeners.change) listener(null);
        }),
      onDropped: (listener) => void listeners.dropped.push(listener),
      receive: (...given) => via(() => bare.receive(...given)),
      takeEnded: (...given) => via(() => bare.takeEnded(...given)),
      locked: (...given) => via(() => bare.locked(...given)),
    };
    this.#stores.set(process.name, store);
    return store;
  }

  /** A call goes there, is carried out in one piece, and its answer comes back. */
  async #via<T>(process: Process, act: () => Promise<T>): Promise<T> {
    const gone = () => new Refusal("Unavailable", "no way to the database", { retryAfterMs: 500 });
    const travelMs = () => (this.#dice.isHit(0.9) ? 0 : this.#dice.whole(1, 40));
    if (process.isCut) throw gone();
    const there = travelMs();
    if (there > 0) await new Promise<void>((go) => this.#clock.after(there, go));
    // What a process that has died meanwhile had sent may still arrive, or not.
    if ((process.isCut || !process.isAlive) && this.#dice.isHit(0.5)) throw gone();
    this.#acting = process;
    const answer = act();
    this.#acting = null;
    const value = await process.hear(answer);
    const back = travelMs();
    if (back > 0) await process.hear(new Promise<void>((go) => this.#clock.after(back, go)));
    if (process.isCut) throw gone();
    return value;
  }

  async #claim(process: Process, keeper: SlotKeeper, queue: Queue, want: Want): Promise<Claim> {
    const slot = this.#slotOf(queue.subscription);
    const term = keeper.termOf(slot);
    const isOwner = this.ownerOf(slot) === process.name && keeper.isMine(slot);
    if (!isOwner || term === null) return { deliveries: [], nextDueAt: null };
    const { skewMs } = process;
    const sinceBefore =
      want.sinceBefore === undefined ? {} : { sinceBefore: want.sinceBefore - skewMs };
    const asked = { ...want, now: this.#clock.now(), ...sinceBefore };
    const { deliveries, nextDueAt } = await this.bare.claim(queue, asked);
    for (const { id, lease } of deliveries) {
      this.#leases.set(lease, { holder: process, id, slot, term });
    }
    return {
      deliveries: deliveries.map((delivery) => ({
        ...delivery,
        dueAt: delivery.dueAt + skewMs,
        leasedUntil: delivery.leasedUntil + skewMs,
        since: delivery.since + skewMs,
      })),
      nextDueAt: nextDueAt === null ? null : nextDueAt + skewMs,
    };
  }

  async #settle(process: Process, settlements: readonly Settlement[]) {
    const counted: boolean[] = [];
    const { skewMs } = process;
    for (const given of settlements) {
      const settlement =
        given.kind === "due"
          ? { ...given, at: given.at - skewMs, since: given.since - skewMs }
          : given;
      const leased = this.#leases.get(settlement.lease);
      const row = leased && this.table.rows()[leased.slot];
      const isOurs = row?.owner === process.name && row.term === leased?.term;
      const [counts = false] = isOurs ? await this.bare.settle([settlement]) : [];
      counted.push(counts);
      if (!counts) continue;
      this.#leases.delete(settlement.lease);
      const { event, subscription } = settlement.delivery;
      if (settlement.kind === "due") this.dueAt.set(`${event}/${subscription}`, settlement.at);
    }
    return counted;
  }

  /** Leases end with the ownership of their slot. */
  #forget(slots: readonly Slot[], isOf: (holder: Process) => boolean): void {
    const gone = new Set(slots);
    for (const [lease, { holder, id, slot }] of this.#leases) {
      if (!gone.has(slot) || !isOf(holder)) continue;
      this.#leases.delete(lease);
      void this.bare.settle([{ kind: "back", delivery: id, lease }]);
    }
  }

  /** The processes' clocks differ: the database counts by its own. */
  #here(_now: Instant): Instant {
    return this.#clock.now();
  }

  #slotOf(id: SubscriptionId): Slot {
    return this.#slots.get(id) ?? 0;
  }

  #withSlots({ subscriptions, retired, ...rest }: Catalog): Catalog {
    return {
      ...rest,
      subscriptions: subscriptions.map((one) => this.#withSlot(one)),
      ...(retired && { retired: retired.map((one) => this.#withSlot(one)) }),
    };
  }

  #withSlot(subscription: Subscription): Subscription {
    return { ...subscription, slot: this.#slots.get(subscription.id) ?? servingSlot(subscription) };
  }

  #post(to: string, text: string): void {
    const listeners = this.#listeners.get(to);
    listeners?.box.push(text);
    listeners?.process.notice(() => this.#fetch(listeners));
  }

  #fetch({ box, mail }: Listeners): void {
    for (const text of box.splice(0)) for (const listener of mail) listener(text);
  }

  /** Polling is the truth, and notices are hints. */
  async #lookAround(listeners: Listeners): Promise<void> {
    this.#fetch(listeners);
    if (!listeners.isBehind) return;
    listeners.isBehind = false;
    for (const listener of listeners.change) listener(null);
    for (const { subscription, stage, nextDueAt } of await this.bare.counts()) {
      const dueAt = nextDueAt + listeners.process.skewMs;
      const wake = { queue: { subscription, stage }, dueAt, deliveries: [] };
      for (const listener of listeners.wake) listener(wake);
    }
  }

  #tell<K extends "wake" | "change">(kind: K, what: Parameters<Listeners[K][number]>[0]): void {
    for (const one of this.#listeners.values()) {
      const { process, [kind]: listeners } = one;
      const told = "dueAt" in (what ?? {}) ? shifted(what as Wake, process.skewMs) : what;
      const act = () => {
        for (const listener of listeners) (listener as (what: unknown) => void)(told);
      };
      // A writer hears of its own change before it is answered.
      if (process === this.#acting) act();
      else if (process.isCut || this.#dice.isHit(0.05)) one.isBehind = true;
      else queueMicrotask(() => process.notice(act));
    }
  }
}

function shifted(wake: Wake, ms: number): Wake {
  return { ...wake, dueAt: wake.dueAt + ms };
}

function isStale(error: unknown): boolean {
  return error instanceof Refusal && error.code === "PreconditionFailed";
}

function withoutSlot<T extends object>(draft: T): T {
  const { slot: _slot, ...rest } = draft as T & { slot?: number };
  return rest as T;
}
