// The findings of `posthorn doctor`: each says what was found and, if it is a problem, what to do.
// Pure, so that every case can be a row in a test table.

import { type Profile, type ProfileName, profiles } from "./delivery/profile.ts";
import type { Instant } from "./ports.ts";
import type { Address } from "./text/setting-kinds.ts";
import { wordsOfMs } from "./text/time.ts";

export interface Finding {
  /** What was checked. */
  readonly check: string;
  readonly state: "fine" | "warning" | "problem";
  readonly found: string;
  /** What to do; null if nothing needs doing. */
  readonly advice: string | null;
}

export interface FolderFacts {
  readonly path: string;
  /** False: it would be created in the nearest existing folder, which was checked. */
  readonly isThere: boolean;
  readonly freeBytes: number;
  readonly isWritable: boolean;
  /** Why it cannot be written to. */
  readonly why?: string;
  /** How long it takes to sync a block to the disk. */
  readonly syncMs?: number;
  /** How far the file system's clock is ahead of ours. */
  readonly clockSkewMs?: number;
}

export interface PortFacts {
  readonly address: Address;
  /** Why it cannot be listened on; null: it can. */
  readonly why: string | null;
}

export interface TlsFacts {
  readonly path: string;
  readonly endsInMs: number;
  readonly names: string;
  /** Why it cannot be read; null: it can. */
  readonly why: string | null;
}

export interface ReachFacts {
  readonly name: string;
  /** Why no connection was made; null: one was. */
  readonly why: string | null;
}

export interface StoreFacts {
  readonly path: string;
  /** `ok`, or what SQLite found. */
  readonly verdict: string;
  readonly version: number;
  readonly versionKnown: number;
}

const mebibyte = 1_048_576;
const freeBytesMin = 1_024 * mebibyte;
const freeBytesLow = 64 * mebibyte;
/** Beyond this publishers notice it, although publishes that come together share a sync. */
const syncMsMax = 20;
const clockSkewMsMax = 2_000;
const dayMs = 86_400_000;
const certificateDaysMin = 14;
/** Before this release was made: the machine's clock was never set. */
const earliest: Instant = Date.UTC(2025, 0, 1);

export function judgeFolder(facts: FolderFacts): readonly Finding[] {
  const { path, isThere, freeBytes, isWritable, why, syncMs, clockSkewMs = 0 } = facts;
  const free = `${Math.floor(freeBytes / mebibyte)} MiB free`;
  const space = judge("disk space", {
    isProblem: freeBytes < freeBytesLow,
    isWarning: freeBytes < freeBytesMin,
    found: `${free} for ${path}`,
    advice: "Make room, or choose another folder with --data: a full disk refuses publishes.",
  });
  if (!isWritable || syncMs === undefined) {
    const found = `${path} cannot be written to (${why ?? "unknown"})`;
    const advice = "Let the broker's user write there, or choose another folder with --data.";
    return [{ check: "data folder", state: "problem", found, advice }, space];
  }
  const made = isThere ? "is there" : "will be made";
  return [
    fine("data folder", `${path} ${made} and can be written to`),
    space,
    judge("disk sync", {
      isWarning: syncMs > syncMsMax,
      found: `a block is safely on disk after ${syncMs.toFixed(1)} ms`,
      advice:
        "Every publish waits for this: use a local disk with a write cache that survives power " +
        "loss, and no network file system.",
    }),
    judge("file clock", {
      isWarning: Math.abs(clockSkewMs) > clockSkewMsMax,
      found: `files are stamped ${Math.round(Math.abs(clockSkewMs))} ms off this machine's clock`,
      advice: "The folder is on another machine with another clock: set both by NTP.",
    }),
  ];
}

export function judgeClock(now: Instant, brokerNow: Instant | null): readonly Finding[] {
  const iso = new Date(now).toISOString();
  const own = judge("clock", {
    isProblem: now < earliest,
    found: `it is ${iso}`,
    advice: "Set the machine's clock: events and certificates are dated by it.",
  });
  if (brokerNow === null) return [own];
  const apartMs = Math.abs(brokerNow - now);
  const apart = judge("broker's clock", {
    isWarning: apartMs > clockSkewMsMax,
    found: `the broker's clock is ${wordsOfMs(apartMs)} off this machine's`,
    advice: "A virtual clock is expected to differ; otherwise synchronise both machines by NTP.",
  });
  return [own, apart];
}

/** `broker`: whether one answers there, of these settings or another; null: none does. */
export function judgePort(name: string, facts: PortFacts, broker: "own" | "other" | null): Finding {
  const { address, why } = facts;
  const where = `${address.host}:${address.port}`;
  if (broker === "own") return fine(name, `the broker of these settings is listening on ${where}`);
  if (broker === "other") {
    const found = `${where} is taken by another broker, with another data folder or admin key`;
    const advice = `Stop it, name its folder with --data, or choose another port with --${name} HOST:PORT.`;
    return { check: name, state: "problem", found, advice };
  }
  if (why === null) return fine(name, `${where} is free`);
  const advice =
    why === "EADDRINUSE"
      ? `Another program has the port: end it, or choose another with --${name} HOST:PORT.`
      : why === "EACCES"
        ? "Ports below 1024 need a privilege: choose a higher one, or grant it."
        : `Choose an address of this machine with --${name} HOST:PORT.`;
  return {
    check: name,
    state: "problem",
    found: `${where} cannot be listened on (${why})`,
    advice,
  };
}

export function judgeCertificate(facts: TlsFacts): Finding {
  const { path, endsInMs, names, why } = facts;
  if (why !== null) {
    const advice = "Give tls-cert and tls-key PEM files of a certificate and its key.";
    return {
      check: "certificate",
      state: "problem",
      found: `${path} cannot be read: ${why}`,
      advice,
    };
  }
  const days = Math.floor(endsInMs / dayMs);
  // An authority names no hosts.
  const suffix = names === "" ? "" : ` (${names})`;
  return judge("certificate", {
    isProblem: endsInMs <= 0,
    isWarning: days < certificateDaysMin,
    found: endsInMs <= 0 ? `${path} has ended` : `${path} is good for ${days} days${suffix}`,
    advice: "Renew it; a broker reads the files again every day.",
  });
}

export function judgeStore(facts: StoreFacts): Finding {
  const { path, verdict, version, versionKnown } = facts;
  if (version > versionKnown) {
    const found = `${path} is of schema version ${version}; this release knows up to ${versionKnown}`;
    const advice = "Run the release that wrote it, or a newer one.";
    return { check: "store", state: "problem", found, advice };
  }
  return judge("store", {
    isProblem: verdict !== "ok",
    found: verdict === "ok" ? `${path} is whole` : `${path} is damaged: ${verdict}`,
    advice:
      "Restore the latest backup (posthorn restore FILE --replace), " +
      "or save what can be read (posthorn recover).",
  });
}

export function judgeReach(check: string, facts: ReachFacts): Finding {
  const { name, why } = facts;
  return judge(check, {
    isWarning: why !== null,
    found: why === null ? `${name} can be reached` : `${name} cannot be reached (${why})`,
    advice: "See that it runs, and that this machine may call it; events wait meanwhile.",
  });
}

/** Differences from the default profile, row by row of docs/profiles.md. */
export function judgeProfile(name: ProfileName, usual: ProfileName = "azure"): readonly Finding[] {
  if (name === usual) return [fine("profile", `${name}, the default`)];
  const [one, other] = [profiles[name], profiles[usual]];
  const members = Object.keys(other) as (keyof Profile)[];
  const differing = members.filter(
    (member) => member !== "name" && JSON.stringify(one[member]) !== JSON.stringify(other[member]),
  );
  return differing.map((member) => ({
    check: "profile",
    state: "fine",
    found: `${name} has ${member} ${shown(one[member])}; ${usual} has ${shown(other[member])}`,
    advice: null,
  }));
}

function shown(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function fine(check: string, found: string): Finding {
  return { check, state: "fine", found, advice: null };
}

function judge(
  check: string,
  given: {
    readonly isProblem?: boolean;
    readonly isWarning?: boolean;
    readonly found: string;
    readonly advice: string;
  },
): Finding {
  const state = given.isProblem ? "problem" : given.isWarning ? "warning" : "fine";
  return { check, state, found: given.found, advice: state === "fine" ? null : given.advice };
}
