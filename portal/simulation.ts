// What-if requests while the user types: after a short pause, one request at a time, and the last
// good answer stays until the next one is there.

import { useEffect, useRef, useState } from "react";
import type { SimulateOrder } from "../src/core/api/orders.ts";
import type { Simulation } from "../src/core/api/views.ts";
import { apiPath, ask, asRefused, type Refused } from "./api.ts";
import { inTurn } from "./in-turn.ts";

/** The pause after the last key. */
const restMs = 250;
/** The broker is busy with others: tried again after this time. */
const busyMs = 1_000;
const tooMany = 429;

interface Held {
  readonly key: string;
  readonly played: Simulation | null;
  readonly refused: Refused | null;
}

export interface Asked {
  /** The last good answer, perhaps to an earlier request. */
  readonly played: Simulation | null;
  readonly refused: Refused | null;
  /** Whether the answer to the current request is still to come. */
  readonly isWaiting: boolean;
}

/** A refusal: the request is not sent, because it is invalid. */
export function useSimulation(order: SimulateOrder | Refused): Asked {
  const isOrder = !(order instanceof Error);
  const key = isOrder ? JSON.stringify(order) : "";
  const [held, setHeld] = useState<Held>({ key: "", played: null, refused: null });
  const wanted = useRef(key);
  const play = useRef<() => void>(undefined);
  play.current ??= inTurn(async () => {
    const asked = wanted.current;
    if (asked === "") return;
    try {
      const played = await ask<Simulation>("POST", apiPath(["simulate"]), JSON.parse(asked));
      setHeld({ key: asked, played, refused: null });
    } catch (error) {
      const refused = asRefused(error);
      if (refused.status === tooMany) setTimeout(() => play.current?.(), busyMs);
      else setHeld(({ played }) => ({ key: asked, played, refused }));
    }
  });
  useEffect(() => {
    wanted.current = key;
    const timer = setTimeout(() => play.current?.(), restMs);
    return () => clearTimeout(timer);
  }, [key]);
  return {
    played: held.played,
    refused: isOrder ? (held.key === key ? held.refused : null) : order,
    isWaiting: isOrder && held.key !== key,
  };
}
