// The topic: the resource publishers post to.

import type { ProfileName } from "./profile.ts";

/** What a caller writes; the registry adds the rest. */
export interface TopicDraft {
  readonly name: string;
  readonly key1: string;
  readonly key2: string;
  /** Overrides the broker's profile for this topic. */
  readonly profile: ProfileName | null;
  /** Who keeps it: what a configuration file declared, that file may also take away. */
  readonly origin: Origin;
}

export type Origin = "file" | "api";

export interface Topic extends TopicDraft {
  /** Grows with every write; the etag. */
  readonly revision: number;
}

export const topicNameRule = /^[A-Za-z0-9-]{3,50}$/;

/** Subscription id and resource group of things made without one. */
const armGroup = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/posthorn";

/** The topic's ARM id, which every event of the Event Grid schema carries as `topic`. */
export function topicArmId(name: string): string {
  return `${armGroup}/providers/Microsoft.EventGrid/topics/${name}`;
}
