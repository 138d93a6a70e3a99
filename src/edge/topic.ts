// A topic in the module's API: a name and a schema.

import type { ArmDeps } from "../control/arm/find-topic.ts";
import { checkInputSchema, newTerms, type TopicTerms } from "../control/properties/topic.ts";
import type { BatchPolicy } from "../core/delivery/batch.ts";
import { type InputMapping, noMapping } from "../core/schema/mapping.ts";
import { checkMembers } from "../core/text/wording.ts";
import type { Topic } from "../core/topic.ts";
import { moduleApiVersion } from "./protocol.ts";

/** The id in the module's form. There is neither hub nor device here, and nobody reads it. */
export const moduleId = "/iotHubs/local/devices/local/modules/posthorn";

/** In the module, events of a custom schema have no envelope; where one is needed, it is this. */
const plainMapping: InputMapping = {
  ...noMapping,
  eventType: { sourceField: null, defaultValue: "custom" },
  subject: { sourceField: null, defaultValue: "custom" },
  dataVersion: { sourceField: null, defaultValue: "1" },
};

/** What is created with this API behaves like the module, whatever the broker's profile. */
const newTopicTerms: TopicTerms = { ...newTerms("topic"), profile: "iot-edge" };

/**
 * The settings with the given schema; everything else, and a schema that is not given, is kept.
 * `value` in one spelling. Refusal: InvalidSetting, naming the field.
 */
export function checkModuleTopic(value: unknown, old: Topic | undefined): TopicTerms {
  const base: TopicTerms = old ?? newTopicTerms;
  const { inputSchema: given = null } = checkMembers(value ?? {}, "properties", [
    "inputSchema",
    "endpoint",
  ]);
  const inputSchema =
    given === null ? base.inputSchema : checkInputSchema(given, "properties.inputSchema");
  if (inputSchema === base.inputSchema) return base;
  return {
    ...base,
    inputSchema,
    mapping: inputSchema === "CustomEventSchema" ? plainMapping : null,
  };
}

export function renderModuleTopic({ name, inputSchema }: Topic, baseUrl: string): object {
  const path = `/topics/${name}`;
  return {
    id: `${moduleId}${path}`,
    name,
    type: "Microsoft.EventGrid/topics",
    properties: {
      endpoint: `${baseUrl}${path}/events?api-version=${moduleApiVersion}`,
      inputSchema,
    },
  };
}

// The module's own settings for its API, from the environment keys of its deployments.

/** As in its documentation. */
export const moduleBatchDefaults: BatchPolicy = { maxEvents: 10, preferredBytes: 1_058_576 };

export interface ModuleRules {
  readonly batch: {
    /** The default of the batch setting that is not given (B-4). */
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
