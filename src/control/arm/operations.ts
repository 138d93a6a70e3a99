// Long-running operations, as clients of Azure Resource Manager know them: a write is answered at
// once with an address to poll for its result.
//
// An answer is delayed a little if the end may be near, because clients that get "in progress"
// sleep for seconds. The results of a bounded number of operations are kept, in memory. So the
// address also names the resource, and for an unknown operation the resource's own state is the
// answer: a poller always gets one.

import type { Clock, Ids, Log } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import { sleep } from "../../core/text/time.ts";

export type Ending =
  | { readonly status: "Succeeded" }
  | {
      readonly status: "Failed";
      readonly error: OperationError;
    };

export interface OperationError {
  readonly code: string;
  readonly message: string;
  readonly target?: string;
  readonly details?: readonly OperationError[];
}

export type Progress = Ending | { readonly status: "InProgress" };

export interface Operations {
  /** The id of a new operation, which fails when its promise rejects. */
  start(ending: Promise<Ending>): string;
  isKnown(id: string): boolean;
  /** How it ended, however long that takes; null for an unknown one. */
  end(id: string): Promise<Progress | null>;
  /** Null for an unknown one. Waits a while for one that has not ended. */
  look(id: string): Promise<Progress | null>;
}

const rememberedMax = 10_000;
const holdMs = 20_000;

export function openOperations({
  clock,
  ids,
  log,
  quiet,
  stop,
}: {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Resolves when nothing happens any more before time moves on; only a virtual clock knows. */
  readonly quiet: (() => Promise<unknown>) | null;
  /** Ends all delays. */
  readonly stop: AbortSignal;
}): Operations {
  const remembered = new Map<string, { progress: Progress; readonly ended: Promise<void> }>();
  return {
    start(ending) {
      const id = ids.next().toUpperCase();
      const operation = {
        progress: { status: "InProgress" } as Progress,
        ended: ending.then(
          (how) => {
            operation.progress = how;
          },
          (error: unknown) => {
            const code = error instanceof Refusal ? error.code : "InternalServerError";
            const message = error instanceof Refusal ? error.message : "The broker's log says why.";
            operation.progress = { status: "Failed", error: { code, message } };
            log.fact("error", "operation.failed", { operation: id, error });
          },
        ),
      };
      remembered.set(id, operation);
      for (const [oldest] of remembered) {
        if (remembered.size <= rememberedMax) break;
        remembered.delete(oldest);
      }
      return id;
    },
    isKnown: (id) => remembered.has(id.toUpperCase()),
    async end(id) {
      const operation = remembered.get(id.toUpperCase());
      await operation?.ended;
      return operation?.progress ?? null;
    },
    async look(id) {
      const operation = remembered.get(id.toUpperCase());
      if (operation === undefined) return null;
      if (operation.progress.status === "InProgress") {
        const answered = new AbortController();
        const late = sleep(clock, holdMs, AbortSignal.any([stop, answered.signal]));
        await Promise.race([operation.ended, late, ...(quiet === null ? [] : [quiet()])]);
        answered.abort();
      }
      return operation.progress;
    },
  };
}

/** The error when an endpoint did not agree; the code is the service's. */
export function failedValidation(endpoint: string, why: string): Ending {
  const words = `Webhook validation handshake failed for ${endpoint}. ${why}`;
  return { status: "Failed", error: { code: "Url validation", message: words } };
}

export function refuseOperation(id: string): Refusal {
  return new Refusal("NotFound", `There is no operation ${id}.`);
}
