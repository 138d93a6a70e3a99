// One publish as a span. It begins when the events have been read, as of when the request came:
// only then is it known where they come from. From there on the span is what they follow from.

import type { Published } from "../core/event.ts";
import type { Instant } from "../core/ports.ts";
import type { Request } from "../core/request.ts";
import { publishSpan, type Span, type Tracer } from "../core/tracing/span.ts";
import { readTrace, sharedTrace, type Trace } from "../core/tracing/trace.ts";

/** That of the request. */
export function traceIn({ headers: { traceparent, tracestate } }: Request): Trace | null {
  return traceparent === undefined ? null : readTrace(traceparent, tracestate);
}

export class PublishTracing {
  readonly #tracer: Tracer;
  readonly #parent: Trace | null;
  readonly #startedAt: Instant;
  #span: Span | null = null;
  #count = 0;

  constructor(tracer: Tracer, request: Request, startedAt: Instant) {
    this.#tracer = tracer;
    this.#parent = traceIn(request);
    this.#startedAt = startedAt;
  }

  /** The same events, as what follows from this publish. */
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

  /** `error`: the code of a refusal; null: the events are kept. */
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
