// Programs that tests need and that do not come with `npm ci`: an emulator of Azure's storage,
// databases, a broker, a browser, checkers. Fetched before the tests that use them, side by side,
// once per machine; and the portal is built if someone has changed it since. A test file that is
// run alone fetches for itself.

import { readFileSync } from "node:fs";
import { installAzurite } from "./fixtures/azurite.ts";
import { installChromium } from "./fixtures/chromium.ts";
import { installSystemdAnalyze } from "./fixtures/debian-packages.ts";
import { installKubernetes } from "./fixtures/kubernetes.ts";
import { installPgBouncer } from "./fixtures/pgbouncer.ts";
import { installPostgres } from "./fixtures/postgres.ts";
import { installPromtool } from "./fixtures/promtool.ts";
import { installRabbitMq } from "./fixtures/rabbitmq.ts";
import { buildPortal } from "./portal/build.ts";

/** By the end of a path that a test file imports. */
const tools: Readonly<Record<string, () => Promise<unknown>>> = {
  "fixtures/azurite.ts": installAzurite,
  "fixtures/kubernetes.ts": installKubernetes,
  "fixtures/pgbouncer.ts": installPgBouncer,
  "fixtures/postgres.ts": installPostgres,
  "fixtures/rabbitmq.ts": installRabbitMq,
  "fixtures/promtool.ts": installPromtool,
  "fixtures/debian-packages.ts": installSystemdAnalyze,
  "/browser.ts": () => Promise.all([installChromium(), buildPortal()]),
};

/** What cannot be fetched is shown here; the tests that need it will fail. */
export async function fetchTools(files: readonly string[]): Promise<void> {
  const texts = files.map((file) => readFileSync(file, "utf8"));
  const needed = Object.entries(tools).filter(([name]) =>
    texts.some((text) => text.includes(name)),
  );
  const fetched = await Promise.allSettled(needed.map(([, fetchTool]) => fetchTool()));
  for (const each of fetched) if (each.status === "rejected") console.error(each.reason);
}
