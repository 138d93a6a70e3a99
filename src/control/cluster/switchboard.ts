// The endpoints of all brokers, as one. Each broker knows the health of its own; the others are
// asked when somebody looks, and nothing is written while nobody does. What an operator closes or
// opens is done at every broker before the operator is answered.

import { healthRules, healthyStart } from "../../core/delivery/health.ts";
import type { Closure } from "../../core/delivery/health-text.ts";
import type { Clock, Instant } from "../../core/ports.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import type {
  EndpointState,
  EndpointUse,
  OwnSwitchboard,
  Switchboard,
} from "../../core/steering.ts";
import { endpointOf, type Subscription, type SubscriptionId } from "../../core/subscription.ts";
import type { Calls } from "./calls.ts";

export interface ClusterSwitchboardDeps {
  readonly own: OwnSwitchboard;
  readonly calls: Calls;
  readonly catalog: () => LiveCatalog;
  readonly clock: Clock;
}

type Told = EndpointState & { readonly subscriptions: readonly SubscriptionId[] };

type ClosureOrder = {
  readonly name: string;
  readonly order: "closed" | "opened" | "reset";
  readonly closure: Closure;
};

const lookWaitMs = 2_000;
const orderWaitMs = 5_000;
/** Those who look at the same time share the questions. */
const freshMs = 1_000;

export class ClusterSwitchboard implements Switchboard {
  readonly #deps: ClusterSwitchboardDeps;
  #latest: { readonly at: Instant; readonly told: Promise<readonly Told[]> } | null = null;

  constructor(deps: ClusterSwitchboardDeps) {
    this.#deps = deps;
    const { calls } = deps;
    calls.answer("endpoints", async () => this.#tell());
    calls.answer<ClosureOrder>("closure", async (given) => this.#apply(given));
  }

  async endpoints(): Promise<readonly EndpointUse[]> {
    const { own } = this.#deps;
    const told = await this.#askOthers();
    const all = [...own.endpoints(), ...told.map((state) => this.#recognised(state))];
    return [...all, ...this.#untold(all)].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  closures(): ReadonlyMap<string, Closure> {
    return this.#deps.own.closures();
  }

  async closeEndpoint(name: string, closure: Closure): Promise<void> {
    await this.#order({ name, order: "closed", closure });
  }

  async openEndpoint(name: string, order: "opened" | "reset", closure: Closure): Promise<void> {
    await this.#order({ name, order, closure });
  }

  async #order(given: ClosureOrder): Promise<void> {
    this.#apply(given);
    this.#latest = null;
    await this.#deps.calls.askAll("closure", given, orderWaitMs);
  }

  #apply({ name, order, closure }: ClosureOrder): void {
    const { own } = this.#deps;
    if (order === "closed") own.closeEndpoint(name, closure);
    else own.openEndpoint(name, order, closure);
  }

  #tell(): readonly Told[] {
    return this.#deps.own.endpoints().map(({ subscriptions, ...state }) => ({
      ...state,
      subscriptions: subscriptions.map(({ id }) => id),
    }));
  }

  #askOthers(): Promise<readonly Told[]> {
    const { calls, clock } = this.#deps;
    const now = clock.now();
    if (this.#latest === null || now - this.#latest.at >= freshMs) {
      const told = calls.askAll<readonly Told[]>("endpoints", {}, lookWaitMs);
      this.#latest = { at: now, told: told.then((answers) => answers.flat()) };
    }
    return this.#latest.told;
  }

  #recognised({ subscriptions, ...state }: Told): EndpointUse {
    const catalog = this.#deps.catalog();
    return {
      ...state,
      subscriptions: subscriptions.flatMap((id) => catalog.subscription(id) ?? []),
    };
  }

  /** Of a broker that has not answered, or that has just gone: nothing is known but the names. */
  #untold(told: readonly EndpointUse[]): readonly EndpointUse[] {
    const known = new Set(told.flatMap(({ subscriptions }) => subscriptions.map(({ id }) => id)));
    const left = this.#deps
      .catalog()
      .subscriptions.filter(({ id, isActive }) => isActive && !known.has(id));
    const byName = Map.groupBy(left, ({ destination }) => endpointOf(destination));
    return [...byName].map(([name, subscriptions]) => this.#unknown(name, subscriptions));
  }

  #unknown(name: string, subscriptions: readonly Subscription[]): EndpointUse {
    const closure = this.closures().get(name) ?? null;
    return {
      ...{ name, subscriptions, closure, isDelayed: false, health: healthyStart },
      ...{ sends: 0, failures: 0, trouble: null, changes: [], rules: healthRules },
    };
  }
}
