// A simulation drawn as text: a timeline of the endpoint and the attempts, each attempt with its
// reason, how it ends, and the load when the endpoint returns. Waits grow with each retry, so the
// timeline is logarithmic.

import type { SimulateOrder } from "../../core/api/orders.ts";
import type { Simulation } from "../../core/api/views.ts";
import { wordsOfMs } from "../../core/text/time.ts";
import type { Paint } from "../print/output.ts";

/** What one column means at the very beginning of the line. */
const firstMs = 5_000;
const marks: readonly (readonly [string, number])[] = [
  ["0", 0],
  ["10s", 10_000],
  ["1m", 60_000],
  ["10m", 600_000],
  ["1h", 3_600_000],
  ["6h", 21_600_000],
  ["1d", 86_400_000],
  ["7d", 604_800_000],
  ["30d", 2_592_000_000],
];
const lineColumnsMax = 100;
const barColumnsMax = 50;

export function drawSimulation(
  order: SimulateOrder,
  simulation: Simulation,
  { paint, columns }: { readonly paint: Paint; readonly columns: number },
): string {
  const lines = [
    ...drawLine(order, simulation, Math.min(lineColumnsMax, Math.max(40, columns)) - 11, paint),
    "",
    ...drawAttempts(simulation, paint),
    ...drawEnd(simulation, paint),
    ...drawLoad(order, simulation, paint),
  ];
  return `${lines.join("\n")}\n`;
}

function drawLine(
  { outage }: SimulateOrder,
  { attempts, end }: Simulation,
  width: number,
  paint: Paint,
): string[] {
  const last = Math.max(
    end.atMs,
    ...outage.map(({ fromMs, untilMs }) => untilMs ?? fromMs),
    60_000,
  );
  const placeOf = (atMs: number) =>
    Math.min(
      width - 1,
      Math.floor((Math.log1p(atMs / firstMs) / Math.log1p(last / firstMs)) * (width - 1)),
    );
  const endpoint = new Array<string>(width).fill("─");
  for (const { fromMs, untilMs, does } of outage) {
    const isFine = typeof does === "number" && does >= 200 && does <= 204;
    endpoint.fill(isFine ? "─" : "▒", placeOf(fromMs), untilMs === null ? width : placeOf(untilMs));
  }
  const tried = new Array<string>(width).fill(" ");
  for (const { atMs, saw } of attempts) tried[placeOf(atMs)] = /^20\d$/.test(saw) ? "●" : "○";
  if (end.kind !== "delivered") tried[placeOf(end.atMs)] = "✗";
  const axis = new Array<string>(width).fill(" ");
  for (const [name, atMs] of marks) {
    if (atMs > last) continue;
    const place = placeOf(atMs);
    const isFree = axis
      .slice(Math.max(0, place - 1), place + name.length + 1)
      .every((c) => c === " ");
    if (isFree && place + name.length <= width) axis.splice(place, name.length, ...name);
  }
  return [
    `endpoint  ${endpoint.join("")}`,
    `attempts  ${paint("bold", tried.join("").trimEnd())}`,
    paint("dim", `          ${axis.join("").trimEnd()}`),
  ];
}

function drawAttempts({ attempts, attemptsMade }: Simulation, paint: Paint): string[] {
  const after = attempts.map(({ atMs }) => wordsOfMs(atMs));
  const width = Math.max(...after.map((text) => text.length));
  const lines = attempts.map(({ number, saw, words, lateAtMs }, index) => {
    const colour = /^20\d$/.test(saw) ? "green" : "yellow";
    const time = (after[index] ?? "").padStart(width);
    const late = lateAtMs === null ? "" : `; answered late, after ${wordsOfMs(lateAtMs)}`;
    const seen = paint(colour, saw.padEnd(7));
    return `${String(number).padStart(3)}  ${time}  ${seen}  ${words}${late}`;
  });
  const more = attemptsMade - attempts.length;
  return more === 0 ? lines : [...lines, `     and ${more} more attempts`];
}

function drawEnd({ end, deadLetters }: Simulation, paint: Paint): string[] {
  const colour = end.kind === "delivered" ? "green" : "red";
  const words = { delivered: "delivered", deadLettered: "gave up", dropped: "dropped" };
  const why = end.reason === null ? "" : `: ${end.reason}`;
  const tries = deadLetters?.attempts.length ?? 0;
  const made = tries > 1 ? ` with attempt ${tries}` : "";
  const lines = [`${paint(colour, words[end.kind])} after ${wordsOfMs(end.atMs)}${why}`];
  if (end.writtenAtMs !== null) {
    lines.push(`dead letter written after ${wordsOfMs(end.writtenAtMs)}${made}`);
  }
  if (typeof deadLetters?.lostAtMs === "number") {
    const lost = wordsOfMs(deadLetters.lostAtMs);
    lines.push(`${paint("red", "dead letter lost")} after ${lost}: its store took nothing`);
  }
  return [`     ${lines.join("; ")}`];
}

function drawLoad({ backlog = 0 }: SimulateOrder, simulation: Simulation, paint: Paint): string[] {
  const { load, loadStepMs, peakPerSecond, returnsAtMs, saved, lost, settledAtMs } = simulation;
  if (load === null) return [];
  const most = Math.max(1, ...load.map(({ requests }) => requests));
  const begin = load[0]?.atMs ?? 0;
  const bars = load.map(({ atMs, requests }) => {
    const bar = "█".repeat(Math.ceil((requests / most) * barColumnsMax));
    const time = `+${wordsOfMs(atMs - begin)}`.padStart(14);
    return `${time}  ${bar}${requests === 0 ? "" : ` ${requests}`}`;
  });
  const waits = wordsOfMs(begin - (returnsAtMs ?? 0));
  const letters = simulation.deadLetters;
  return [
    "",
    paint(
      "bold",
      `When the endpoint returns, after ${wordsOfMs(returnsAtMs ?? 0)}, ${backlog} wait.`,
    ),
    `The first request comes ${waits} later. Requests in each ${wordsOfMs(loadStepMs)} from then on:`,
    ...bars,
    `at most ${peakPerSecond} requests in a second; ${saved} saved, ${lost} lost; ` +
      `all is settled after ${wordsOfMs(settledAtMs)}`,
    ...(letters === null || letters.written + letters.lost === 0
      ? []
      : [`dead letters: ${letters.written} written, ${letters.lost} lost`]),
  ];
}
