// The rows of brokers and slots, in SQL (the port SlotTable). A broker that is alive has a row;
// taking a dead one's slots begins with deleting its row, for which settlements under way are
// waited for. So a settlement that counts was made by the owner.

import type { Slot } from "../../core/cluster/slot.ts";
import type { Instant } from "../../core/ports.ts";
import type { ClusterRows, SelfRow, SlotRow, SlotTable } from "../cluster/slot-table.ts";
import { int2Array } from "./binary.ts";
import type { Row } from "./connection.ts";
import type { Session } from "./database.ts";

const beat = {
  name: "beat",
  text: `
  insert into brokers (id, seen_at, alive_until, loads, about, is_serving)
  values ($1, clock_timestamp(), clock_timestamp() + $2 * interval '1 millisecond', $3, $4, $5)
  on conflict (id) do update set seen_at = excluded.seen_at, alive_until = excluded.alive_until,
    loads = excluded.loads, about = excluded.about, is_serving = excluded.is_serving
  returning epoch, xmax = 0`,
};
const look = {
  name: "look_around",
  text: `
  select (extract(epoch from clock_timestamp()) * 1000)::int8, version,
    exists (select 1 from mail where to_broker = $1) from catalog`,
};
const brokers = {
  name: "brokers",
  text: `
  select id, (extract(epoch from started_at) * 1000)::int8,
    (extract(epoch from seen_at) * 1000)::int8, loads, about, is_serving
  from brokers where alive_until > clock_timestamp() order by id`,
};
const slots = {
  name: "slots",
  text: `
  select s.slot, b.id, s.term from slots s
  left join brokers b on b.id = s.owner and b.alive_until > clock_timestamp() order by s.slot`,
};
const bury = { name: "bury", text: "delete from brokers where alive_until < clock_timestamp()" };
const take = {
  name: "take",
  text: `
  update slots s set owner = $1, term = term + 1
  where s.slot = any ($2::int2[]) and exists (select 1 from brokers where id = $1)
    and (s.owner is null or not exists (select 1 from brokers b where b.id = s.owner))
  returning s.slot, s.owner, s.term`,
};
const free = {
  name: "free",
  text: "update slots set owner = null where slot = any ($2::int2[]) and owner = $1",
};
const leaveSlots = { name: "leave_slots", text: "update slots set owner = null where owner = $1" };
const leave = { name: "leave", text: "delete from brokers where id = $1" };
const notify = { name: "notify", text: "select pg_notify('posthorn', $1)" };

export interface SlotTableDeps {
  /** A connection of its own: a heartbeat never waits for others. */
  readonly database: Session;
  readonly now: () => Instant;
  readonly isNotifying: boolean;
  /** What each heartbeat has seen. */
  readonly onBeat: (seen: {
    readonly epoch: number;
    readonly version: number;
    readonly hasMail: boolean;
    /** By the database's clock, and by ours in the middle of asking. */
    readonly now: Instant;
    readonly here: Instant;
  }) => void;
}

export class PostgresSlotTable implements SlotTable {
  readonly #deps: SlotTableDeps;
  readonly #listeners: (() => void)[] = [];
  /** As the others were told. */
  #isServing = false;

  constructor(deps: SlotTableDeps) {
    this.#deps = deps;
  }

  async beat({ id, leaseMs, loads, about, isServing }: SelfRow): Promise<ClusterRows> {
    const { database, now: clock, onBeat } = this.#deps;
    const texts = [JSON.stringify(loads), JSON.stringify(about)];
    const [self] = await database.query(beat, [id, leaseMs, ...texts, isServing]);
    const [epoch, isNew] = self as [number, boolean];
    const asked = clock();
    const [seen] = await database.query(look, [id]);
    const [now, version, hasMail] = seen as [Instant, number, boolean];
    onBeat({ epoch, version, hasMail, now, here: (asked + clock()) / 2 });
    if (isNew || isServing !== this.#isServing) await this.#tell();
    this.#isServing = isServing;
    return {
      now,
      brokers: (await database.query(brokers)).map(peerIn),
      slots: (await database.query(slots)).map(slotIn),
    };
  }

  async take(broker: string, wanted: readonly Slot[]): Promise<readonly SlotRow[]> {
    const { database } = this.#deps;
    await database.query(bury);
    return (await database.query(take, [broker, int2Array(wanted)])).map(slotIn);
  }

  async free(broker: string, given: readonly Slot[]): Promise<void> {
    await this.#deps.database.query(free, [broker, int2Array(given)]);
    await this.#tell();
  }

  async leave(broker: string): Promise<void> {
    await this.#deps.database.query(leaveSlots, [broker]);
    await this.#deps.database.query(leave, [broker]);
    await this.#tell();
  }

  onHint(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** A notice has come. */
  hint(): void {
    for (const listener of this.#listeners) listener();
  }

  async #tell(): Promise<void> {
    if (this.#deps.isNotifying) await this.#deps.database.query(notify, ["s"]);
  }
}

function peerIn([id, startedAt, seenAt, loads, about, isServing]: Row) {
  return { id, startedAt, seenAt, loads, about, isServing };
}

function slotIn([slot, owner, term]: Row): SlotRow {
  return { slot, owner, term };
}
