// Of what figures and charts are.

/** Whose figures: null is the whole broker. */
export type Scope =
  | null
  | { readonly kind: "topic"; readonly name: string }
  | {
      readonly kind: "subscription";
      readonly topic: string;
      readonly domainTopic: string | null;
      readonly name: string;
    }
  /** One broker of a cluster, by its id. */
  | { readonly kind: "endpoint" | "member"; readonly name: string };
