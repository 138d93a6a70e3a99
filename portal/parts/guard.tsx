// What a fault in one page leaves standing: the frame, and words about it. React wants a class for
// this and nothing else will do.

import { Button } from "@fluentui/react-components";
import { Component, type ReactNode } from "react";
import { Empty } from "./page.tsx";

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
    return (
      <Empty
        title="This page has failed"
        actions={<Button onClick={() => location.reload()}>Load it again</Button>}
      >
        The broker is not affected. If it happens again after loading the page anew, the portal may
        be older than the broker: {fault.message}
      </Empty>
    );
  }
}
