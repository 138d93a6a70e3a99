// The frame around every page: the bar at the top, the navigation at the side (on a phone in a
// menu), and notices about the whole broker.

import type { ReactNode } from "react";
import {
  Badge,
  Button,
  Menu,
  MenuItemLink,
  MenuItemRadio,
  MenuList,
  MenuPopover,
  MenuTrigger,
  makeStyles,
  mergeClasses,
  Tooltip,
  tokens,
} from "../fluent.ts";
import horn from "../horn.svg";
import { DarkThemeRegular, NavigationRegular, SignOutRegular } from "../icons/drawings.tsx";
import { useLive } from "../live.ts";
import { follow } from "../parts/link.tsx";
import { Note } from "../parts/page.tsx";
import { usePlace } from "../route.ts";
import { ClockControl } from "./clock.tsx";
import type { Look } from "./look.ts";
import { type Way, ways } from "./navigation.tsx";

const barHeight = "48px";

const useStyles = makeStyles({
  frame: {
    minHeight: "100vh",
    backgroundColor: tokens.colorNeutralBackground2,
    color: tokens.colorNeutralForeground1,
  },
  skip: {
    position: "absolute",
    left: "-9999px",
    ":focus": {
      left: "8px",
      top: "8px",
      zIndex: 10,
      padding: "8px",
      backgroundColor: tokens.colorNeutralBackground1,
    },
  },
  bar: {
    position: "sticky",
    top: 0,
    zIndex: 3,
    height: barHeight,
    boxSizing: "border-box",
    display: "flex",
    alignItems: "center",
    gap: tokens.spacingHorizontalS,
    padding: `0 ${tokens.spacingHorizontalM}`,
    backgroundColor: tokens.colorNeutralBackground1,
    borderBottom: `1px solid ${tokens.colorNeutralStroke2}`,
  },
  home: {
    display: "flex",
    alignItems: "center",
    gap: tokens.spacingHorizontalS,
    color: tokens.colorNeutralForeground1,
    textDecorationLine: "none",
    fontSize: tokens.fontSizeBase400,
    fontWeight: tokens.fontWeightSemibold,
  },
  mark: { width: "24px", height: "24px" },
  grow: { flexGrow: 1 },
  phoneOnly: { display: "none", "@media (max-width: 800px)": { display: "inline-flex" } },
  version: {
    color: tokens.colorNeutralForeground2,
    fontWeight: tokens.fontWeightRegular,
    fontSize: tokens.fontSizeBase200,
    "@media (max-width: 800px)": { display: "none" },
  },
  body: { display: "flex", alignItems: "flex-start" },
  side: {
    position: "sticky",
    top: barHeight,
    width: "208px",
    flexShrink: 0,
    padding: tokens.spacingHorizontalS,
    boxSizing: "border-box",
    "@media (max-width: 800px)": { display: "none" },
  },
  list: { listStyleType: "none", margin: 0, padding: 0 },
  way: {
    display: "flex",
    alignItems: "center",
    gap: tokens.spacingHorizontalM,
    padding: `${tokens.spacingVerticalSNudge} ${tokens.spacingHorizontalM}`,
    borderRadius: tokens.borderRadiusMedium,
    color: tokens.colorNeutralForeground2,
    textDecorationLine: "none",
    fontSize: tokens.fontSizeBase300,
    ":hover": {
      backgroundColor: tokens.colorSubtleBackgroundHover,
      color: tokens.colorNeutralForeground1,
    },
    ":focus-visible": {
      outline: `2px solid ${tokens.colorStrokeFocus2}`,
    },
  },
  here: {
    backgroundColor: tokens.colorSubtleBackgroundSelected,
    color: tokens.colorNeutralForeground1,
    fontWeight: tokens.fontWeightSemibold,
  },
  icon: { display: "inline-flex", fontSize: "20px" },
  main: {
    flexGrow: 1,
    minWidth: 0,
    boxSizing: "border-box",
    maxWidth: "1480px",
    padding: `${tokens.spacingVerticalXL} ${tokens.spacingHorizontalXL}`,
    "@media (max-width: 800px)": {
      padding: `${tokens.spacingVerticalL} ${tokens.spacingHorizontalM}`,
    },
  },
});

export function Frame({
  look,
  choose,
  children,
}: {
  readonly look: Look;
  readonly choose: (look: Look) => void;
  readonly children: ReactNode;
}) {
  const styles = useStyles();
  const { overview, connection, refused } = useLive();
  return (
    <div className={styles.frame}>
      <a href="#main" className={styles.skip}>
        Skip to content
      </a>
      <header className={styles.bar}>
        <PhoneMenu />
        <a href="/" className={styles.home} onClick={(event) => follow(event, "/")}>
          <img src={horn} alt="" className={styles.mark} />
          Posthorn
          {overview !== null && <span className={styles.version}>{overview.version}</span>}
        </a>
        <span className={styles.grow} />
        {connection === "lost" && (
          <Tooltip
            content="No live updates: the page polls every few seconds."
            relationship="description"
          >
            <Badge appearance="tint" color="warning">
              not live
            </Badge>
          </Tooltip>
        )}
        {overview?.clock === "virtual" && <ClockControl overview={overview} />}
        <LookMenu look={look} choose={choose} />
        <form method="post" action="/signout">
          <Tooltip content="Sign out" relationship="label">
            <Button type="submit" appearance="subtle" icon={<SignOutRegular />} />
          </Tooltip>
        </form>
      </header>
      <div className={styles.body}>
        <nav className={styles.side} aria-label="Pages">
          <ul className={styles.list}>
            {ways.map((way) => (
              <li key={way.to}>
                <SideWay way={way} />
              </li>
            ))}
          </ul>
        </nav>
        <main id="main" className={styles.main}>
          {refused !== null && (
            <Note intent="warning" title="What you see may be out of date.">
              {refused.message}
            </Note>
          )}
          {(overview?.whyNotReady ?? null) !== null && (
            <Note intent="error" title="Publishes are refused">
              {overview?.whyNotReady}
            </Note>
          )}
          {children}
        </main>
      </div>
    </div>
  );
}

function useIsHere(): (way: Way) => boolean {
  const { path } = usePlace();
  const isSubscription = /^\/portal\/topics\/[^/]+\/subscriptions\//.test(path);
  const where = isSubscription ? "/portal/subscriptions" : path === "/portal" ? "/" : path;
  return ({ to }) => (to === "/" ? where === "/" : where.startsWith(to));
}

function SideWay({ way }: { readonly way: Way }) {
  const styles = useStyles();
  const isHere = useIsHere()(way);
  return (
    <a
      href={way.to}
      aria-current={isHere ? "page" : undefined}
      className={mergeClasses(styles.way, isHere && styles.here)}
      onClick={(event) => follow(event, way.to)}
    >
      <span className={styles.icon} aria-hidden="true">
        {way.icon}
      </span>
      {way.title}
    </a>
  );
}

function PhoneMenu() {
  const styles = useStyles();
  const isHere = useIsHere();
  return (
    <Menu>
      <MenuTrigger disableButtonEnhancement>
        <Button
          className={styles.phoneOnly}
          appearance="subtle"
          icon={<NavigationRegular />}
          aria-label="Pages"
        />
      </MenuTrigger>
      <MenuPopover>
        <MenuList>
          {ways.map((way) => (
            <MenuItemLink
              key={way.to}
              href={way.to}
              icon={<span className={styles.icon}>{way.icon}</span>}
              aria-current={isHere(way) ? "page" : undefined}
              onClick={(event) => follow(event, way.to)}
            >
              {way.title}
            </MenuItemLink>
          ))}
        </MenuList>
      </MenuPopover>
    </Menu>
  );
}

function LookMenu({
  look,
  choose,
}: {
  readonly look: Look;
  readonly choose: (look: Look) => void;
}) {
  return (
    <Menu
      checkedValues={{ look: [look] }}
      onCheckedValueChange={(_, { checkedItems }) => choose((checkedItems[0] ?? "system") as Look)}
    >
      <MenuTrigger disableButtonEnhancement>
        <Button appearance="subtle" icon={<DarkThemeRegular />} aria-label="Light or dark" />
      </MenuTrigger>
      <MenuPopover>
        <MenuList>
          <MenuItemRadio name="look" value="system">
            Like the system
          </MenuItemRadio>
          <MenuItemRadio name="look" value="light">
            Light
          </MenuItemRadio>
          <MenuItemRadio name="look" value="dark">
            Dark
          </MenuItemRadio>
        </MenuList>
      </MenuPopover>
    </Menu>
  );
}
