// What would become of an event if its endpoint were away for a while: the laws that deliver
// events, asked on a clock that is only imagined. Nothing of this broker is looked at but its
// settings.

import type { Route } from "../../core/request.ts";
import { checkInteger } from "../../core/text/check.ts";
import { orderMembers } from "../../core/whatif/outage.ts";
import { type SimulationDeps, simulate } from "../../core/whatif/simulate.ts";
import { readMembers } from "../arm/body.ts";
import { reply } from "../arm/reply.ts";
import { apiHeaders } from "./names.ts";

/** A broker has other things to do meanwhile; the command line takes more. */
const backlogRange = { min: 0, max: 5_000 };

export function simulateRoutes(deps: SimulationDeps): Route[] {
  return [
    {
      method: "POST",
      path: "/api/v1/simulate",
      headers: apiHeaders,
      handle(request) {
        const order = readMembers(request, orderMembers);
        checkInteger(order.backlog ?? 0, "backlog", backlogRange);
        return reply(200, simulate(order, deps));
      },
    },
  ];
}
