// What our own API shows: each shape with the type inferred from it, for the routes, the portal and
// the command line alike, by subject. Requests are in orders.ts, the operations in operations.ts.

export * from "./views/catalog.ts";
export * from "./views/deadletters.ts";
export * from "./views/endpoints.ts";
export * from "./views/events.ts";
export * from "./views/inboxes.ts";
export * from "./views/live.ts";
export * from "./views/overview.ts";
export * from "./views/pages.ts";
export * from "./views/pull.ts";
export * from "./views/trials.ts";
export * from "./views/upkeep.ts";
