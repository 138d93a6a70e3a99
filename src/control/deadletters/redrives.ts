// Redrives: those running and those that have ended, to be started, watched, stopped and resumed.
// They are kept in the store. When the broker ends, in whatever way, so do they: the next start
// finds them stopped, and each can go on with what it has not sent. Of several brokers, the one
// with the cluster's odd jobs goes on with those of a broker that died.

import type { RedriveOrder } from "../../core/api/orders.ts";
import type { Page, RedriveView } from "../../core/api/views.ts";
import { redriveLimits } from "../../core/deadletter/redrive.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Memos } from "../../core/steering.ts";
import { shownAs } from "../../core/text/wording.ts";
import { apiRoot, Begun, type Handlers } from "../api/serve.ts";
import type { Calls } from "../cluster/calls.ts";
import { type RedriveDeps, type RedriveJob, Redriving } from "./redrive.ts";
import { readOrder } from "./redrive-order.ts";
import { type KeptRedrive, RedriveRecords, viewOfKept } from "./redrive-record.ts";

export interface RedrivesDeps extends RedriveDeps {
  readonly memos: Memos;
  /** Of a store that several brokers share; without it there is only this one. */
  readonly cluster?: RedrivesCluster | undefined;
}

export interface RedrivesCluster {
  /** This broker. */
  readonly broker: string;
  /** Those alive, this one included. */
  alive(): Promise<readonly string[]>;
  /** Whether the cluster's odd jobs are this broker's. */
  hasOddJobs(): boolean;
  every(ms: number, ring: () => void): () => void;
  readonly calls: Pick<Calls, "ask" | "answer">;
}

const stopVerb = "redrive.stop";
/** What is in flight may end first. */
const stopWaitMs = 30_000;

/** How often redrives of brokers that died are looked for. */
const adoptMs = 5_000;

/** `kept` is how it was when it was last written; `running`: the one that has it in hand. */
interface Known {
  kept: KeptRedrive;
  redriving: Redriving | null;
}

export class Redrives {
  readonly #deps: RedrivesDeps;
  readonly #records: RedriveRecords;
  readonly #tell: (view: RedriveView) => void;
  /** The oldest first. */
  readonly #known = new Map<string, Known>();
  #loaded: Promise<void> | null = null;
  readonly #runs = new Set<Promise<void>>();
  #isClosed = false;
  readonly #stopAdopting: () => void;

  constructor(deps: RedrivesDeps, tell: (view: RedriveView) => void = () => {}) {
    this.#deps = deps;
    this.#records = new RedriveRecords(deps.memos);
    this.#tell = tell;
    deps.cluster?.calls.answer<string>(stopVerb, (id) => this.#stopHere(id));
    this.#stopAdopting = deps.cluster?.every(adoptMs, () => void this.#adopt()) ?? (() => {});
  }

  /** Goes on with what a broker that died had in hand. If that fails, it is tried again. */
  async #adopt(): Promise<void> {
    const { cluster, log } = this.#deps;
    if (cluster?.hasOddJobs() !== true || this.#isClosed) return;
    try {
      await this.#load();
      for (const known of this.#known.values()) {
        const { state, by } = known.kept.progress;
        const isOrphan = state === "stopped" && by !== undefined && by !== cluster.broker;
        if (!isOrphan || known.redriving !== null) continue;
        log.fact("info", "redrive.adopted", { redrive: known.kept.id, from: by });
        this.#run(known, known.kept.progress);
      }
    } catch (error) {
      log.fact("warn", "redrive.unadopted", { error: String(error) });
    }
  }

  get handlers(): Pick<
    Handlers,
    "startRedrive" | "listRedrives" | "showRedrive" | "stopRedrive" | "resumeRedrive"
  > {
    return {
      startRedrive: ({ body }) => this.#start(body),
      listRedrives: () => this.#page(),
      showRedrive: async ({ params }) => viewOf(await this.#need(params.id)),
      stopRedrive: ({ params }) => this.#stop(params.id),
      resumeRedrive: ({ params }) => this.#resume(params.id),
    };
  }

  /** Stops the running ones, and resolves when they have stopped. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopAdopting();
    for (const { redriving } of this.#known.values()) redriving?.stop();
    await Promise.all(this.#runs);
  }

  async #start(asked: RedriveOrder): Promise<RedriveView | Begun<RedriveView>> {
    const { clock, ids } = this.#deps;
    const order = this.#read(asked);
    const id = ids.next();
    const startedAt = clock.now();
    if (order.isDryRun) {
      const job = { id, startedAt, before: null, keep: async () => {}, tell: () => {} };
      const redriving = new Redriving(this.#deps, order, job);
      await redriving.tryOut();
      return redriving.view;
    }
    await this.#load();
    this.#refuseTooMany();
    const { perSecond, target } = order;
    const record = { order: asked, startedAt, to: target.words, perSecond };
    const counts = { total: 0, sent: 0, failed: 0, skipped: 0 };
    const progress = {
      state: "running",
      at: startedAt,
      ...counts,
      remarks: [],
      underWay: [],
    } as const;
    const known: Known = { kept: { id, record, progress }, redriving: null };
    this.#known.set(id, known);
    try {
      await this.#records.putOrder(id, record);
    } catch (error) {
      this.#known.delete(id);
      throw error;
    }
    await this.#forgetOldest();
    return this.#run(known, null);
  }

  /** Refusals: Conflict, and those of an order: what it names may have gone. */
  async #resume(id: string): Promise<Begun<RedriveView>> {
    const known = await this.#need(id);
    const { state } = viewOf(known);
    if (state !== "stopped" && state !== "failed") {
      throw new Refusal("Conflict", `The redrive is ${state}; one that is stopped can be resumed.`);
    }
    this.#refuseTooMany();
    return this.#run(known, known.kept.progress);
  }

  #run(known: Known, before: RedriveJob["before"]): Begun<RedriveView> {
    const { id, record } = known.kept;
    const order = this.#read(record.order);
    const job: RedriveJob = {
      ...{ id, startedAt: record.startedAt, before, tell: this.#tell },
      keep: async (given) => {
        // What is stopped because the broker leaves is for another to go on with.
        const isInHand = given.state === "running" || (given.state === "stopped" && this.#isClosed);
        const by = isInHand ? this.#deps.cluster?.broker : undefined;
        const progress = by === undefined ? given : { ...given, by };
        await this.#records.putProgress(id, progress);
        known.kept = { ...known.kept, progress };
      },
    };
    const redriving = new Redriving(this.#deps, order, job);
    known.redriving = redriving;
    const run = redriving.run().finally(() => this.#runs.delete(run));
    this.#runs.add(run);
    return new Begun(redriving.view, `${apiRoot}/redrives/${id}`);
  }

  #read(asked: RedriveOrder) {
    if (this.#isClosed) throw new Refusal("Unavailable", "The broker is stopping.");
    const { accounts } = this.#deps;
    return readOrder(asked, { catalog: this.#deps.catalog(), accounts });
  }

  /** Refusal: Conflict. */
  #refuseTooMany(): void {
    const running = [...this.#known.values()].filter((each) => viewOf(each).state === "running");
    if (running.length < redriveLimits.runningMax) return;
    const words = `${running.length} redrives are running; stop one, or wait for its end.`;
    throw new Refusal("Conflict", words);
  }

  async #forgetOldest(): Promise<void> {
    for (const [id, known] of this.#known) {
      if (this.#known.size <= redriveLimits.keptMax) return;
      if (viewOf(known).state === "running") continue;
      this.#known.delete(id);
      await this.#records.remove(id);
    }
  }

  /** Those of before, at the first question; those of other brokers, at each. */
  #load(): Promise<void> {
    if (this.#deps.cluster !== undefined) this.#loaded = null;
    this.#loaded ??= this.#readKept().catch((error) => {
      this.#loaded = null;
      throw error;
    });
    return this.#loaded;
  }

  async #readKept(): Promise<void> {
    const alive = new Set(await this.#deps.cluster?.alive());
    for (const kept of await this.#records.load(alive)) {
      const known = this.#known.get(kept.id);
      if (known === undefined) this.#known.set(kept.id, { kept, redriving: null });
      else if (known.redriving === null) known.kept = kept;
    }
  }

  /** The latest first. */
  async #page(): Promise<Page<RedriveView>> {
    await this.#load();
    return { value: [...this.#known.values()].map(viewOf).toReversed(), next: null };
  }

  /** Resolves when nothing of it is in progress any more; an ended one does not change. */
  async #stop(id: string): Promise<RedriveView> {
    const { cluster } = this.#deps;
    const known = await this.#need(id);
    const { state, by } = known.kept.progress;
    const isElsewhere = known.redriving === null && state === "running" && by !== undefined;
    if (cluster === undefined || !isElsewhere || by === cluster.broker) return this.#stopHere(id);
    return await cluster.calls.ask<RedriveView>(by, stopVerb, id, stopWaitMs);
  }

  async #stopHere(id: string): Promise<RedriveView> {
    const known = await this.#need(id);
    known.redriving?.stop();
    await known.redriving?.ended;
    return viewOf(known);
  }

  async #need(id: string): Promise<Known> {
    await this.#load();
    const found = this.#known.get(id);
    if (found !== undefined) return found;
    throw new Refusal("NotFound", `There is no redrive ${shownAs(id)}.`);
  }
}

function viewOf({ kept, redriving }: Known): RedriveView {
  return redriving?.view ?? viewOfKept(kept);
}
