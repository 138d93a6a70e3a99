// What the router has found for a method and URL, so that it need not be asked about them again:
// publishers post to the same few URLs over and over.

import type { IncomingMessage } from "node:http";
import type { Request, Route } from "../../core/request.ts";

/** Where a request goes. Shared by all requests to one URL, so nobody may alter it. */
export interface CachedRoute extends Pick<Request, "params" | "query"> {
  readonly route: Route;
}

const waysMax = 1_000;
/** Of a URL for which a way is remembered. */
const urlCharactersMax = 1_000;

export class RouteCache {
  readonly #routeCache = new Map<string, CachedRoute>();

  find({ method, url }: IncomingMessage): CachedRoute | undefined {
    return this.#routeCache.get(`${method} ${url}`);
  }

  /** A full memory is emptied: whoever asks for ever new URLs must not keep out those in use. */
  remember({ method, url = "" }: IncomingMessage, cached: CachedRoute): void {
    if (url.length > urlCharactersMax) return;
    if (this.#routeCache.size >= waysMax) this.#routeCache.clear();
    this.#routeCache.set(`${method} ${url}`, cached);
  }
}
