// What is wrong, as the broker sees it, and what can be done about each kind.

import type { Page, ProblemView } from "../../src/core/api/views.ts";
import { apiPath, ask, subscriptionApi, useAsked } from "../api.ts";
import { useTick } from "../live.ts";

export type ProblemKind = ProblemView["kind"];
export type ProblemMember = ProblemView["members"][number];

export function useProblems() {
  const tick = useTick(["overview", "endpoint", "catalog"], 2_000);
  return useAsked<Page<ProblemView>>(apiPath(["problems"]), tick);
}

/** One step for each member that it concerns. */
interface Remedy {
  readonly words: string;
  readonly done: string;
  readonly act: (member: ProblemMember) => Promise<unknown>;
}

function orderEndpoint(verb: "open" | "close", because?: string): Remedy["act"] {
  return ({ endpoint }) =>
    ask("POST", apiPath(["endpoints", verb]), { endpoint, ...(because && { because }) });
}

function orderSubscription(verb: string): Remedy["act"] {
  return async ({ subscriptions }) => {
    for (const named of subscriptions) await ask("POST", subscriptionApi(named, verb), {});
  };
}

const tryNow: Remedy = {
  words: "Try now",
  done: "Tried now: what waits is on its way",
  // At an unhealthy endpoint, what is tried now is the probe.
  act: (member) =>
    member.subscriptions.length === 0
      ? orderEndpoint("open")(member)
      : orderSubscription("hasten")(member),
};
const pause: Remedy = {
  words: "Pause",
  done: "Paused: events wait, and none grows older",
  act: orderSubscription("pause"),
};
const close: Remedy = {
  words: "Close",
  done: "Closed: nothing is sent there until it is opened",
  act: orderEndpoint("close", "closed from its problem in the portal"),
};
const open: Remedy = { words: "Open", done: "Opened", act: orderEndpoint("open") };
const resume: Remedy = { words: "Resume", done: "Resumed", act: orderSubscription("resume") };
const askAgain: Remedy = {
  words: "Ask again",
  done: "The endpoint has been asked again",
  act: orderSubscription("validate"),
};

export const remedies: Readonly<Record<ProblemKind, readonly Remedy[]>> = {
  unhealthy: [tryNow, pause, close],
  failing: [tryNow, pause],
  closed: [open],
  paused: [resume],
  handshake: [askAgain],
  dropping: [pause],
  deadLetters: [],
  deadLetterStore: [],
  disk: [],
  dispatcher: [],
  store: [],
};
