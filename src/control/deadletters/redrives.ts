// Redrives: those under way and those that have ended, to be started, watched and stopped. They
// live as long as the broker does: a stop ends them, and the next start knows nothing of them. How
// often an event was sent again it does know, so the same order with `redriven: false` goes on with
// what is left.

import type { RedriveOrder } from "../../core/api/orders.ts";
import type { Page, RedriveView } from "../../core/api/views.ts";
import { redriveLimits } from "../../core/deadletter/redrive.ts";
import { Refusal } from "../../core/refusal.ts";
import { shownAs } from "../../core/text/wording.ts";
import { apiRoot, Begun, type Handlers } from "../api/serve.ts";
import { type RedriveDeps, Redriving } from "./redrive.ts";
import { readOrder } from "./redrive-order.ts";

export class Redrives {
  readonly #deps: RedriveDeps;
  readonly #tell: (view: RedriveView) => void;
  readonly #known = new Map<string, Redriving>();
  readonly #runs = new Set<Promise<void>>();
  #isClosed = false;

  constructor(deps: RedriveDeps, tell: (view: RedriveView) => void = () => {}) {
    this.#deps = deps;
    this.#tell = tell;
  }

  get handlers(): Pick<Handlers, "startRedrive" | "listRedrives" | "showRedrive" | "stopRedrive"> {
    return {
      startRedrive: ({ body }) => this.#start(body),
      listRedrives: () => this.#page(),
      showRedrive: ({ params }) => this.#need(params.id).view,
      stopRedrive: ({ params }) => this.#stop(params.id),
    };
  }

  /** Stops what runs, and resolves when it has. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const redriving of this.#known.values()) redriving.stop();
    await Promise.all(this.#runs);
  }

  async #start(asked: RedriveOrder): Promise<RedriveView | Begun<RedriveView>> {
    if (this.#isClosed) throw new Refusal("Unavailable", "The broker is stopping.");
    const catalog = this.#deps.catalog();
    const order = readOrder(asked, { catalog, accounts: this.#deps.accounts });
    const redriving = new Redriving(this.#deps, order, this.#tell);
    if (order.isDryRun) {
      await redriving.tryOut();
      return redriving.view;
    }
    const running = [...this.#known.values()].filter((each) => each.isRunning);
    if (running.length >= redriveLimits.runningMax) {
      const words = `${running.length} redrives are running; stop one, or wait for its end.`;
      throw new Refusal("Conflict", words);
    }
    this.#keep(redriving);
    const run = redriving.run().finally(() => this.#runs.delete(run));
    this.#runs.add(run);
    const { view } = redriving;
    return new Begun(view, `${apiRoot}/redrives/${view.id}`);
  }

  #keep(redriving: Redriving): void {
    this.#known.set(redriving.view.id, redriving);
    for (const [id, each] of this.#known) {
      if (this.#known.size <= redriveLimits.keptMax) return;
      if (!each.isRunning) this.#known.delete(id);
    }
  }

  /** The latest first. */
  #page(): Page<RedriveView> {
    const value = [...this.#known.values()].map(({ view }) => view).toReversed();
    return { value, next: null };
  }

  /** Resolves when nothing of it is under way any more; one that has ended stays as it is. */
  async #stop(id: string): Promise<RedriveView> {
    const redriving = this.#need(id);
    redriving.stop();
    await redriving.ended;
    return redriving.view;
  }

  #need(id: string): Redriving {
    const found = this.#known.get(id);
    if (found !== undefined) return found;
    throw new Refusal("NotFound", `There is no redrive ${shownAs(id)}.`);
  }
}
