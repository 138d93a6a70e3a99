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
  | { readonly kind: "endpoint"; readonly name: string };
