// The portal as a whole: light or dark, the frame, and the page that the address names. Each page
// is loaded when it is first opened, but the overview: it comes with the frame, because fewer and
// larger files are smaller when they are compressed.

import { type ComponentType, lazy, Suspense, useEffect } from "react";
import { FluentProvider, webDarkTheme, webLightTheme } from "./fluent.ts";
import { Frame } from "./frame/frame.tsx";
import { useLook } from "./frame/look.ts";
import { SayProvider } from "./frame/toasts.tsx";
import { startLive } from "./live.ts";
import { OverviewPage } from "./pages/overview.tsx";
import { Guard, NotLoaded } from "./parts/guard.tsx";
import { To } from "./parts/link.tsx";
import { Empty, PageHead, Wait } from "./parts/page.tsx";
import { match, usePlace } from "./route.ts";

/** Names from the path, and values from the query. */
export interface PageProps {
  readonly names: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}

function page<Name extends string>(
  load: () => Promise<Readonly<Record<Name, ComponentType<PageProps>>>>,
  name: Name,
) {
  return lazy(async () => {
    const loaded = await load().catch((error: unknown) => {
      throw new NotLoaded(String(error));
    });
    return { default: loaded[name] };
  });
}

const pages: readonly (readonly [pattern: string, page: ComponentType<PageProps>])[] = [
  ["/", OverviewPage],
  ["/portal", OverviewPage],
  ["/portal/topics", page(() => import("./pages/topics.tsx"), "TopicsPage")],
  ["/portal/topics/:topic", page(() => import("./pages/topic.tsx"), "TopicPage")],
  [
    "/portal/topics/:topic/subscriptions/:name",
    page(() => import("./pages/subscription.tsx"), "SubscriptionPage"),
  ],
  ["/portal/subscriptions", page(() => import("./pages/subscriptions.tsx"), "SubscriptionsPage")],
  [
    "/portal/subscriptions/new",
    page(() => import("./pages/newsubscription.tsx"), "NewSubscriptionPage"),
  ],
  ["/portal/queues", page(() => import("./pages/queues.tsx"), "QueuesPage")],
  ["/portal/deliveries", page(() => import("./pages/deliveries.tsx"), "DeliveriesPage")],
  ["/portal/deliveries/:event", page(() => import("./pages/story.tsx"), "StoryPage")],
  ["/portal/dead-letters", page(() => import("./pages/deadletters.tsx"), "DeadLettersPage")],
  ["/portal/inboxes", page(() => import("./pages/inboxes.tsx"), "InboxesPage")],
  ["/portal/inboxes/:inbox", page(() => import("./pages/inbox.tsx"), "InboxPage")],
  ["/portal/endpoints", page(() => import("./pages/endpoints.tsx"), "EndpointsPage")],
  ["/portal/brokers", page(() => import("./pages/brokers.tsx"), "BrokersPage")],
  ["/portal/what-if", page(() => import("./pages/whatif.tsx"), "WhatIfPage")],
  ["/portal/settings", page(() => import("./pages/settings.tsx"), "SettingsPage")],
];

function Missing() {
  return (
    <>
      <PageHead title="There is no such page" />
      <Empty title="Nothing here">
        The address may be mistyped. <To to="/">The overview</To> is a good place to begin.
      </Empty>
    </>
  );
}

function CurrentPage() {
  const { path, query } = usePlace();
  for (const [pattern, Page] of pages) {
    const names = match(pattern, path);
    // The key resets a page for another topic or event: nothing of the previous one is shown.
    if (names !== null) return <Page key={path} names={names} query={query} />;
  }
  return <Missing />;
}

export function App() {
  const { look, isDark, choose } = useLook();
  const { path } = usePlace();
  useEffect(startLive, []);
  return (
    <FluentProvider theme={isDark ? webDarkTheme : webLightTheme}>
      <SayProvider>
        <Frame look={look} choose={choose}>
          <Guard key={path}>
            <Suspense fallback={<Wait />}>
              <CurrentPage />
            </Suspense>
          </Guard>
        </Frame>
      </SayProvider>
    </FluentProvider>
  );
}
