// A durable webhook sender as a small team builds it on graphile-worker: a request becomes a job in
// PostgreSQL, is answered when that has committed it, and a worker in the same process sends it.

import { createRequire } from "node:module";
import { answerParent } from "../intercom.ts";
import { listen, openForward, type PeerQuestion } from "./doors.ts";

/** What is used of its package, which is not a dependency of ours. */
interface GraphileWorker {
  run(options: object): Promise<{ addJob(task: string, payload: object): Promise<unknown> }>;
  readonly Logger: new (make: () => () => void) => object;
}

answerParent<PeerQuestion, { readonly port: number }>(async (question) => {
  const { packages, databasePort, receiver } = question;
  const { run, Logger } = createRequire(packages)("graphile-worker") as GraphileWorker;
  const forward = openForward(receiver);
  const runner = await run({
    connectionString: `postgres://bench@127.0.0.1:${databasePort}/postgres`,
    concurrency: receiver.connections,
    maxPoolSize: 20,
    noHandleSignals: true,
    logger: new Logger(() => () => {}),
    taskList: { send: ({ body }: { readonly body: string }) => forward(body) },
  });
  return { port: await listen((body) => runner.addJob("send", { body: String(body) })) };
});
