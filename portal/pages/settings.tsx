// The settings in force, where each came from, and what it is for.

import { useState } from "react";
import type { Page, SettingView } from "../../src/core/api/views.ts";
import { apiPath, useAsked } from "../api.ts";
import { Badge, Input, Link, makeStyles, tokens } from "../fluent.ts";
import { SearchRegular } from "../icons/drawings.tsx";
import { Answer, Card, Empty, PageHead } from "../parts/page.tsx";
import { Mono } from "../parts/texts.tsx";

const useStyles = makeStyles({
  search: { width: "360px", maxWidth: "100%", marginBottom: tokens.spacingVerticalM },
  list: { listStyleType: "none", margin: 0, padding: 0 },
  setting: {
    display: "grid",
    gridTemplateColumns: "minmax(0, 220px) minmax(0, 240px) 120px minmax(0, 1fr)",
    gap: tokens.spacingHorizontalM,
    padding: `${tokens.spacingVerticalS} 0`,
    borderTop: `1px solid ${tokens.colorNeutralStroke2}`,
    overflowWrap: "anywhere",
    "@media (max-width: 900px)": { gridTemplateColumns: "minmax(0, 1fr)", rowGap: 0 },
  },
  name: { fontWeight: tokens.fontWeightSemibold },
  about: { color: tokens.colorNeutralForeground2 },
});

const sources = {
  option: ["command line", "brand"],
  environment: ["environment", "brand"],
  file: ["file", "brand"],
  default: ["default", "subtle"],
} as const;

/** Settings that were given come before defaults. */
function chosenFirst(one: SettingView, other: SettingView): number {
  return Number(one.source === "default") - Number(other.source === "default");
}

export function SettingsPage() {
  const styles = useStyles();
  const asked = useAsked<Page<SettingView>>(apiPath(["settings"]));
  const [wanted, setWanted] = useState("");
  const matches = ({ name, about }: SettingView) =>
    `${name} ${about}`.toLowerCase().includes(wanted.trim().toLowerCase());
  return (
    <>
      <PageHead
        title="Settings"
        subtitle={
          <>
            The settings in force, and where each came from. Settings are read when the broker
            starts. What this portal does, <Link href="/docs">the API</Link> does, too.
          </>
        }
      />
      <Card>
        <Answer asked={asked} what="its settings">
          {({ value }) => {
            const shown = value.filter(matches).toSorted(chosenFirst);
            return (
              <>
                <Input
                  className={styles.search}
                  data-search
                  aria-label="Search settings"
                  placeholder="Search by name or words"
                  contentBefore={<SearchRegular />}
                  value={wanted}
                  onChange={(_, given) => setWanted(given.value)}
                />
                {shown.length === 0 && <Empty title="No setting matches" />}
                <ul className={styles.list}>
                  {shown.map((setting) => (
                    <Setting key={setting.name} setting={setting} />
                  ))}
                </ul>
              </>
            );
          }}
        </Answer>
      </Card>
    </>
  );
}

/** What stands in backticks is code. */
function Marked({ children }: { readonly children: string }) {
  return (
    children
      .split("`")
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces have no name but their place.
      .map((piece, place) => (place % 2 === 0 ? piece : <Mono key={place}>{piece}</Mono>))
  );
}

function Setting({ setting }: { readonly setting: SettingView }) {
  const styles = useStyles();
  const { name, value, source, about, isSecret } = setting;
  const [words, color] = sources[source];
  return (
    <li className={styles.setting}>
      <span className={styles.name}>{name}</span>
      <span>
        {value === null ? <span className={styles.about}>not set</span> : <Mono>{value}</Mono>}
        {isSecret && value !== null && " (secret)"}
      </span>
      <span>
        <Badge appearance="tint" color={color}>
          {words}
        </Badge>
      </span>
      <span className={styles.about}>
        <Marked>{about}</Marked>
      </span>
    </li>
  );
}
