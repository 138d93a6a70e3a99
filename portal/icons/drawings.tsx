// The icons of the portal, and those that Fluent's components ask for by name: each is one path on
// a field of 20 by 20, lines or a surface with holes. This folder takes the place of the package
// @fluentui/react-icons, which is 300 MB (`overrides` in package.json).

import type { ComponentType, SVGProps } from "react";

type Icon = ComponentType<SVGProps<SVGSVGElement>>;

/** Its side: a length of CSS, by default that of the text around it. */
type Side = number | "1em";

function draw(d: string, side: Side, look: SVGProps<SVGSVGElement>): Icon {
  return (props) => (
    <svg viewBox="0 0 20 20" width={side} height={side} aria-hidden="true" {...look} {...props}>
      <path d={d} />
    </svg>
  );
}

function lines(d: string, strokeWidth = 1.25, side: Side = "1em"): Icon {
  const ends = { strokeLinecap: "round", strokeLinejoin: "round" } as const;
  return draw(d, side, { fill: "none", stroke: "currentColor", strokeWidth, ...ends });
}

function surface(d: string, side: Side = "1em"): Icon {
  return draw(d, side, { fill: "currentColor", fillRule: "evenodd" });
}

const tick = "M4 10.5l4 4 8.5-9";
const disc = "M18 10a8 8 0 1 1-16 0 8 8 0 0 1 16 0Z";
const square = "M3 3h14v14H3Z";
const ring = "M17 10a7 7 0 1 1-14 0 7 7 0 0 1 14 0Z";
const cross = "M5 5l10 10M15 5 5 15";
const down = "M5 7.5l5 5 5-5";
const left = "M12.5 5l-5 5 5 5";
const right = "M7.5 5l5 5-5 5";
const tickInDisc = `${disc}M6.2 10.2l1.1-1.1 1.9 1.9 4.5-4.5 1.1 1.1-5.6 5.6Z`;
const markInDisc = `${disc}M9.2 9h1.6v5.2H9.2ZM9.1 5.8h1.8v1.8H9.1Z`;
const markInTriangle = "M10 2 18.5 17.5h-17ZM9.2 7.5h1.6v5H9.2ZM9.1 13.8h1.8v1.8H9.1Z";
const crossInDiamond =
  "M10 1.5 18.5 10 10 18.5 1.5 10ZM7.2 6.2 10 9l2.8-2.8 1 1L11 10l2.8 2.8-1 1L10 11l-2.8 2.8" +
  "-1-1L9 10 6.2 7.2Z";

// The portal's own.
export const AddRegular = lines("M10 3.5v13M3.5 10h13");
export const ArrowClockwiseRegular = lines("M16.5 10a6.5 6.5 0 1 1-2-4.7L16.5 7M16.5 3v4h-4");
export const ArrowDownloadRegular = lines(
  "M10 3v9M6.5 8.5 10 12l3.5-3.5M3.5 13v2A1.5 1.5 0 0 0 5 16.5h10a1.5 1.5 0 0 0 1.5-1.5v-2",
);
export const BeakerRegular = lines(
  "M7.5 3h5M8.5 3v5L4.3 15.2A1.2 1.2 0 0 0 5.4 17h9.2a1.2 1.2 0 0 0 1.1-1.8L11.5 8V3M6.2 12h7.6",
);
export const ChannelRegular = lines("M3.5 4.5h13V8h-13ZM3.5 12h13v3.5h-13ZM10 8v4");
export const CheckmarkRegular = lines(tick);
export const ClockRegular = lines(`${ring}M10 6v4.5h3.5`);
export const CopyRegular = lines(
  "M7 6.5A1.5 1.5 0 0 1 8.5 5h6A1.5 1.5 0 0 1 16 6.5v9a1.5 1.5 0 0 1-1.5 1.5h-6A1.5 1.5 0 0 1 7 15.5Z" +
    "M13 5v-.5A1.5 1.5 0 0 0 11.5 3h-6A1.5 1.5 0 0 0 4 4.5v9A1.5 1.5 0 0 0 5.5 15H7",
);
export const DarkThemeRegular = surface(`${disc}M10 3.4v13.2a6.6 6.6 0 0 0 0-13.2Z`);
export const DeleteRegular = lines(
  "M3.5 5.5h13M8 5.5V4a1 1 0 0 1 1-1h2a1 1 0 0 1 1 1v1.5M5 5.5l.8 10.2A1.5 1.5 0 0 0 7.3 17h5.4" +
    "a1.5 1.5 0 0 0 1.5-1.3L15 5.5M8.5 8.5V14M11.5 8.5V14",
);
export const EyeRegular = lines(
  "M2.5 10C4.2 6.8 6.9 5 10 5s5.8 1.8 7.5 5c-1.7 3.2-4.4 5-7.5 5s-5.8-1.8-7.5-5Z" +
    "M12.5 10a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0Z",
);
export const FastForwardRegular = lines("M3 5v10l6.5-5ZM10.5 5v10l6.5-5Z");
export const GlobeRegular = lines(
  `${ring}M3 10h14M10 3c2.2 2 3.2 4.3 3.2 7s-1 5-3.2 7c-2.2-2-3.2-4.3-3.2-7s1-5 3.2-7Z`,
);
export const HeartPulseRegular = lines(
  "M10 16.5l-5.8-5.8a3.7 3.7 0 0 1 5.2-5.2l.6.6.6-.6a3.7 3.7 0 0 1 5.2 5.2Z" +
    "M6.2 10.2H8l1.2-2 1.7 4 1.2-2h1.7",
);
export const HomeRegular = lines(
  "M3.5 9.5 10 3.5l6.5 6V16a.8.8 0 0 1-.8.8h-3.2V12h-5v4.8H4.3a.8.8 0 0 1-.8-.8Z",
);
export const MailAlertRegular = lines(
  "M12 15.5H4.5A1.5 1.5 0 0 1 3 14V6a1.5 1.5 0 0 1 1.5-1.5h11A1.5 1.5 0 0 1 17 6v2.5" +
    "M3 6.5l7 4 7-4M15.5 11.5v3M15.5 17h.01",
);
export const MailRegular = lines(
  "M4.5 4.5h11A1.5 1.5 0 0 1 17 6v8a1.5 1.5 0 0 1-1.5 1.5h-11A1.5 1.5 0 0 1 3 14V6a1.5 1.5 0 0 1 1.5-1.5Z" +
    "M3 6.5l7 4 7-4",
);
export const InboxRegular = lines(
  "M5 3.5h10l2 7.5v4a1.5 1.5 0 0 1-1.5 1.5h-11A1.5 1.5 0 0 1 3 15v-4ZM3 11h4a3 3 0 0 0 6 0h4",
);
export const MoreVerticalRegular = lines("M10 4.5h.01M10 10h.01M10 15.5h.01", 2.5);
export const NavigationRegular = lines("M3 5.5h14M3 10h14M3 14.5h14");
export const PauseRegular = lines("M5.5 4h3v12h-3ZM11.5 4h3v12h-3Z");
export const PlayRegular = lines("M6 4.5v11l9.5-5.5Z");
export const PulseRegular = lines("M2.5 10.5H6L8.5 5 12 15l2.2-4.5h3.3");
export const SearchRegular = lines("M13.5 8.5a5 5 0 1 1-10 0 5 5 0 0 1 10 0ZM12.1 12.1 17 17");
export const SendRegular = lines("M3 4l14.5 6L3 16l1.8-6ZM4.8 10H11");
export const ServerRegular = lines(
  "M4 3.5h12v5H4ZM4 11.5h12v5H4ZM6.5 6h.01M6.5 14h.01M10 6h3.5M10 14h3.5",
);
export const SettingsRegular = lines(
  "M3 6h7M14 6h3M3 14h3M10 14h7M14 6a2 2 0 1 1-4 0 2 2 0 0 1 4 0ZM10 14a2 2 0 1 1-4 0 2 2 0 0 1 4 0Z",
);
export const SignOutRegular = lines(
  "M8 3.5H5A1.5 1.5 0 0 0 3.5 5v10A1.5 1.5 0 0 0 5 16.5h3M8 10h9M13.5 6.5 17 10l-3.5 3.5",
);

// Those of Fluent's components.
export const Checkmark12Filled = lines(tick, 2.5, 12);
export const Checkmark16Filled = lines(tick, 2, 16);
export const CheckmarkCircle12Filled = surface(tickInDisc, 12);
export const CheckmarkCircleFilled = surface(tickInDisc);
export const CheckmarkFilled = lines(tick, 2);
export const ChevronDownRegular = lines(down);
export const ChevronLeftFilled = lines(left, 2);
export const ChevronLeftRegular = lines(left);
export const ChevronRightFilled = lines(right, 2);
export const ChevronRightRegular = lines(right);
export const CircleFilled = surface(disc);
export const DiamondDismiss12Filled = surface(crossInDiamond, 12);
export const DiamondDismissFilled = surface(crossInDiamond);
export const Dismiss20Regular = lines(cross, 1.25, 20);
export const DismissRegular = lines(cross);
export const InfoFilled = surface(markInDisc);
export const Square12Filled = surface(square, 12);
export const Square16Filled = surface(square, 16);
export const Warning12Filled = surface(markInTriangle, 12);
export const WarningFilled = surface(markInTriangle);

/** Fluent hides one and shows the other under the mouse; ours stay as they are. */
export function bundleIcon(_filled: Icon, regular: Icon): Icon {
  return regular;
}
export const iconFilledClassName = "fui-Icon-filled";
export const iconRegularClassName = "fui-Icon-regular";

/** Fluent's badge of presence asks for these, and the portal never shows it. */
function Nothing() {
  return null;
}

export {
  Nothing as PresenceAvailable10Filled,
  Nothing as PresenceAvailable10Regular,
  Nothing as PresenceAvailable12Filled,
  Nothing as PresenceAvailable12Regular,
  Nothing as PresenceAvailable16Filled,
  Nothing as PresenceAvailable16Regular,
  Nothing as PresenceAvailable20Filled,
  Nothing as PresenceAvailable20Regular,
  Nothing as PresenceAway10Filled,
  Nothing as PresenceAway10Regular,
  Nothing as PresenceAway12Filled,
  Nothing as PresenceAway12Regular,
  Nothing as PresenceAway16Filled,
  Nothing as PresenceAway16Regular,
  Nothing as PresenceAway20Filled,
  Nothing as PresenceAway20Regular,
  Nothing as PresenceBlocked10Regular,
  Nothing as PresenceBlocked12Regular,
  Nothing as PresenceBlocked16Regular,
  Nothing as PresenceBlocked20Regular,
  Nothing as PresenceBusy10Filled,
  Nothing as PresenceBusy12Filled,
  Nothing as PresenceBusy16Filled,
  Nothing as PresenceBusy20Filled,
  Nothing as PresenceDnd10Filled,
  Nothing as PresenceDnd10Regular,
  Nothing as PresenceDnd12Filled,
  Nothing as PresenceDnd12Regular,
  Nothing as PresenceDnd16Filled,
  Nothing as PresenceDnd16Regular,
  Nothing as PresenceDnd20Filled,
  Nothing as PresenceDnd20Regular,
  Nothing as PresenceOffline10Regular,
  Nothing as PresenceOffline12Regular,
  Nothing as PresenceOffline16Regular,
  Nothing as PresenceOffline20Regular,
  Nothing as PresenceOof10Regular,
  Nothing as PresenceOof12Regular,
  Nothing as PresenceOof16Regular,
  Nothing as PresenceOof20Regular,
  Nothing as PresenceUnknown10Regular,
  Nothing as PresenceUnknown12Regular,
  Nothing as PresenceUnknown16Regular,
  Nothing as PresenceUnknown20Regular,
};
