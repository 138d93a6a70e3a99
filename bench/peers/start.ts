// The peers as servers under test, each with its database. One that cannot be started, because a
// program or the network is missing, is left out with a word.

import { join } from "node:path";
import { installTool, toolFolder } from "../../test/fixtures/npm-tool.ts";
import { startPartner } from "../intercom.ts";
import { eventsPath, key, makeDataFolder, type Server } from "../servers.ts";
import { startPostgres, startRedis } from "./databases.ts";
import type { PeerQuestion, Receiver } from "./doors.ts";
import type { RelayQuestion, RelayState } from "./relay.ts";

const TOOL = "bench-peers";
/** Changes with the lock file. */
const TOOL_VERSION = "1";

export const peerNames = ["BullMQ always", "BullMQ everysec", "graphile-worker"] as const;
export type PeerName = (typeof peerNames)[number];

export async function startRelay(to: Receiver): Promise<Server & { state(): Promise<RelayState> }> {
  const relay = startPartner<RelayQuestion, RelayState>("peers/relay.ts");
  const { port } = await relay.ask({ receiver: to });
  return {
    name: "relay",
    pids: [relay.pid],
    target: { port, path: eventsPath, key },
    state: () => relay.ask({}),
    [Symbol.asyncDispose]: () => relay[Symbol.asyncDispose](),
  };
}

/** Null: it cannot be started here; why was printed. */
export async function startPeer(name: PeerName, to: Receiver): Promise<Server | null> {
  try {
    return await start(name, to);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    console.log(`${name} is left out: ${why.split("\n")[0]}`);
    return null;
  }
}

async function start(name: PeerName, receiver: Receiver): Promise<Server> {
  await installTool(TOOL, TOOL_VERSION);
  const packages = join(toolFolder(TOOL, TOOL_VERSION), "..", "package.json");
  await using started = new AsyncDisposableStack();
  const folder = started.use(makeDataFolder());
  const isGraphile = name === "graphile-worker";
  const database = started.use(
    isGraphile
      ? await startPostgres(folder.path)
      : await startRedis(folder.path, name === "BullMQ always" ? "always" : "everysec"),
  );
  const partner = started.use(
    startPartner<PeerQuestion, { readonly port: number }>(
      isGraphile ? "peers/graphile.ts" : "peers/bullmq.ts",
    ),
  );
  const { port } = await partner.ask({ packages, receiver, databasePort: database.port });
  const all = started.move();
  return {
    name,
    pids: [partner.pid, database.pid],
    target: { port, path: eventsPath, key },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
