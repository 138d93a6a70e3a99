// Learns what other brokers do: hears their notices, and looks at the queues now and then whatever
// it hears. Cleans up what one broker does for all.

import { oddJobsSlot } from "../../core/cluster/slot.ts";
import type { Instant } from "../../core/ports.ts";
import type { SubscriptionId } from "../../core/subscription.ts";
import type { Alarms } from "./alarms.ts";
import type { Claims } from "./claim.ts";
import { HeardWakes } from "./heard-wakes.ts";
import type { Mail } from "./mail.ts";
import { type Notice, Notices } from "./notices.ts";
import { OldSnapshots } from "./old-snapshots.ts";
import type { PostgresOptions } from "./options.ts";
import { ownWake, type Parts } from "./parts.ts";
import { QueueLook } from "./queue-look.ts";
import type { PostgresSlotTable } from "./slot-table.ts";
import type { PostgresSweep } from "./sweep.ts";

/**
 * How often queues are looked at, with notices and without; then less often the more subscriptions
 * there are, so that looking takes about a hundredth of a core.
 */
const pollMs = { notified: 10_000, alone: 500, aloneEach: 0.2 };
const tidyMs = 30_000;

export interface LookoutDeps {
  readonly parts: Parts;
  readonly claims: Claims;
  readonly mail: Mail;
  readonly slots: PostgresSlotTable;
  readonly sweep: PostgresSweep;
  readonly alarms: Alarms;
  /** Between wakes that are passed on. */
  readonly spacingMs: () => number;
}

export class Lookout {
  readonly #deps: LookoutDeps;
  readonly #isNotifying: boolean;
  readonly #notices: Notices | null;
  readonly #wakes: HeardWakes;
  readonly #queues: QueueLook;
  readonly #snapshots: OldSnapshots;
  #isClosed = false;

  constructor(deps: LookoutDeps, options: PostgresOptions & { readonly name: string }) {
    this.#deps = deps;
    const { parts, claims, spacingMs } = deps;
    this.#isNotifying = options.isNotifying;
    const hear = (notice: Notice) => this.#hear(notice);
    this.#notices = options.isNotifying
      ? new Notices({ ...options, hear, onOpen: () => this.lookAround() })
      : null;
    const wake = (subscription: SubscriptionId, at: Instant) => this.#wake(subscription, at);
    this.#wakes = new HeardWakes({ clock: options.clock, spacingMs, wake });
    this.#queues = new QueueLook(parts, claims, () => this.#isClosed);
    this.#snapshots = new OldSnapshots(parts.database, options.log);
    parts.database.onBack(() => this.lookAround());
  }

  async begin(): Promise<void> {
    await this.#notices?.begin();
    const { alarms, parts, sweep } = this.#deps;
    const aloneMs = () => Math.max(pollMs.alone, this.#queues.count * pollMs.aloneEach);
    const lookMs = this.#isNotifying ? () => pollMs.notified : aloneMs;
    alarms.every(lookMs, () => this.#queues.look());
    alarms.every(
      () => tidyMs,
      async () => {
        if (!parts.isMine(oddJobsSlot)) return;
        await sweep.tidy();
        await this.#snapshots.look();
      },
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wakes.close();
    await this.#notices?.close();
  }

  /** After a time in which notices may have been missed. */
  lookAround(): void {
    const { parts, mail, slots } = this.#deps;
    void parts.catchUp().catch(() => {});
    mail.hear();
    slots.hint();
    this.#lookSoon();
  }

  /** If the database is away, the next poll looks again. */
  #lookSoon(): void {
    void this.#queues.look().catch(() => {});
  }

  #hear(notice: Notice): void {
    const { parts, mail, slots } = this.#deps;
    switch (notice.kind) {
      case "catalog":
        void parts.catchUp().catch(() => {});
        return;
      case "slots":
        slots.hint();
        return;
      case "mail":
        if (notice.to === parts.self.broker) mail.hear();
        return;
      case "wake":
        if (notice.due === null) this.#lookSoon();
        else this.#wakes.hear(notice.due);
        return;
      default:
        notice satisfies never;
    }
  }

  #wake(subscription: SubscriptionId, at: Instant): void {
    const { leases, isMine, times } = this.#deps.parts;
    const slot = leases.slotOf(subscription);
    const isHere = slot !== undefined && (leases.isPull(subscription) || isMine(slot));
    if (isHere) ownWake(this.#deps.parts, { subscription, stage: "deliver" }, times.here(at));
  }
}
