// The test reporter: what failed, in full, then the slowest files, then one plain line of counts.
// Only leaf tests are counted; a suite or a test with subtests is a heading, unless its own code
// failed. Passing tests are silent, so that what a test prints itself can be found. The default
// export is what `node --test --test-reporter` asks for.

import { relative } from "node:path";
import type { TestEvent } from "node:test/reporters";
import { inspect } from "node:util";

const SLOWEST_SHOWN = 3;

/** How a test ended, as the runner tells it; `fail` of a test marked todo is no failure. */
type Ended = Extract<TestEvent, { type: "test:pass" | "test:fail" }>;

interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const tally: Tally = { passed: 0, failed: 0, skipped: 0 };
  const times: { readonly file: string; readonly ms: number }[] = [];
  const failures: string[] = [];
  const path = new TestPath();
  for await (const event of events) {
    switch (event.type) {
      case "test:start":
        path.enter(event.data.nesting, event.data.name);
        break;
      case "test:pass":
      case "test:fail": {
        const isLeaf = path.leave(event.data.nesting);
        const text = judge(event, { isLeaf, name: path.name(event.data.nesting) }, tally);
        if (text !== null) {
          failures.push(text);
          yield `\n${text}\n`;
        }
        break;
      }
      case "test:stdout":
      case "test:stderr":
        yield event.data.message;
        break;
      case "test:diagnostic":
        // Those without a file are the runner's own totals, which we print in our own way.
        if (event.data.file !== undefined) yield `${event.data.message}\n`;
        break;
      case "test:summary":
        if (event.data.file !== undefined) {
          times.push({ file: shorten(event.data.file), ms: event.data.duration_ms });
        }
        break;
    }
  }
  yield closing(tally, times, failures);
}

/** The names of the tests around the one being reported; children are reported before parents. */
class TestPath {
  #names: string[] = [];
  #hasChildren: boolean[] = [];

  enter(nesting: number, name: string): void {
    this.#names[nesting] = name;
    this.#hasChildren[nesting] = false;
    if (nesting > 0) this.#hasChildren[nesting - 1] = true;
  }

  /** Whether the test at this depth had no tests of its own. */
  leave(nesting: number): boolean {
    return this.#hasChildren[nesting] !== true;
  }

  name(nesting: number): string {
    return this.#names.slice(0, nesting + 1).join(" › ");
  }
}

function judge(
  event: Ended,
  place: { readonly isLeaf: boolean; readonly name: string },
  tally: Tally,
): string | null {
  const { data } = event;
  const isTest = place.isLeaf && data.details.type !== "suite";
  if (isMarked(data.skip) || isMarked(data.todo)) {
    if (isTest) tally.skipped += 1;
    return null;
  }
  if (event.type === "test:pass") {
    // A file without tests is reported as a test of its own name. It proves nothing.
    if (isTest && data.name !== data.file) tally.passed += 1;
    return null;
  }
  const error = event.data.details.error;
  // The children have been reported already; this is only the echo.
  if (!place.isLeaf && "failureType" in error && error.failureType === "subtestsFailed")
    return null;
  tally.failed += 1;
  return describe(event, place.name);
}

/** The runner says `true` or gives the reason; an absent mark may be undefined or false. */
function isMarked(mark: string | boolean | undefined): boolean {
  return mark !== undefined && mark !== false;
}

function describe(event: Extract<TestEvent, { type: "test:fail" }>, name: string): string {
  const { data } = event;
  const file = data.file === undefined ? "" : shorten(data.file);
  const { error } = data.details;
  if (data.name === data.file) {
    const code = "exitCode" in error ? ` (exit code ${error.exitCode})` : "";
    return `FAILED ${file}: the file itself failed${code}, see its output`;
  }
  const lines = withoutRuntimeFrames(explain(error.cause ?? error));
  return [`FAILED ${name}`, `at ${file}:${data.line ?? 0}`, ...lines].join("\n  ");
}

/** An assertion's message says it all; its properties would say it once more. */
function explain(error: unknown): string {
  if (typeof error === "string") return error;
  const isAssertion = error instanceof Error && "code" in error && error.code === "ERR_ASSERTION";
  return isAssertion && error.stack !== undefined ? error.stack : inspect(error, { depth: 6 });
}

function withoutRuntimeFrames(text: string): string[] {
  return text.split("\n").filter((line) => !/^\s+at .*\(?node:/.test(line));
}

function closing(
  tally: Tally,
  times: readonly { readonly file: string; readonly ms: number }[],
  failures: readonly string[],
): string {
  const slowest = times
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, SLOWEST_SHOWN)
    .map(({ file, ms }) => `  ${(ms / 1000).toFixed(1)} s  ${file}`);
  const again = failures.map((text) => `  ${text.split("\n", 1)[0] ?? ""}`);
  const counts = `${tally.passed} passed, ${tally.failed} failed`;
  return [
    "",
    "Slowest files:",
    ...slowest,
    ...(again.length > 0 ? ["", ...again] : []),
    "",
    tally.skipped > 0 ? `${counts}, ${tally.skipped} skipped` : counts,
    "",
  ].join("\n");
}

function shorten(file: string): string {
  return relative(process.cwd(), file);
}
