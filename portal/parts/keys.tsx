// The keys of a topic, shown on demand, and how to publish with them from elsewhere.

import { useState } from "react";
import type { TopicView } from "../../src/core/api/views.ts";
import { asRefused, type Refused } from "../api.ts";
import { type Keys, listKeys, renewKey } from "../arm.ts";
import { Button, makeStyles, Switch, Tab, TabList, tokens } from "../fluent.ts";
import { useSay } from "../frame/toasts.tsx";
import { EyeRegular } from "../icons/drawings.tsx";
import { snippetsOf } from "../snippets.ts";
import { Confirm } from "./dialogs.tsx";
import { Card, Refusal } from "./page.tsx";
import { Code, CopyButton, Mono } from "./texts.tsx";

const useStyles = makeStyles({
  key: {
    display: "flex",
    flexWrap: "wrap",
    alignItems: "center",
    gap: tokens.spacingHorizontalS,
    marginBottom: tokens.spacingVerticalXS,
    overflowWrap: "anywhere",
  },
  name: { minWidth: "40px", color: tokens.colorNeutralForeground2 },
  tabs: { flexWrap: "wrap", marginBottom: tokens.spacingVerticalS },
});

const keyNames = ["key1", "key2"] as const;

export function KeysCard({ topic }: { readonly topic: TopicView }) {
  const styles = useStyles();
  const say = useSay();
  const [keys, setKeys] = useState<Keys | null>(null);
  const [refused, setRefused] = useState<Refused | null>(null);
  const [renewed, setRenewed] = useState<keyof Keys | null>(null);
  const show = () => {
    setRefused(null);
    listKeys(topic.armId).then(setKeys, (error) => setRefused(asRefused(error)));
  };
  return (
    <>
      <Card title="Keys">
        {refused !== null && <Refusal refused={refused} />}
        {keyNames.map((name) => (
          <div key={name} className={styles.key}>
            <span className={styles.name}>{name}</span>
            <Mono>{keys?.[name] ?? "••••••••••••••••••••"}</Mono>
            {keys !== null && <CopyButton text={keys[name]} what={name} />}
            <Button size="small" onClick={() => setRenewed(name)}>
              Regenerate
            </Button>
          </div>
        ))}
        {keys === null ? (
          <Button icon={<EyeRegular />} onClick={show}>
            Show the keys
          </Button>
        ) : (
          <Button onClick={() => setKeys(null)}>Hide them</Button>
        )}
      </Card>
      <Snippets topic={topic} keys={keys} onWanted={show} />
      <Confirm
        title={`Regenerate ${renewed}?`}
        isOpen={renewed !== null}
        words="Regenerate it"
        onClose={() => setRenewed(null)}
        onYes={async () => {
          if (renewed === null) return;
          setKeys(await renewKey(topic.armId, renewed));
          say.done(`${renewed} has been regenerated`);
        }}
      >
        <p>Publishers that use the current {renewed} are refused from then on.</p>
      </Confirm>
    </>
  );
}

function Snippets({
  topic,
  keys,
  onWanted,
}: {
  readonly topic: TopicView;
  readonly keys: Keys | null;
  readonly onWanted: () => void;
}) {
  const styles = useStyles();
  const [shown, setShown] = useState("curl");
  const [isWithKey, setWithKey] = useState(false);
  const snippets = snippetsOf(topic, isWithKey ? (keys?.key1 ?? null) : null);
  const snippet = snippets.find(({ title }) => title === shown);
  return (
    <Card
      title="Publish from elsewhere"
      actions={
        <Switch
          label="Insert key1"
          checked={isWithKey}
          onChange={(_, { checked }) => {
            setWithKey(checked);
            if (checked && keys === null) onWanted();
          }}
        />
      }
    >
      <TabList
        size="small"
        className={styles.tabs}
        selectedValue={shown}
        onTabSelect={(_, { value }) => setShown(String(value))}
      >
        {snippets.map(({ title }) => (
          <Tab key={title} value={title}>
            {title}
          </Tab>
        ))}
      </TabList>
      {snippet !== undefined && <Code text={snippet.text} what={`the ${snippet.title} snippet`} />}
    </Card>
  );
}
