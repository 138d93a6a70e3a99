import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import type { Config } from "./config/config.ts";
import { Refusal } from "./core/refusal.ts";
import { run, type World } from "./main.ts";

/** A process without open resources; a test says what its broker does. */
function openWorld(changes: Partial<World> & { isTTY?: boolean } = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const exits: number[] = [];
  const opened: Config[] = [];
  let hear: ((signal: string) => void) | null = null;
  const world: World = {
    args: ["serve"],
    env: {},
    readFile: () => {
      throw Object.assign(new Error("not there"), { code: "ENOENT" });
    },
    stdout: { isTTY: changes.isTTY ?? false, write: (text) => out.push(text) },
    stderr: { write: (text) => err.push(text) },
    onSignal(listener) {
      hear = listener;
      return () => {
        hear = null;
      };
    },
    exit: (code) => exits.push(code),
    open: async (config) => {
      opened.push(config);
      return { close: async () => {} };
    },
    wire: {
      readInput: async () => "",
      fetch: () => Promise.reject(new TypeError("fetch failed")),
      now: () => 0,
      sleep: async () => {},
      trust: () => {},
      makeId: () => "id",
      chance: () => 0.5,
      seeded: () => ({ draw: () => 0.5 }),
      simulate: () => Promise.reject(new Error("no what-if here")),
      question: null,
      exists: () => false,
      save: async () => {},
      writePrivate: () => {},
      openReceiver: () => Promise.reject(new Error("nobody listens")),
      settingNames: [],
    },
    ...changes,
  };
  return {
    world,
    exits,
    opened,
    out: () => out.join(""),
    err: () => err.join(""),
    isListening: () => hear !== null,
    signal: (name: string) => hear?.(name),
  };
}

test("serve opens a broker, and closes it at a signal with code 0", async () => {
  for (const name of ["SIGTERM", "SIGINT"]) {
    const opened = Promise.withResolvers<void>();
    let closedWith: AbortSignal | null = null;
    const { world, signal, isListening, err } = openWorld({
      args: ["serve", "--seed", "7"],
      open: async (config) => {
        assert.equal(config.seed, 7);
        opened.resolve();
        return {
          close: async (given) => {
            closedWith = given;
          },
        };
      },
    });
    const code = run(world);
    await opened.promise;
    assert.equal(closedWith, null);
    signal(name);
    assert.equal(await code, 0);
    assert.equal((closedWith as AbortSignal | null)?.aborted, false);
    assert.ok(!isListening());
    assert.equal(err(), "");
  }
});

test("a signal while the broker is opening closes it as soon as it is open", async () => {
  const opening = Promise.withResolvers<void>();
  let isClosed = false;
  const { world, signal } = openWorld({
    open: async () => {
      await opening.promise;
      return {
        close: async () => {
          isClosed = true;
        },
      };
    },
  });
  const code = run(world);
  signal("SIGTERM");
  opening.resolve();
  assert.equal(await code, 0);
  assert.ok(isClosed);
});

test("what is under way may end until the grace is over", async () => {
  const { world, signal } = openWorld({
    args: ["serve", "--stop-grace", "PT0.01S"],
    open: async () => ({
      close: (given) =>
        new Promise<void>((resolve) => given.addEventListener("abort", () => resolve())),
    }),
  });
  const code = run(world);
  signal("SIGTERM");
  assert.equal(await code, 0);
});

/** A broker that closes when `closed` resolves. */
function openSlowToClose() {
  const closing = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const close = () => {
    closing.resolve();
    return closed.promise;
  };
  return { ...openWorld({ open: async () => ({ close }) }), closing, closed };
}

test("a second signal ends the process at once with code 1", async () => {
  const { world, signal, exits, closing, closed } = openSlowToClose();
  const code = run(world);
  signal("SIGTERM");
  await closing.promise;
  assert.deepEqual(exits, []);
  signal("SIGTERM");
  assert.deepEqual(exits, [1]);
  closed.resolve();
  await code;
});

test("an interrupt that npm repeats at once is one interrupt, a later one is a second", async (t) => {
  t.mock.timers.enable({ apis: ["Date"] });
  const { world, signal, exits, closing, closed } = openSlowToClose();
  const code = run(world);
  signal("SIGINT");
  signal("SIGINT");
  await closing.promise;
  assert.deepEqual(exits, []);
  t.mock.timers.tick(1_000);
  signal("SIGINT");
  assert.deepEqual(exits, [1]);
  closed.resolve();
  await code;
});

test("a bad setting is one line and code 2, and nothing is opened", async () => {
  const { world, opened, err } = openWorld({ args: ["serve", "--stroe", "memory"] });
  assert.equal(await run(world), 2);
  assert.equal(err(), 'posthorn: there is no option "--stroe"; did you mean --store?\n');
  assert.deepEqual(opened, []);
});

test("a setting that only the broker can judge is one line and code 2, too", async () => {
  const { world, err } = openWorld({
    open: async () => {
      throw new Refusal("InvalidSetting", "topics.orders.key1 must be given");
    },
  });
  assert.equal(await run(world), 2);
  assert.equal(err(), "posthorn: topics.orders.key1 must be given\n");
});

test("what the system refuses is one line and code 1, a bug brings its trace", async () => {
  const fail = (error: Error) =>
    openWorld({
      open: async () => {
        throw error;
      },
    });
  const away = fail(Object.assign(new Error("mkdir EROFS: /data"), { syscall: "mkdir" }));
  assert.equal(await run(away.world), 1);
  assert.equal(away.err(), "posthorn: mkdir EROFS: /data\n");
  const code = "EADDRINUSE";
  const busy = fail(Object.assign(new Error(`listen ${code}: 5888`), { syscall: "listen", code }));
  assert.equal(await run(busy.world), 1);
  assert.match(busy.err(), /^posthorn: listen EADDRINUSE: 5888: end .*--http or --https.*\n$/);
  const bug = fail(new Error("a bug"));
  assert.equal(await run(bug.world), 1);
  assert.match(bug.err(), /a bug\n +at /);
});

test("a broker that crashes ends the process with code 1", async () => {
  const { world, err } = openWorld({
    open: async (_, { onCrash }) => {
      onCrash(Object.assign(new Error("the store's thread has ended"), { syscall: "thread" }));
      return { close: () => assert.fail("there is nothing left to close") };
    },
  });
  assert.equal(await run(world), 1);
  assert.equal(err(), "posthorn: the store's thread has ended\n");
});

test("an unknown command is answered with the nearest known one, and code 2", async () => {
  const table: [string[], string][] = [
    [["srve"], 'posthorn: there is no command "srve"; did you mean serve?\n'],
    [["config", "lst"], 'posthorn: there is no command "config lst"; did you mean config list?\n'],
  ];
  for (const [args, words] of table) {
    const { world, err } = openWorld({ args });
    assert.equal(await run(world), 2);
    assert.equal(err(), words);
  }
});

test("help is shown when it is asked for, and when nothing is", async () => {
  const ofAll = /^posthorn, .*\n\nUsage:\n/;
  const ofSettings = /^Run the broker.*\n\nUsage:\n {2}posthorn serve/;
  const table: [string[], RegExp][] = [
    [[], ofAll],
    [["help"], ofAll],
    [["--help"], ofAll],
    [["serve", "--help"], ofSettings],
    [["config", "list", "-h"], ofSettings],
    [["help", "serve"], ofSettings],
    [["help", "topic", "create"], /Usage:\n {2}posthorn topic create \[options\]/],
  ];
  for (const [args, words] of table) {
    const { world, out, opened } = openWorld({ args });
    assert.equal(await run(world), 0);
    assert.match(out(), words);
    assert.deepEqual(opened, []);
  }
});

test("the list of settings is a table at a terminal and JSON in a pipe", async () => {
  const args = ["config", "list", "--seed", "7"];
  const terminal = openWorld({ args, isTTY: true });
  assert.equal(await run(terminal.world), 0);
  assert.match(terminal.out(), /^setting +value +from\n/);
  assert.match(terminal.out(), /^seed +7 +option$/m);
  const pipe = openWorld({ args });
  assert.equal(await run(pipe.world), 0);
  const rows = JSON.parse(pipe.out()) as { name: string }[];
  assert.deepEqual(
    rows.find(({ name }) => name === "seed"),
    {
      name: "seed",
      value: "7",
      from: "option",
    },
  );
});

test("settings are listed also when the broker would not start, with code 2", async () => {
  const { world, out, err } = openWorld({ args: ["config", "list", "--seed=x", "--config=gone"] });
  assert.equal(await run(world), 2);
  assert.match(out(), /"name": "http"/);
  assert.match(err(), /^posthorn: config must be a JSON file.*ENOENT.*\nposthorn: seed must be/);
});

/** The real program, as a shell starts it. */
async function spawned(...args: string[]) {
  const program = join(import.meta.dirname, "..", "bin", "posthorn.js");
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH },
  });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit"),
  ]);
  return { out, err, code: code as number };
}

test("the program tells its version and its settings, and refuses in one line", async () => {
  const [version, list, bad] = await Promise.all([
    spawned("--version"),
    spawned("config", "list"),
    spawned("serve", "--log-level", "loud"),
  ]);
  assert.deepEqual([version.code, version.err], [0, ""]);
  assert.match(version.out, /^\d+\.\d+\.\d+\n$/);
  assert.equal(list.code, 0);
  assert.ok(Array.isArray(JSON.parse(list.out)));
  assert.deepEqual([bad.code, bad.out], [2, ""]);
  assert.equal(
    bad.err,
    'posthorn: log-level must be debug, info, warn or error, and is "loud" (option --log-level)\n',
  );
});

test("a database that goes away while the broker is being opened is waited for", async () => {
  let tries = 0;
  const { world, signal, err } = openWorld({
    args: ["serve", "--store", "postgres://me@there/events"],
    open: async () => {
      tries += 1;
      if (tries < 3) throw new Refusal("Unavailable", "The database is away: timeout expired.");
      setImmediate(() => signal("SIGTERM"));
      return { close: async () => {} };
    },
  });
  assert.equal(await run(world), 0, err());
  assert.equal(tries, 3);
  assert.equal(
    err(),
    "posthorn: The database is away: timeout expired. Trying again until it is back.\n",
  );
});

test("another store that cannot be opened ends the process", async () => {
  const { world, err } = openWorld({
    open: async () => {
      throw new Refusal("Unavailable", "The disk is away.");
    },
  });
  assert.equal(await run(world), 1);
  assert.equal(err(), "posthorn: The disk is away.\n");
});
