// A link within the portal, followed without reloading the page. Only a plain click is handled;
// opening in a new tab is left to the browser.

import type { MouseEvent, ReactNode } from "react";
import { Link } from "../fluent.ts";
import { go } from "../route.ts";

export function follow(event: MouseEvent<HTMLElement>, to: string): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(to);
}

export function To({ to, children }: { readonly to: string; readonly children: ReactNode }) {
  return (
    <Link href={to} onClick={(event) => follow(event, to)}>
      {children}
    </Link>
  );
}
