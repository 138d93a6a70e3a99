// Redrives: those under way and those that have ended, to be started, watched and stopped. They
// live as long as the broker does: a stop ends them, and the next start knows nothing of them. How
// often an event was sent again it does know, so the same order with `redriven: false` goes on with
// what is left.

import type { Page, RedriveView } from "../../core/api/views.ts";
import { redriveLimits } from "../../core/deadletter/redrive.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Reply, Request, Route } from "../../core/request.ts";
import { shownAs } from "../../core/text/wording.ts";
import { apiHeaders } from "../api/names.ts";
import { reply } from "../arm/reply.ts";
import { type RedriveDeps, Redriving } from "./redrive.ts";
import { readOrder } from "./redrive-order.ts";

const path = "/api/v1/redrives";

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

  get routes(): Route[] {
    const headers = apiHeaders;
    const one = `${path}/:id`;
    return [
      { method: "POST", path, headers, handle: (request) => this.#order(request) },
      { method: "GET", path, headers, handle: () => reply(200, this.#page()) },
      {
        method: "GET",
        path: one,
        headers,
        handle: (request) => reply(200, this.#need(request).view),
      },
      { method: "DELETE", path: one, headers, handle: (request) => this.#stop(request) },
    ];
  }

  /** Stops what runs, and resolves when it has. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const redriving of this.#known.values()) redriving.stop();
    await Promise.all(this.#runs);
  }

  async #order(request: Request): Promise<Reply> {
    if (this.#isClosed) throw new Refusal("Unavailable", "The broker is stopping.");
    const catalog = this.#deps.catalog();
    const order = readOrder(request, { catalog, accounts: this.#deps.accounts });
    const redriving = new Redriving(this.#deps, order, this.#tell);
    if (order.isDryRun) {
      await redriving.tryOut();
      return reply(200, redriving.view);
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
    return reply(202, view, { location: `${path}/${view.id}` });
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
  async #stop(request: Request): Promise<Reply> {
    const redriving = this.#need(request);
    redriving.stop();
    await redriving.ended;
    return reply(200, redriving.view);
  }

  #need({ params }: Request): Redriving {
    const { id = "" } = params;
    const found = this.#known.get(id);
    if (found !== undefined) return found;
    throw new Refusal("NotFound", `There is no redrive ${shownAs(id)}.`);
  }
}
