// One publish as a span. It is created when the events have been read, with the time of the
// request: only then is their trace known. From then on the events' trace context is this span.

import type { Published } from "../core/event.ts";
import type { Instant } from "../core/ports.ts";
import type { RequestHead } from "../core/request.ts";
import { publishSpan, type Span, type Tracer } from "../core/tracing/span.ts";
import { readTrace, sharedTrace, type Trace } from "../core/tracing/trace.ts";

/** The trace context of the request. */
export function traceIn({ headers: { traceparent, tracestate } }: RequestHead): Trace | null {
  return traceparent === undefined ? null : readTrace(traceparent, tracestate);
}

export class PublishTracing {
  readonly #tracer: Tracer;
  readonly #parent: Trace | null;
  readonly #startedAt: Instant;
  #span: Span | null = null;
  #count = 0;

  constructor(tracer: Tracer, request: RequestHead, startedAt: Instant) {
    this.#tracer = tracer;
    this.#parent = traceIn(request);
    this.#startedAt = startedAt;
  }

  /** The same events, with this publish as their parent. */
  adopt(topic: string, published: readonly Published[]): readonly Published[] {
    const own = this.#parent === null ? published.map(({ event }) => event.trace) : [];
    const parent = this.#parent ?? sharedTrace(own);
    const links = parent === null ? own.filter((trace) => trace !== null) : [];
    const startedAt = this.#startedAt;
    this.#span = this.#tracer.begin(publishSpan({ topic, startedAt, parent, links }));
    this.#count = published.length;
    const { trace } = this.#span;
    return published.map((each) => ({ ...each, event: { ...each.event, trace } }));
  }

  /** `error`: the code of a refusal; null: the events are stored. */
  end(at: Instant, error: string | null, topic: string | null): void {
    const [startedAt, parent] = [this.#startedAt, this.#parent];
    const span =
      this.#span ?? this.#tracer.begin(publishSpan({ topic, startedAt, parent, links: [] }));
    span.end(at, {
      error,
      ...(this.#count > 0 && { attributes: { "messaging.batch.message_count": this.#count } }),
    });
  }
}
