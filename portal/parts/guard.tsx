// Shown when a page crashes: the frame stays, with a message. React needs a class for this.

import { Component, type ReactNode, useEffect, useState } from "react";
import { Button } from "../fluent.ts";
import { useLive } from "../live.ts";
import { Empty } from "./page.tsx";

/** The files of a page did not come: most often, the broker is away. */
export class NotLoaded extends Error {}

export class Guard extends Component<
  { readonly children: ReactNode },
  { readonly fault: Error | null }
> {
  override state: { readonly fault: Error | null } = { fault: null };

  static getDerivedStateFromError(fault: Error) {
    return { fault };
  }

  override render(): ReactNode {
    const { fault } = this.state;
    if (fault === null) return this.props.children;
    if (fault instanceof NotLoaded) return <Reloading />;
    return (
      <Empty
        title="This page has failed"
        actions={<Button onClick={() => location.reload()}>Load it again</Button>}
      >
        The broker is not affected. If it happens again after a reload, the portal may be older than
        the broker: {fault.message}
      </Empty>
    );
  }
}

const triedKey = "posthorn-reloaded-at";
/** A page that cannot be had from a broker that answers is not asked for without end. */
const triesApartMs = 30_000;

/** Loads the page again as soon as the broker answers. */
function Reloading() {
  const overviewAt = useLive("overviewAt");
  const [failedAt] = useState(() => Date.now());
  useEffect(() => {
    const triedAt = Number(sessionStorage.getItem(triedKey) ?? 0);
    if (overviewAt <= failedAt || Date.now() - triedAt < triesApartMs) return;
    sessionStorage.setItem(triedKey, String(Date.now()));
    location.reload();
  }, [overviewAt, failedAt]);
  return (
    <Empty
      title="This page could not be loaded"
      actions={<Button onClick={() => location.reload()}>Load it again</Button>}
    >
      The broker does not answer. The page is loaded as soon as it does.
    </Empty>
  );
}
