// The figures' engine on a thread of its own, so that neither counting nor charts slow deliveries;
// and the same engine in the calling thread, for tests. A damaged file is moved away: figures are
// for people, and must not stop a broker.

import { dirname } from "node:path";
import type { FigureQuery, FigureRow, Figures, Series } from "../../core/figures/figures.ts";
import type { Instant } from "../../core/ports.ts";
import { type Asked, answerAsked, openAskedThread } from "../asked-thread.ts";
import { markingDamage, openOrMoveAway } from "../damaged-file.ts";
import { makePrivateFolder } from "../private-files.ts";
import { FigureEngine, type FigureOptions } from "./engine.ts";

const role = "figures";

type Ask =
  | { readonly kind: "add"; readonly rows: readonly FigureRow[]; readonly now: Instant }
  | { readonly kind: "read"; readonly query: FigureQuery };

export interface OpenFigures {
  readonly figures: Figures;
  /** Where a damaged file was moved to; null: there was none. */
  readonly setAside: string | null;
}

export async function openFigureThread(options: FigureOptions): Promise<OpenFigures> {
  makePrivateFolder(dirname(options.path));
  const { setAside, ...asked } = await openAskedThread<Ask, { setAside: string | null }>(
    new URL(import.meta.url),
    role,
    options,
  );
  return { figures: figuresBy(asked), setAside };
}

export function openFiguresInline(engine: FigureEngine): Figures {
  return figuresBy({
    ask: async (ask) => answer(engine, ask),
    close: async () => engine.close(),
  });
}

function figuresBy(asked: Asked<Ask>): Figures {
  return {
    add: async (rows, now) => void (await asked.ask({ kind: "add", rows, now })),
    read: async (query) => (await asked.ask({ kind: "read", query })) as readonly Series[],
    close: () => asked.close(),
  };
}

function answer(engine: FigureEngine, ask: Ask): unknown {
  return ask.kind === "add" ? engine.add(ask.rows, ask.now) : engine.read(ask.query);
}

answerAsked<FigureOptions, Ask>(role, (options) => {
  const { opened: engine, setAside } = openOrMoveAway(
    options.path,
    () => new FigureEngine(options),
  );
  return {
    opened: { setAside },
    answer: (ask) => markingDamage(options.path, () => answer(engine, ask)),
    close: () => engine.close(),
  };
});
