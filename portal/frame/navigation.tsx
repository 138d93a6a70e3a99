// The pages that can be reached from everywhere.

import type { ReactNode } from "react";
import {
  ArrowDownloadRegular,
  BeakerRegular,
  ChannelRegular,
  HeartPulseRegular,
  HomeRegular,
  InboxRegular,
  MailAlertRegular,
  PulseRegular,
  SendRegular,
  ServerRegular,
  SettingsRegular,
} from "../icons/drawings.tsx";

export interface Way {
  readonly title: string;
  readonly to: string;
  readonly icon: ReactNode;
}

export const ways: readonly Way[] = [
  { title: "Overview", to: "/", icon: <HomeRegular /> },
  { title: "Deliveries", to: "/portal/deliveries", icon: <PulseRegular /> },
  { title: "Topics and domains", to: "/portal/topics", icon: <ChannelRegular /> },
  { title: "Subscriptions", to: "/portal/subscriptions", icon: <SendRegular /> },
  { title: "Pull queues", to: "/portal/queues", icon: <ArrowDownloadRegular /> },
  { title: "Endpoints", to: "/portal/endpoints", icon: <HeartPulseRegular /> },
  { title: "Dead letters", to: "/portal/dead-letters", icon: <MailAlertRegular /> },
  { title: "Test inboxes", to: "/portal/inboxes", icon: <InboxRegular /> },
  { title: "What-if", to: "/portal/what-if", icon: <BeakerRegular /> },
  { title: "Brokers", to: "/portal/brokers", icon: <ServerRegular /> },
  { title: "Settings", to: "/portal/settings", icon: <SettingsRegular /> },
];
