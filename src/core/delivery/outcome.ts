// What became of one send, as a value. The sink says what the world did; whether that is a success
// is a law of the profile (P-1) and not the sink's business.

/** Why there was no answer. */
export type Silence =
  /** No answer within the profile's wait (P-2). */
  | "timeout"
  /** The connection was refused, reset or broken off. */
  | "connection"
  | "dns"
  | "tls"
  /** We gave up ourselves, because the broker stops. */
  | "canceled";

/** A blob as its store knows it. */
export interface Written {
  readonly container: string;
  readonly path: string;
  readonly url: string;
  readonly etag: string;
  readonly bytes: number;
}

export type Outcome =
  | {
      readonly kind: "answered";
      readonly status: number;
      /** From `Retry-After`, in milliseconds from the answer. */
      readonly retryAfterMs?: number;
      /** The first bytes of the answer, for people. */
      readonly excerpt?: string;
      /** What a store calls it, for people: `ContainerNotFound`. */
      readonly detail?: string;
      /** Event Grid's word for it, where the status alone does not tell: `Disabled`. */
      readonly name?: string;
      /** Of dead letters that a store has taken: where they are. */
      readonly written?: Written;
    }
  | {
      readonly kind: "noReply";
      readonly why: Silence;
      /** The system's own words, for people. */
      readonly detail?: string;
      /** With `timeout`: what came after all until the late limit (P-3), or null. */
      readonly late?: Promise<Outcome | null>;
    };
