// Test inboxes: real webhook receivers inside the broker, to send to before there is an endpoint.

import { useMemo, useState } from "react";
import type { FigureSeries, InboxView, Page } from "../../src/core/api/views.ts";
import { apiPath, ask, useAsked } from "../api.ts";
import { sparkKey, useSparks } from "../figures/figures.ts";
import { useRange } from "../figures/range.ts";
import { sparkColumns } from "../figures/sparkline.tsx";
import { FigureStrip } from "../figures/strip.tsx";
import { Button, makeStyles, tokens } from "../fluent.ts";
import { AddRegular } from "../icons/drawings.tsx";
import { answerWords, inboxEndpoint } from "../inbox/inbox.ts";
import { useTick } from "../live.ts";
import { FormDialog } from "../parts/dialogs.tsx";
import { TextField, useOrder } from "../parts/form.tsx";
import { To } from "../parts/link.tsx";
import { Answer, Card, Empty, PageHead } from "../parts/page.tsx";
import { type Column, Rows } from "../parts/table.tsx";
import { Long, When } from "../parts/texts.tsx";
import { go, pathTo } from "../route.ts";
import { sayCount } from "../words.ts";

const useStyles = makeStyles({ quiet: { color: tokens.colorNeutralForeground2 } });

export function InboxesPage() {
  const [isNew, setNew] = useState(false);
  const tick = useTick(["overview", "inbox", "catalog"], 2_000);
  const asked = useAsked<Page<InboxView>>(apiPath(["inboxes"]), tick);
  const create = (
    <Button appearance="primary" icon={<AddRegular />} onClick={() => setNew(true)}>
      Create
    </Button>
  );
  return (
    <>
      <PageHead
        title="Test inboxes"
        subtitle="Endpoints inside the broker that show what they get, and answer as you choose."
        actions={create}
      />
      {(asked.value?.value.length ?? 0) > 0 && <FigureStrip />}
      <Card>
        <Answer asked={asked} what="its test inboxes">
          {({ value }) =>
            value.length === 0 ? (
              <Empty title="No test inbox yet" actions={create}>
                An inbox is a real webhook receiver: handshake, retries and batches are as they will
                be at your own endpoint. Subscribe it to a topic and watch requests arrive.
              </Empty>
            ) : (
              <InboxRows inboxes={value} />
            )
          }
        </Answer>
      </Card>
      {isNew && <NewInbox onClose={() => setNew(false)} />}
    </>
  );
}

function InboxRows({ inboxes }: { readonly inboxes: readonly InboxView[] }) {
  const sparks = useSparks("endpoint", useRange());
  const columns = useMemo(() => columnsWith(sparks), [sparks]);
  return <Rows label="Test inboxes" rows={inboxes} keyOf={({ name }) => name} columns={columns} />;
}

function columnsWith(
  sparks: ReadonlyMap<string, FigureSeries> | null,
): readonly Column<InboxView>[] {
  const own = (inbox: InboxView) =>
    sparks?.get(sparkKey({ topic: null, domainTopic: null, name: inboxEndpoint(inbox) }));
  return [
    {
      title: "Name",
      show: ({ name }) => (
        <To to={pathTo(["inboxes", name])}>
          <Long>{name}</Long>
        </To>
      ),
    },
    { title: "Answers", width: "190px", show: ({ answer }) => answerWords(answer) },
    {
      title: "Subscribed to",
      isWideOnly: true,
      show: ({ subscriptions }) => <Subscribed subscriptions={subscriptions} />,
    },
    {
      title: "Last request",
      width: "140px",
      isWideOnly: true,
      show: ({ lastAt }) => <When at={lastAt} />,
    },
    ...sparkColumns(own),
    {
      title: "Requests",
      width: "90px",
      align: "right",
      show: ({ received }) => sayCount(received),
    },
  ];
}

function Subscribed({ subscriptions }: Pick<InboxView, "subscriptions">) {
  const styles = useStyles();
  if (subscriptions.length === 0) return <span className={styles.quiet}>nothing yet</span>;
  return <Long>{subscriptions.map(({ topic, name }) => `${topic} / ${name}`).join(", ")}</Long>;
}

function NewInbox({ onClose }: { readonly onClose: () => void }) {
  const { refused, run } = useOrder();
  const [name, setName] = useState("test");
  const create = () =>
    void run(async () => {
      const made = await ask<InboxView>("POST", apiPath(["inboxes"]), { name: name.trim() });
      go(pathTo(["inboxes", made.name]));
    });
  return (
    <FormDialog
      title="New test inbox"
      isOpen
      onClose={onClose}
      refused={refused}
      submitWords="Create"
      onSubmit={create}
    >
      <TextField label="Name" path="name" isRequired value={name} onChange={setName} />
    </FormDialog>
  );
}
