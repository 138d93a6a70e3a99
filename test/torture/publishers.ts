// Who publishes in a torture run: a few who go on all the time, one of them slowly and measured,
// and crowds. Each remembers what was accepted.

import { type Fleet, topicKey } from "./broker.ts";
import type { Ledger } from "./ledger.ts";

/** One in so many is wanted by the endpoints that hang, too. */
const sampledOneIn = 50;
const answerMsMax = 60_000;

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

export interface Crowd {
  /** Goes on until `stop`. */
  publishOn(name: string, everyMs: number, isMeasured: boolean): void;
  /** So many connections at once, with so many events each. */
  burst(connections: number, events: number): Promise<void>;
  stop(): Promise<void>;
}

export function openCrowd(fleet: Fleet, ledger: Ledger): Crowd {
  const underWay: Promise<void>[] = [];
  let isOver = false;
  let bursts = 0;

  const publish = async (ids: readonly string[], isMeasured: boolean): Promise<void> => {
    const { url } = fleet;
    if (url === null) return await pause(20);
    const isSampled = Number(ids[0]?.split("-")[1]) % sampledOneIn === 0;
    const begun = performance.now();
    try {
      const answer = await fetch(`${url}/topics/orders/api/events`, {
        method: "POST",
        headers: { "aeg-sas-key": topicKey },
        body: bodyOf(ids, isSampled),
        signal: AbortSignal.timeout(answerMsMax),
      });
      await answer.arrayBuffer();
      ledger.judge(answer.status, begun, () => `a publish was answered ${answer.status}`);
      if (answer.status !== 200) {
        ledger.refused += 1;
        return;
      }
      if (isMeasured) ledger.waited(begun);
      ledger.accept(ids, { begun, isSampled });
    } catch {
      // It may have been stored or not; nobody was promised anything.
      ledger.unanswered += 1;
      await pause(20);
    }
  };
  return {
    publishOn(name, everyMs, isMeasured) {
      const goOn = async () => {
        for (let count = 1; !isOver; count += 1) {
          await publish([`${name}-${count}`], isMeasured);
          await pause(everyMs);
        }
      };
      underWay.push(goOn());
    },
    async burst(connections, events) {
      bursts += 1;
      const idsOf = (connection: number) =>
        Array.from({ length: events }, (_, at) => `burst${bursts}.${connection}-${at + 1}`);
      await Promise.all(
        Array.from({ length: connections }, (_, connection) => publish(idsOf(connection), false)),
      );
    },
    async stop() {
      isOver = true;
      await Promise.all(underWay);
    },
  };
}

function bodyOf(ids: readonly string[], isSampled: boolean): string {
  const subject = isSampled ? "sampled" : "plain";
  const eventTime = "2030-01-01T00:00:00Z";
  return JSON.stringify(
    ids.map((id) => ({ id, subject, eventType: "t", eventTime, data: { id }, dataVersion: "1" })),
  );
}
