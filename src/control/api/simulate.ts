// What would happen to an event during an outage of its endpoint. Of this broker only the settings
// are used; the simulation itself is passed in (src/whatif).

import type { SimulateOrder } from "../../core/api/orders.ts";
import type { Simulation } from "../../core/api/views.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Handlers } from "./serve.ts";

export interface SimulateDeps {
  /** Yields to the event loop every few milliseconds. Refusal: InvalidSetting. */
  readonly simulate: (order: SimulateOrder) => Promise<Simulation>;
}

/** Each takes a share of the event loop. */
const atOnceMax = 4;
const retryAfterMs = 1_000;

export function simulateHandlers({ simulate }: SimulateDeps): Pick<Handlers, "simulate"> {
  let running = 0;
  return {
    async simulate({ body }) {
      if (running >= atOnceMax) {
        const words = `${atOnceMax} what-ifs are running already. Ask again in a second.`;
        throw new Refusal("TooManyRequests", words, { retryAfterMs });
      }
      running += 1;
      try {
        return await simulate(body);
      } finally {
        running -= 1;
      }
    },
  };
}
