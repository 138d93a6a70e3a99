// The settings in force and where each came from, and the profiles to choose from. Secrets are
// masked before they get here.

import type { SettingView } from "../../core/api/views.ts";
import { profiles } from "../../core/delivery/profile.ts";
import type { Route } from "../../core/request.ts";
import { reply } from "../arm/reply.ts";
import { apiHeaders } from "./names.ts";

export function settingRoutes(settings: readonly SettingView[]): Route[] {
  const headers = apiHeaders;
  return [
    {
      method: "GET",
      path: "/api/v1/settings",
      headers,
      handle: () => reply(200, { value: settings, next: null }),
    },
    {
      method: "GET",
      path: "/api/v1/profiles",
      headers,
      handle: () => reply(200, Object.values(profiles)),
    },
  ];
}
