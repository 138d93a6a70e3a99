// Light or dark: as in the system, or as chosen in this browser.

import { useEffect, useState, useSyncExternalStore } from "react";

export type Look = "system" | "light" | "dark";

const key = "posthorn.look";
const query = matchMedia("(prefers-color-scheme: dark)");

function read(): Look {
  const kept = localStorage.getItem(key);
  return kept === "light" || kept === "dark" ? kept : "system";
}

function watchSystem(listener: () => void): () => void {
  query.addEventListener("change", listener);
  return () => query.removeEventListener("change", listener);
}

export function useLook(): {
  readonly look: Look;
  readonly isDark: boolean;
  readonly choose: (look: Look) => void;
} {
  const [look, setLook] = useState<Look>(read);
  const isSystemDark = useSyncExternalStore(watchSystem, () => query.matches);
  const isDark = look === "system" ? isSystemDark : look === "dark";
  useEffect(() => {
    document.documentElement.dataset.look = isDark ? "dark" : "light";
    document.documentElement.style.colorScheme = isDark ? "dark" : "light";
  }, [isDark]);
  return {
    look,
    isDark,
    choose(chosen) {
      if (chosen === "system") localStorage.removeItem(key);
      else localStorage.setItem(key, chosen);
      setLook(chosen);
    },
  };
}
