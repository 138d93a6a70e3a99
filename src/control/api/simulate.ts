// What would become of an event if its endpoint were away for a while: the laws that deliver
// events, asked on a clock that is only imagined. Nothing of this broker is looked at but its
// settings.

import { type SimulationDeps, simulate } from "../../core/whatif/simulate.ts";
import type { Handlers } from "./serve.ts";

export function simulateHandlers(deps: SimulationDeps): Pick<Handlers, "simulate"> {
  return { simulate: ({ body }) => simulate(body, deps) };
}
