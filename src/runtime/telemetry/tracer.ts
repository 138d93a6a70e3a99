// Spans by OpenTelemetry, behind the port. Contexts are converted from and to W3C's form.

import {
  createTraceState,
  type Link,
  type Tracer as OtelTracer,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace as traceApi,
} from "@opentelemetry/api";
import type { Tracer } from "../../core/tracing/span.ts";
import type { Trace } from "../../core/tracing/trace.ts";

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT } as const;

export function openTracer(tracer: OtelTracer): Tracer {
  return {
    begin({ name, kind, startedAt, parent, links, attributes }) {
      const context =
        parent === null
          ? ROOT_CONTEXT
          : traceApi.setSpanContext(ROOT_CONTEXT, spanContextOf(parent));
      const span = tracer.startSpan(
        name,
        {
          kind: kinds[kind],
          startTime: startedAt,
          attributes: { ...attributes },
          links: links.map((link): Link => ({ context: spanContextOf(link) })),
        },
        context,
      );
      return {
        trace: traceOf(span.spanContext()),
        end(at, { error, attributes: more = {} }) {
          span.setAttributes({ ...more, ...(error !== null && { "error.type": error }) });
          if (error !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
          span.end(at);
        },
      };
    },
  };
}

/** Of an unknown version, as much as is known. */
function spanContextOf({ parent, state }: Trace): SpanContext {
  const [, traceId = "", spanId = "", flags = "00"] = parent.split("-");
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
    ...(state !== null && { traceState: createTraceState(state) }),
  };
}

function traceOf({ traceId, spanId, traceFlags, traceState }: SpanContext): Trace {
  const flags = traceFlags.toString(16).padStart(2, "0");
  return { parent: `00-${traceId}-${spanId}-${flags}`, state: traceState?.serialize() || null };
}
