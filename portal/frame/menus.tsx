// The menus at the end of the bar: in which zone times are shown, and light or dark.

import {
  Button,
  Menu,
  MenuItemRadio,
  MenuList,
  MenuPopover,
  MenuTrigger,
  makeStyles,
  tokens,
} from "../fluent.ts";
import { DarkThemeRegular, GlobeRegular } from "../icons/drawings.tsx";
import { useNow } from "../live.ts";
import { chooseZone, offsetWords, useZone, type Zone } from "../zone.ts";
import type { Look } from "./look.ts";

const useStyles = makeStyles({
  zone: {
    fontVariantNumeric: "tabular-nums",
    fontWeight: tokens.fontWeightRegular,
    whiteSpace: "nowrap",
    minWidth: "auto",
  },
  words: { "@media (max-width: 480px)": { display: "none" } },
});

export function ZoneMenu() {
  const styles = useStyles();
  const zone = useZone();
  const now = useNow(60_000);
  const words = offsetWords(zone, now);
  return (
    <Menu
      checkedValues={{ zone: [zone] }}
      onCheckedValueChange={(_, { checkedItems }) =>
        chooseZone((checkedItems[0] ?? "local") as Zone)
      }
    >
      <MenuTrigger disableButtonEnhancement>
        <Button
          appearance="subtle"
          className={styles.zone}
          icon={<GlobeRegular />}
          aria-label={`Times are in ${zone === "utc" ? "UTC" : `local time, ${words}`}`}
        >
          <span className={styles.words}>
            {zone === "utc" || words === "UTC" ? "UTC" : words.replace(":00", "")}
          </span>
        </Button>
      </MenuTrigger>
      <MenuPopover>
        <MenuList>
          <MenuItemRadio name="zone" value="local">
            {`Local time (${offsetWords("local", now)})`}
          </MenuItemRadio>
          <MenuItemRadio name="zone" value="utc">
            UTC
          </MenuItemRadio>
        </MenuList>
      </MenuPopover>
    </Menu>
  );
}

export function LookMenu({
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
