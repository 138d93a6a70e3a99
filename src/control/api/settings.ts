// The settings in force and where each came from, and the profiles to choose from. Secrets are
// masked before they get here.

import type { SettingView } from "../../core/api/views.ts";
import { profiles } from "../../core/delivery/profile.ts";
import type { Handlers } from "./serve.ts";

export function settingHandlers(
  settings: readonly SettingView[],
): Pick<Handlers, "listSettings" | "listProfiles"> {
  return {
    listSettings: () => ({ value: settings, next: null }),
    listProfiles: () => Object.values(profiles),
  };
}
