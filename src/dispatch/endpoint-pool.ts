// The endpoints that subscriptions served here send to, each shared by all subscriptions with the
// same URL under the same rules; and what operators have closed. An endpoint lives as long as
// somebody sends to it. Its health outlives it when its slot goes to another broker.

import type { HealthRules } from "../core/delivery/health.ts";
import { healthyStart } from "../core/delivery/health.ts";
import type { Closure } from "../core/delivery/health-text.ts";
import { type ProfileName, profiles } from "../core/delivery/profile.ts";
import {
  endpointKeyOf,
  endpointOf,
  type Subscription,
  type SubscriptionId,
} from "../core/subscription.ts";
import { Endpoint } from "./endpoint.ts";
import type { HealthMemory, HealthMemoryDeps } from "./health-memory.ts";
import { SendBudget } from "./send-budget.ts";

/** An endpoint and its senders. */
export interface SharedEndpoint {
  readonly key: string;
  readonly endpoint: Endpoint;
  users: number;
  /** The rates it allows, in requests a minute, by subscription. */
  readonly rates: Map<SubscriptionId, number>;
}

export interface EndpointPoolOptions {
  readonly deps: HealthMemoryDeps;
  readonly healths: HealthMemory;
  /** Sends in flight at one endpoint. */
  readonly sendsMax: number;
  /** To all endpoints together; without it there is no such bound. */
  readonly allSendsMax?: number | undefined;
  readonly rules?: HealthRules | undefined;
}

export class EndpointPool {
  readonly #options: EndpointPoolOptions;
  readonly #budget: SendBudget | undefined;
  readonly #endpoints = new Map<string, SharedEndpoint>();
  readonly #closures = new Map<string, Closure>();

  constructor(options: EndpointPoolOptions) {
    this.#options = options;
    const { allSendsMax } = options;
    if (allSendsMax !== undefined) this.#budget = new SendBudget(allSendsMax);
  }

  all(): readonly SharedEndpoint[] {
    return [...this.#endpoints.values()];
  }

  join({ destination }: Subscription, profile: ProfileName): SharedEndpoint {
    const { delayedDelivery } = profiles[profile];
    const key = `${delayedDelivery ? "delayed" : "plain"} ${endpointKeyOf(destination)}`;
    const shared = this.#endpoints.get(key) ?? {
      key,
      endpoint: this.#open(key, endpointOf(destination), delayedDelivery),
      users: 0,
      rates: new Map<SubscriptionId, number>(),
    };
    shared.users += 1;
    this.#endpoints.set(key, shared);
    return shared;
  }

  /** When its last sender leaves, the endpoint is dropped, and its health with it. */
  leave(shared: SharedEndpoint): void {
    if (this.#depart(shared)) this.#options.healths.put(shared.key, healthyStart);
  }

  /** The same, when another broker goes on with it: what is remembered of it stays. */
  handOn(shared: SharedEndpoint): void {
    if (this.#depart(shared)) this.#options.healths.forget(shared.key);
  }

  #depart(shared: SharedEndpoint): boolean {
    shared.users -= 1;
    return shared.users === 0 && this.#endpoints.delete(shared.key);
  }

  /** `rate`: in requests a minute; undefined: any. */
  setRate(shared: SharedEndpoint, id: SubscriptionId, rate: number | undefined): void {
    if (rate === shared.rates.get(id)) return;
    if (rate === undefined) shared.rates.delete(id);
    else shared.rates.set(id, rate);
    const { endpoint, rates } = shared;
    // Of several rates the slowest applies.
    endpoint.setRate(rates.size === 0 ? null : rates.values().reduce((a, b) => Math.min(a, b)));
  }

  // What operators have closed.

  closures(): ReadonlyMap<string, Closure> {
    return this.#closures;
  }

  close(name: string, closure: Closure): void {
    this.#closures.set(name, closure);
    for (const endpoint of this.#named(name)) endpoint.closed(closure);
  }

  reopen(name: string, order: "opened" | "reset", closure: Closure): void {
    this.#closures.delete(name);
    for (const endpoint of this.#named(name)) endpoint.opened(order, closure);
  }

  /** One for each query, and with or without delayed delivery. */
  #named(name: string): readonly Endpoint[] {
    const all = this.all().map(({ endpoint }) => endpoint);
    return all.filter((endpoint) => endpoint.look().name === name);
  }

  #open(key: string, name: string, delayedDelivery: boolean): Endpoint {
    const { sendsMax, rules, deps, healths } = this.#options;
    return new Endpoint({
      ...{ name, sendsMax, delayedDelivery, budget: this.#budget },
      ...(rules !== undefined && { rules }),
      health: healths.healthOf(key),
      trouble: healths.troubleOf(key),
      onHealth: (state, trouble) => healths.put(key, state, trouble),
      closures: this.#closures,
      ...deps,
    });
  }
}
