// The frame around every page: the bar at the top, the navigation at the side (on a phone in a
// menu), and notices about the whole broker.

import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import {
  Badge,
  Button,
  Menu,
  MenuItemLink,
  MenuList,
  MenuPopover,
  MenuTrigger,
  makeStyles,
  mergeClasses,
  Tooltip,
  tokens,
} from "../fluent.ts";
import horn from "../horn.svg";
import { NavigationRegular, SearchRegular, SignOutRegular } from "../icons/drawings.tsx";
import { useLive } from "../live.ts";
import { follow } from "../parts/link.tsx";
import { Note } from "../parts/page.tsx";
import { usePlace } from "../route.ts";
import { ClockControl } from "./clock.tsx";
import type { Look } from "./look.ts";
import { LookMenu, ZoneMenu } from "./menus.tsx";
import { type Way, ways } from "./navigation.tsx";

const loadPalette = () => import("./palette.tsx");
const Palette = lazy(async () => ({ default: (await loadPalette()).Palette }));

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
    "@media (max-width: 480px)": { columnGap: 0, padding: `0 ${tokens.spacingHorizontalXS}` },
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
  // It stays for screen readers.
  word: {
    "@media (max-width: 480px)": {
      position: "absolute",
      width: "1px",
      overflow: "hidden",
      clipPath: "inset(50%)",
    },
  },
  mark: { width: "24px", height: "24px" },
  grow: { flexGrow: 1 },
  find: {
    justifyContent: "flex-start",
    width: "min(380px, 34vw)",
    fontWeight: tokens.fontWeightRegular,
    color: tokens.colorNeutralForeground2,
    backgroundColor: tokens.colorNeutralBackground3,
    "@media (max-width: 800px)": { display: "none" },
  },
  keys: {
    marginLeft: "auto",
    fontFamily: "inherit",
    fontSize: tokens.fontSizeBase100,
    padding: "1px 5px",
    borderRadius: tokens.borderRadiusSmall,
    border: `1px solid ${tokens.colorNeutralStroke1}`,
  },
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
    // As wide on every page: the one in bold is wider than the others.
    width: "228px",
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
    whiteSpace: "nowrap",
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
  const overview = useLive("overview");
  const connection = useLive("connection");
  const refused = useLive("refused");
  const [isFinding, setFinding] = useState(false);
  const begun = useRef("");
  useKeys(() => setFinding(true));
  const endFinding = () => {
    begun.current = "";
    setFinding(false);
  };
  return (
    <div className={styles.frame}>
      <a href="#main" className={styles.skip}>
        Skip to content
      </a>
      <header className={styles.bar}>
        <PhoneMenu />
        <a href="/" className={styles.home} onClick={(event) => follow(event, "/")}>
          <img src={horn} alt="" className={styles.mark} />
          <span className={styles.word}>Posthorn</span>
          {overview !== null && <span className={styles.version}>{overview.version}</span>}
        </a>
        <span className={styles.grow} />
        <Button
          className={styles.find}
          icon={<SearchRegular />}
          aria-keyshortcuts="Control+K"
          onClick={() => setFinding(true)}
        >
          Go to or search
          <kbd className={styles.keys}>Ctrl K</kbd>
        </Button>
        <span className={styles.grow} />
        <Button
          className={styles.phoneOnly}
          appearance="subtle"
          icon={<SearchRegular />}
          aria-label="Go to or search"
          onClick={() => setFinding(true)}
        />
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
        <ZoneMenu />
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
      {isFinding && (
        <Suspense
          fallback={
            <input
              className={styles.skip}
              aria-label="Go to or search"
              ref={(box) => box?.focus()}
              onChange={({ target }) => {
                begun.current = target.value;
              }}
            />
          }
        >
          <Palette begun={begun} onClose={endFinding} />
        </Suspense>
      )}
    </div>
  );
}

/** Ctrl-K goes anywhere; `/` searches on this page, or anywhere if it has nothing to search. */
function useKeys(find: () => void): void {
  useEffect(() => {
    const listener = (event: KeyboardEvent) => {
      // It is on its way while the second key is, so that nothing typed after it is lost.
      if (event.key === "Control" || event.key === "Meta") void loadPalette();
      const isCommand = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k";
      const isSlash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey;
      if (!isCommand && (!isSlash || isTyping(event.target))) return;
      if (document.querySelector("[role=dialog]") !== null) return;
      event.preventDefault();
      const box = document.querySelector<HTMLInputElement>("main input[data-search]");
      if (isCommand || box === null) return find();
      box.focus();
      box.select();
    };
    window.addEventListener("keydown", listener);
    return () => window.removeEventListener("keydown", listener);
  });
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select") !== null;
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
