// Everything a broker listens on: plain HTTP, TLS, and the topics' own ports. The first two serve
// the same routes.
//
// A topic's own port takes TLS if there is a certificate and plain HTTP if that is enabled, both on
// the same port: the oldest clients only keep host and port of an address, and always use TLS.

import type { Ids, Log } from "../../core/ports.ts";
import type { Route } from "../../core/request.ts";
import type { Address } from "../../core/text/setting-kinds.ts";
import { type Certificates, renewDaily } from "../access/certificate.ts";
import { BodyRoom } from "./body.ts";
import type { Identity } from "./connections.ts";
import { GuessTable } from "./guess-table.ts";
import { listen } from "./listener.ts";
import type { TurnedAway } from "./serve.ts";
import { type OwnPort, TopicPorts } from "./topic-ports.ts";

export interface ListenersOptions {
  /** Null: off. */
  readonly http: Address | null;
  readonly https: Address | null;
  readonly certificates: Certificates;
  readonly routes: readonly Route[];
  readonly routesOf: (topic: string) => readonly Route[];
  readonly log: Log;
  readonly ids: Ids;
  /** The limits of one body, and of all together. */
  readonly bodyBytesMax: number;
  readonly bodiesBytesMax: number;
  /** Called for requests that were refused before any room saw them. */
  readonly onTurnedAway?: TurnedAway;
}

export interface Listeners {
  /** Where it listens; null where it does not. */
  readonly http: string | null;
  readonly https: string | null;
  /** Opens these ports and closes others. Resolves when each is open, or its failure is logged. */
  offer(ports: readonly OwnPort[]): Promise<void>;
  /** Stops accepting, finishes requests in progress. May be called twice. */
  close(): Promise<void>;
}

/** Refusal: InvalidSetting, for an invalid certificate. */
export async function openListeners(options: ListenersOptions): Promise<Listeners> {
  await using doors = new AsyncDisposableStack();
  const { http, https, certificates, log, ids, bodyBytesMax, onTurnedAway } = options;
  const bodyRoom = new BodyRoom(options.bodiesBytesMax);
  const guesses = new GuessTable();
  const deps = { log, ids, bodyBytesMax, bodyRoom, guesses, ...(onTurnedAway && { onTurnedAway }) };
  const open = async (address: Address, tls?: Identity) =>
    doors.adopt(await listen(options.routes, { ...address, ...deps, tls }), (listener) =>
      listener.close(),
    );
  let identity = https === null ? undefined : await certificates.identity();
  const plain = http && (await open(http));
  const secure = https && (await open(https, identity));
  const host = (http ?? https)?.host ?? "127.0.0.1";
  const keeper = doors.adopt(
    new TopicPorts({
      log,
      open: ({ topic, port }) =>
        listen(options.routesOf(topic), {
          ...deps,
          ...{ host, port, tls: identity, takesPlain: http !== null },
        }),
    }),
    (closing) => closing.close(),
  );
  if (secure !== null) {
    doors.defer(
      keepFresh(certificates, log, (renewed) => {
        identity = renewed;
        for (const each of [secure, keeper]) each.present(renewed);
      }),
    );
  }
  const opened = doors.move();
  return {
    http: plain?.url ?? null,
    https: secure?.url ?? null,
    offer: (ports) => keeper.sync(ports),
    close: () => opened.disposeAsync(),
  };
}

function keepFresh(
  certificates: Certificates,
  log: Log,
  renewed: (identity: Identity) => void,
): () => void {
  return renewDaily(certificates, {
    renewed,
    failed: (error) => log.fact("error", "certificate.failed", { error: String(error) }),
  });
}
