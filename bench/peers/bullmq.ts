// A durable webhook sender as a small team builds it on BullMQ: a request becomes a job, is
// answered when Redis has it, and a worker in the same process sends it, with retries.

import { createRequire } from "node:module";
import { answerParent } from "../intercom.ts";
import { listen, openForward, type PeerQuestion } from "./doors.ts";

/** What is used of its package, which is not a dependency of ours. */
interface Bullmq {
  readonly Queue: new (
    name: string,
    options: object,
  ) => { add(name: string, job: object, options: object): Promise<unknown> };
  readonly Worker: new (
    name: string,
    work: (job: { readonly data: { readonly body: string } }) => Promise<void>,
    options: object,
  ) => { waitUntilReady(): Promise<unknown>; on(event: "error", heed: () => void): void };
}

const jobOptions = {
  removeOnComplete: true,
  attempts: 5,
  backoff: { type: "exponential", delay: 1_000 },
};

answerParent<PeerQuestion, { readonly port: number }>(async (question) => {
  const { packages, databasePort: port, receiver } = question;
  const { Queue, Worker } = createRequire(packages)("bullmq") as Bullmq;
  const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };
  const queue = new Queue("events", { connection });
  const forward = openForward(receiver);
  const worker = new Worker("events", ({ data }) => forward(data.body), {
    connection,
    concurrency: receiver.connections,
  });
  worker.on("error", () => {});
  await worker.waitUntilReady();
  return { port: await listen((body) => queue.add("send", { body: String(body) }, jobOptions)) };
});
