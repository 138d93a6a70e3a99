// The pages that can be reached from everywhere.

import { BeakerRegular } from "@fluentui/react-icons/svg/beaker";
import { ChannelRegular } from "@fluentui/react-icons/svg/channel";
import { HeartPulseRegular } from "@fluentui/react-icons/svg/heart-pulse";
import { HomeRegular } from "@fluentui/react-icons/svg/home";
import { MailAlertRegular } from "@fluentui/react-icons/svg/mail-alert";
import { PulseRegular } from "@fluentui/react-icons/svg/pulse";
import { SendRegular } from "@fluentui/react-icons/svg/send";
import { SettingsRegular } from "@fluentui/react-icons/svg/settings";
import type { ReactNode } from "react";

export interface Way {
  readonly title: string;
  readonly to: string;
  readonly icon: ReactNode;
}

export const ways: readonly Way[] = [
  { title: "Overview", to: "/", icon: <HomeRegular /> },
  { title: "Topics and domains", to: "/portal/topics", icon: <ChannelRegular /> },
  { title: "Subscriptions", to: "/portal/subscriptions", icon: <SendRegular /> },
  { title: "Deliveries", to: "/portal/deliveries", icon: <PulseRegular /> },
  { title: "Dead letters", to: "/portal/dead-letters", icon: <MailAlertRegular /> },
  { title: "Endpoints", to: "/portal/endpoints", icon: <HeartPulseRegular /> },
  { title: "What-if", to: "/portal/what-if", icon: <BeakerRegular /> },
  { title: "Settings", to: "/portal/settings", icon: <SettingsRegular /> },
];
