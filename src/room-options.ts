// From settings to each room's options. Nothing is opened here, and nothing is read but our own
// version.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "./config/config.ts";
import { settingList } from "./config/settings.ts";
import type { SettingView } from "./core/api/views.ts";
import { type BatchPolicy, batchDefaults } from "./core/delivery/batch.ts";
import { handshakeRules } from "./core/handshake/handshake.ts";
import type { Catalog } from "./core/registry.ts";
import type { Retention } from "./core/story/chronicle.ts";
import { isLoopback } from "./core/text/setting-kinds.ts";
import { type ModuleRules, moduleBatchDefaults } from "./edge/topic.ts";
import type { Trust } from "./egress/http/connections.ts";
import { type EgressPolicy, type OwnInboxes, openEgressPolicy } from "./egress/policy.ts";
import type { OwnPort } from "./runtime/http/topic-ports.ts";
import { openFilesMax } from "./runtime/open-files.ts";
import type { RoomRules } from "./wiring.ts";

export function rulesOf(config: Config): RoomRules {
  const ttlMs = config.defaultEventTimeToLiveMs;
  return {
    profile: config.profile,
    auth: config.auth,
    defaults: {
      ...(config.defaultMaxDeliveryAttempts === null
        ? {}
        : { attemptsMax: config.defaultMaxDeliveryAttempts }),
      ...(ttlMs === null ? {} : { ttlMs }),
      deadLetterPauseMs: config.deadLetterPauseMs,
      deadLetterLimitMs: config.deadLetterLimitMs,
    },
    endpointSendsMax: config.endpointSendsMax,
    allSendsMax: sendsMaxOf(config),
    health: {
      failuresMax: config.healthFailuresMax,
      firstWaitMs: config.healthFirstWaitMs,
      growth: config.healthWaitGrowth,
      waitMaxMs: config.healthWaitMaxMs,
      healthyAtOnce: config.healthRecoverAtOnce,
    },
    handshake: config.handshake
      ? {
          ...handshakeRules,
          persistMs: config.handshakePersistMs,
          refusedPersistMs: config.handshakeRefusedPersistMs,
          windowMs: config.handshakeWindowMs,
        }
      : null,
  };
}

/** The default of the batching setting that a subscription does not give (B-4). */
export function batchDefaultsOf(config: Config, usual: BatchPolicy = batchDefaults): BatchPolicy {
  const { defaultMaxEventsPerBatch: events, defaultPreferredBatchKilobytes: kilobytes } = config;
  return {
    maxEvents: events ?? usual.maxEvents,
    preferredBytes: kilobytes === null ? usual.preferredBytes : kilobytes * 1024,
  };
}

export function moduleRulesOf(config: Config): ModuleRules {
  const { moduleBatchBytesMax: bytesMax, moduleBatchKilobytesMax: kilobytesMax } = config;
  const defaults = batchDefaultsOf(config, moduleBatchDefaults);
  return {
    batch: {
      defaults: {
        maxEvents: config.moduleBatchEvents ?? defaults.maxEvents,
        preferredBytes: config.moduleBatchBytes ?? defaults.preferredBytes,
      },
      eventsMax: config.moduleBatchEventsMax,
      kilobytesMax: Math.min(kilobytesMax, Math.floor((bytesMax ?? Infinity) / 1024)),
    },
    webhookHttpsOnly: config.webhookHttpsOnly,
    eventGridHttpsOnly: config.eventGridHttpsOnly,
  };
}

export function trustOf({ webhookTrustsAll, webhookTrustsAnyAuthority }: Config): Trust {
  if (webhookTrustsAll) return "all";
  return webhookTrustsAnyAuthority ? "anyAuthority" : "known";
}

export function entraOf({ entraIssuer, entraAudiences, entraJwks }: Config) {
  if (entraIssuer === null || entraJwks === null) return null;
  return { issuer: entraIssuer, audiences: entraAudiences, jwks: entraJwks };
}

/** With a memory store, this much less is kept. */
const memoryStoryBytesMax = 64 * 1_048_576;

export function retentionOf({ store, storyKeptMs, storyBytesMax }: Config): Retention {
  const isInMemory = store === "memory";
  const bytesMax = isInMemory ? Math.min(storyBytesMax, memoryStoryBytesMax) : storyBytesMax;
  return { keptMs: storyKeptMs, bytesMax };
}

export function portsIn({ topics }: Catalog): OwnPort[] {
  return topics.flatMap(({ name, port }) => (port === null ? [] : { topic: name, port }));
}

export function settingsOf({ rows }: Config): SettingView[] {
  return rows.map(({ name, value, from }) => {
    const known = settingList.find((setting) => setting.name === name);
    const { about = "A section of the file.", isSecret = false } = known ?? {};
    return { name, value, source: from, about, isSecret };
  });
}

export function versionOf(): string {
  const text = readFileSync(join(import.meta.dirname, "../package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/**
 * To all endpoints together. Each send holds an open file, and as many again may be late or idle;
 * where the system allows few files, we send less at once and not into errors.
 */
export function sendsMaxOf({ sendsMax }: Config): number {
  return Math.max(8, Math.min(sendsMax, Math.floor(openFilesMax() / 5)));
}

/** Undefined: every address is allowed. Refusal: InvalidSetting. */
export function egressPolicyOf(config: Config, inboxes: OwnInboxes): EgressPolicy | undefined {
  const { egressBlocked, egressAllowed, http, https } = config;
  const isOpen = [http, https].some((at) => at !== null && !isLoopback(at.host));
  const auto = isOpen ? ["link-local"] : [];
  const blocked = egressBlocked
    .filter((name) => name !== "off")
    .flatMap((name) => (name === "auto" ? auto : [name]));
  if (blocked.length === 0) return undefined;
  return openEgressPolicy({ blocked, allowed: egressAllowed ?? [], inboxes });
}
