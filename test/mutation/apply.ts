// Loaded before the tests of a mutant (`--import`), in every process and thread: puts the mutant
// that the environment names into its file as it is loaded. No file on disk is changed.

import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";

const given = process.env.POSTHORN_MUTANT;
if (given !== undefined) {
  const { file, start, end, text } = JSON.parse(given);
  const target = pathToFileURL(file).href;
  registerHooks({
    load(url, context, next) {
      if (url !== target) return next(url, context);
      const whole = readFileSync(file, "utf8");
      const source = whole.slice(0, start) + text + whole.slice(end);
      return { format: "module-typescript", source, shortCircuit: true };
    },
  });
}
