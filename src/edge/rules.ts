// The module's own settings, as far as writing topics and subscriptions by its API goes. They come
// from the environment keys that its deployments set.

import type { ArmDeps } from "../control/arm/find-topic.ts";
import type { BatchPolicy } from "../core/delivery/batch.ts";

export interface ModuleRules {
  readonly batch: {
    /** What the one of two settings takes that is not given (B-4). */
    readonly defaults: BatchPolicy;
    readonly eventsMax: number;
    readonly kilobytesMax: number;
  };
  readonly webhookHttpsOnly: boolean;
  readonly eventGridHttpsOnly: boolean;
}

export interface ModuleDeps extends ArmDeps {
  readonly rules: ModuleRules;
}
