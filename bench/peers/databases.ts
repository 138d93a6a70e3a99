// Redis and PostgreSQL for the peers: Debian's programs as processes of their own, on loopback,
// free ports and a folder on the same disk as the broker's store. Redis is fetched into
// node_modules/.cache where the machine has none; a PostgreSQL that is missing stays missing.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { fetchPackage } from "../../test/fixtures/debian-packages.ts";
import { endChild, watchChild } from "../intercom.ts";
import { sleep } from "../measure.ts";
import { findClosedPort } from "../ports.ts";

const run = promisify(execFile);
const cache = join(import.meta.dirname, "../../node_modules/.cache");
const READY_MS_MAX = 30_000;
/** PostgreSQL refuses to be root. */
const NOBODY = 65_534;

export interface Database extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
}

const redisPackages = [
  "redis-server",
  "redis-tools",
  "libjemalloc2",
  "liblzf1",
  "libhiredis0.14",
  "liblua5.1-0",
  "lua-cjson",
  "lua-bitop",
];

export async function startRedis(
  folder: string,
  appendfsync: "always" | "everysec",
): Promise<Database> {
  const { program, env } = await findRedis();
  const port = await findClosedPort();
  const child = spawn(
    program,
    [
      ...["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""],
      ...["--appendonly", "yes", "--appendfsync", appendfsync, "--loglevel", "warning"],
    ],
    { stdio: "ignore", env },
  );
  return await whenReady(child, port);
}

async function findRedis(): Promise<{ readonly program: string; readonly env: NodeJS.ProcessEnv }> {
  const installed = await run("which", ["redis-server"]).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  );
  if (installed !== null) return { program: installed, env: process.env };
  const unpacked = join(cache, "redis");
  if (!existsSync(unpacked)) await unpackRedis(unpacked);
  const [machine] = readdirSync(join(unpacked, "usr/lib")).filter((name) => name.endsWith("-gnu"));
  const libraries = join(unpacked, "usr/lib", machine ?? "");
  return {
    program: join(unpacked, "usr/bin/redis-server"),
    env: { ...process.env, LD_LIBRARY_PATH: libraries },
  };
}

async function unpackRedis(into: string): Promise<void> {
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "redis-"));
  try {
    // Whoever fetches may be another user.
    chmodSync(folder, 0o755);
    for (const name of redisPackages) await fetchPackage(name, folder);
    const files = readdirSync(folder).filter((name) => name.endsWith(".deb"));
    const content = join(folder, "content");
    for (const file of files) await run("dpkg", ["-x", join(folder, file), content]);
    renameSync(content, into);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As it comes: every commit is synced. */
export async function startPostgres(folder: string): Promise<Database> {
  const programs = findPostgres();
  const isRoot = process.getuid?.() === 0;
  const as = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  const data = join(folder, "data");
  const env = { ...process.env, LC_ALL: "C" };
  const words = ["-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8"];
  await run(join(programs, "initdb"), words, { ...as, env, cwd: folder });
  const port = await findClosedPort();
  const child = spawn(
    join(programs, "postgres"),
    ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", folder],
    { stdio: "ignore", ...as, env, cwd: folder },
  );
  return await whenReady(child, port, "SIGINT");
}

function findPostgres(): string {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).map(Number) : [];
  const programs = join(root, String(Math.max(...versions)), "bin");
  if (!existsSync(join(programs, "initdb"))) throw new Error("PostgreSQL is not installed");
  return programs;
}

async function whenReady(
  child: ChildProcess,
  port: number,
  ending?: NodeJS.Signals,
): Promise<Database> {
  watchChild(child);
  const endAt = performance.now() + READY_MS_MAX;
  while (!(await isListening(port))) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    if (performance.now() > endAt) {
      await endChild(child);
      throw new Error("it is not ready");
    }
    await sleep(50);
  }
  const end = () => endChild(child, { ...(ending && { signal: ending }) });
  return { pid: child.pid ?? 0, port, [Symbol.asyncDispose]: end };
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    const answer = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.once("connect", () => answer(true));
    socket.once("error", () => answer(false));
  });
}
