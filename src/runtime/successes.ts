// A log in which deliveries that succeed are told like those that fail, for whoever asked for that.

import type { Log } from "../core/ports.ts";

const raised = "delivery.attempted";

export function tellSuccesses(log: Log): Log {
  return {
    // Facts are made for `debug` although few of them are written: which, is known only here.
    tells: () => true,
    fact: (level, name, fields) =>
      log.fact(name === raised && level === "debug" ? "info" : level, name, fields),
  };
}
