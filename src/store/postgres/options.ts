// What the PostgreSQL store is opened with.

import type { Clock, Log } from "../../core/ports.ts";
import type { Rhythm } from "../cluster/slot-keeper.ts";
import type { IntakeLimits } from "../intake.ts";
import type { Target } from "./target.ts";

export interface PostgresOptions extends Omit<IntakeLimits, "retryAfterMs"> {
  readonly target: Target;
  readonly clock: Clock;
  /** Milliseconds that only count, whatever happens to the machine's time. */
  readonly elapsed: () => number;
  readonly log: Log;
  /** This broker's name in the cluster: a new one with every start. */
  readonly broker: string;
  /** Of this broker to the database; at least three. */
  readonly connectionsMax: number;
  /** Whether brokers tell each other by LISTEN and NOTIFY. */
  readonly isNotifying: boolean;
  readonly rhythm: Rhythm;
  /** How long a round of settlements waits for more. */
  readonly gatherMs: number;
  /** Resolves when everything that came in together has been handled. */
  readonly turn?: () => Promise<void>;
  /** A round of publishes took so long. */
  readonly onRound?: (ms: number, operations: number) => void;
}
