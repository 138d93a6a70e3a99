// One broker with a topic for each profile, all of them sending to one real endpoint: whatever the
// endpoint does, it does to six subscriptions that differ in nothing but their profile.
//
// The clock is virtual and starts at a fixed moment, and chance has a fixed seed, so that the same
// scene gives the same times again.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ProfileName, profileNames } from "../../src/core/delivery/profile.ts";
import { type Program, startProgram } from "../fixtures/program.ts";
import { openReceiver, type Received, type Receiver } from "../fixtures/receiver.ts";
import type { Scope } from "../fixtures/webhook.ts";

export const startAt = "2030-01-01T00:00:00.000Z";

export type Json = Readonly<Record<string, unknown>>;

export interface Terms {
  /** Beside the destination. */
  readonly more?: Json;
  /** Within the destination's properties, beside the URL. */
  readonly inside?: Json;
}

export interface Scene {
  readonly program: Program;
  readonly receiver: Receiver;
  readonly folder: string;
  /** Publishes events to the topic of each profile, in the order of the table. */
  publishAll(count?: number): Promise<void>;
  /** Lets time pass. */
  advance(duration: string): Promise<void>;
  /** Requests that came for a profile so far. */
  requests(name: ProfileName): readonly Received[];
  /** Facts of that name about a profile's topic; waits until the log has so many. */
  facts(name: ProfileName, fact: string, count?: number): Promise<readonly Json[]>;
  /** Ends the broker as a crash would, and restarts it on the same folder. */
  restart(): Promise<Scene>;
}

export interface SceneOptions {
  /** What the subscription of a profile asks for. */
  readonly terms?: (name: ProfileName) => Terms;
  /** Options of the broker. */
  readonly options?: readonly string[];
}

const key = "profile-key";
const still = ["--clock", "virtual", "--clock-start", startAt];

export async function openScene(t: Scope, given: SceneOptions = {}): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-profiles-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return await openOn(t, { folder, receiver: await openReceiver(t), given });
}

interface Stage {
  readonly folder: string;
  readonly receiver: Receiver;
  readonly given: SceneOptions;
}

async function openOn(t: Scope, stage: Stage): Promise<Scene> {
  const { folder, receiver, given } = stage;
  const config = join(folder, "config.json");
  const subscriptionOf = (name: ProfileName) => {
    const { more = {}, inside = {} } = given.terms?.(name) ?? {};
    const properties = { endpointUrl: `${receiver.url}/${name}`, ...inside };
    return { destination: { endpointType: "WebHook", properties }, ...more };
  };
  const topics = profileNames.map((name) => [
    name,
    { key1: key, profile: name, subscriptions: { hook: subscriptionOf(name) } },
  ]);
  const storageAccounts = { letters: { folder: join(folder, "letters") } };
  writeFileSync(config, JSON.stringify({ topics: Object.fromEntries(topics), storageAccounts }));
  const program = await startProgram([
    ...["--config", config, "--data", join(folder, "data"), ...still, "--seed", "1"],
    ...["--log-level", "debug", ...(given.options ?? [])],
  ]);
  t.after(() => program.end("SIGKILL"));
  let published = 0;
  return {
    program,
    receiver,
    folder,
    async publishAll(count = 1) {
      for (const name of profileNames) {
        const events = Array.from({ length: count }, () => ({
          ...{ id: `event-${++published}`, subject: "s", eventType: "t", eventTime: startAt },
          ...{ data: {}, dataVersion: "1" },
        }));
        const answer = await fetch(`${program.url}/topics/${name}/api/events`, {
          method: "POST",
          headers: { "aeg-sas-key": key },
          body: JSON.stringify(events),
        });
        assert.equal(answer.status, 200);
      }
    },
    async advance(duration) {
      const body = JSON.stringify({ advance: duration });
      const answer = await fetch(`${program.url}/clock`, { method: "POST", body });
      assert.equal(answer.status, 200, await answer.text());
    },
    requests: (name) => receiver.received.filter(({ path }) => path === `/${name}`),
    async facts(name, fact, count = 0) {
      const found = () => program.facts.filter((each) => each.fact === fact && each.topic === name);
      await program.until(() => found().length >= count);
      return found();
    },
    async restart() {
      await program.end("SIGKILL");
      return await openOn(t, stage);
    },
  };
}

/** Where dead letters go in a scene. */
export const lettersBox = {
  endpointType: "StorageBlob",
  properties: {
    resourceId:
      "/subscriptions/s/resourceGroups/r/providers/Microsoft.Storage/storageAccounts/letters",
    blobContainerName: "given-up",
  },
};

/** The files that hold dead letters, by their path. */
export function lettersIn({ folder }: Scene): readonly string[] {
  const entries = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return entries.filter((path) => path.startsWith("letters") && path.endsWith(".json"));
}

/** Milliseconds from the start of the scene to a moment of the log. */
export function sinceStart(time: unknown): number {
  return Date.parse(String(time)) - Date.parse(startAt);
}
