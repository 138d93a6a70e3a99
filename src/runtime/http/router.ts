// Finds the route of a request. Paths are compared segment by segment, case-insensitive and without
// superfluous slashes. A fixed segment wins over a name, and a name over `*`.

import { parse } from "node:querystring";
import type { Request, Route } from "../../core/request.ts";

export type Match =
  | ({ readonly kind: "route"; readonly route: Route } & Pick<Request, "params" | "query">)
  /** The path exists, but not with this method. */
  | { readonly kind: "otherMethods"; readonly routes: readonly Route[] }
  | { readonly kind: "nothing" }
  /** The path cannot be decoded. */
  | { readonly kind: "malformed" };

export type Router = (method: string, url: string) => Match;

/** A node in the tree of paths. */
interface Place {
  readonly fixed: Map<string, Place>;
  named: Place | null;
  readonly here: Methods;
  /** Takes all that follows. */
  readonly rest: Methods;
}

type Methods = Map<string, { readonly route: Route; readonly names: readonly string[] }>;

/** The longest name in a path; Azure's resource names are shorter. */
const nameCharactersMax = 300;

const nothing: Match = { kind: "nothing" };
const malformed: Match = { kind: "malformed" };
const noQuery: Request["query"] = Object.freeze({});

export function openRouter(routes: readonly Route[]): Router {
  const root = makePlace();
  for (const route of routes) addRoute(root, route);
  const readQuery = openQueryReader();
  return (method, url) => {
    const mark = url.search(/[?#]/);
    const segments = segmentsOf(mark < 0 ? url : url.slice(0, mark));
    if (segments === null) return malformed;
    const values: string[] = [];
    const methods = find(root, segments, 0, values);
    if (methods === null) return nothing;
    const found = methods.get(method);
    if (found === undefined) {
      // For a path without GET, Event Grid answers not found instead of listing the methods.
      if (method === "HEAD") return nothing;
      return { kind: "otherMethods", routes: routesIn(methods) };
    }
    const params: Record<string, string> = {};
    for (const [index, name] of found.names.entries()) params[name] = values[index] as string;
    const query = mark < 0 ? noQuery : readQuery(url.slice(mark + 1));
    return { kind: "route", route: found.route, params, query };
  };
}

function makePlace(): Place {
  return { fixed: new Map(), named: null, here: new Map(), rest: new Map() };
}

function addRoute(root: Place, route: Route): void {
  const names: string[] = [];
  let place = root;
  let methods: Methods | null = null;
  for (const segment of route.path.split("/").filter(Boolean)) {
    if (segment === "*") {
      names.push("*");
      methods = place.rest;
    } else if (segment.startsWith(":")) {
      names.push(segment.slice(1));
      place.named ??= makePlace();
      place = place.named;
    } else place = placeAt(place, segment.toLowerCase());
  }
  methods ??= place.here;
  if (methods.has(route.method)) throw new Error(`${route.method} ${route.path} is there twice`);
  methods.set(route.method, { route, names });
  if (route.method === "GET") methods.set("HEAD", { route, names });
}

function placeAt({ fixed }: Place, segment: string): Place {
  const known = fixed.get(segment) ?? makePlace();
  fixed.set(segment, known);
  return known;
}

/** The node at the end of the path; names on the way go into `values`. */
function find(
  place: Place,
  segments: readonly string[],
  depth: number,
  values: string[],
): Methods | null {
  const segment = segments[depth];
  if (segment === undefined) return place.here.size > 0 ? place.here : null;
  const fixed = place.fixed.get(segment.toLowerCase());
  const found = fixed === undefined ? null : find(fixed, segments, depth + 1, values);
  if (found !== null) return found;
  if (place.named !== null && segment.length <= nameCharactersMax) {
    values.push(segment);
    const found = find(place.named, segments, depth + 1, values);
    if (found !== null) return found;
    values.pop();
  }
  if (place.rest.size === 0) return null;
  values.push(segments.slice(depth).join("/"));
  return place.rest;
}

/** Null if it cannot be decoded. An encoded slash (`%2F`) does not separate segments. */
function segmentsOf(path: string): readonly string[] | null {
  // A client that uses us as a proxy sends the host as well.
  const own = path.startsWith("/") ? path : path.replace(/^https?:\/\/[^/]*/i, "");
  const segments = own.split("/").filter((segment) => segment !== "");
  if (!own.includes("%")) return segments;
  try {
    return segments.map(decodeURIComponent);
  } catch {
    return null;
  }
}

function routesIn(methods: Methods): readonly Route[] {
  return [...methods].filter(([method]) => method !== "HEAD").map(([, { route }]) => route);
}

/**
 * Of a parameter that is given more than once the first counts. Publishers send the same query over
 * and over, so the last one is cached; it must not be altered.
 */
function openQueryReader(): (text: string) => Request["query"] {
  let last = { text: "", query: noQuery };
  return (text) => {
    if (last.text !== text) last = { text, query: parseQuery(text) };
    return last.query;
  };
}

function parseQuery(text: string): Request["query"] {
  const query = parse(text);
  for (const name in query) {
    const value = query[name];
    if (Array.isArray(value)) query[name] = value[0];
  }
  return query as Record<string, string>;
}
