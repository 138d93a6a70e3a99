// The list of topics and domains, and creating one.

import { useMemo } from "react";
import type { FigureSeries, Page, TopicView } from "../../src/core/api/views.ts";
import { apiPath, useAsked } from "../api.ts";
import type { PageProps } from "../app.tsx";
import { sparkKey, useSparks } from "../figures/figures.ts";
import { useRange } from "../figures/range.ts";
import { sparkColumns } from "../figures/sparkline.tsx";
import { FigureStrip } from "../figures/strip.tsx";
import { Badge, Button } from "../fluent.ts";
import { NewTopic } from "../forms/topic.tsx";
import { AddRegular } from "../icons/drawings.tsx";
import { useTick } from "../live.ts";
import { To } from "../parts/link.tsx";
import { Answer, Card, Empty, PageHead } from "../parts/page.tsx";
import { Sought } from "../parts/sought.tsx";
import { type Column, Rows } from "../parts/table.tsx";
import { Long } from "../parts/texts.tsx";
import { go, topicPath } from "../route.ts";
import { kindWords, saySchema, sayShort } from "../words.ts";

export function TopicsPage({ query }: PageProps) {
  const tick = useTick(["catalog", "overview"], 2_000);
  const asked = useAsked<Page<TopicView>>(apiPath(["topics"]), tick);
  const isNew = query.has("new");
  const create = (
    <Button
      appearance="primary"
      icon={<AddRegular />}
      onClick={() => go("/portal/topics?new=topic")}
    >
      Create
    </Button>
  );
  return (
    <>
      <PageHead
        title="Topics and domains"
        subtitle="Where events are published to. A domain is many topics behind one address."
        actions={create}
      />
      {(asked.value?.value.length ?? 0) > 0 && <FigureStrip />}
      <Card>
        <Answer asked={asked} what="its topics">
          {({ value }) =>
            value.length === 0 ? (
              <Empty title="No topic yet" actions={create}>
                A topic has an address to publish to, and two keys. Create one, subscribe an
                endpoint, and publish a test event: all of it takes a minute.
              </Empty>
            ) : (
              <Sought rows={value} by="name" textOf={nameOf}>
                {(found) => <TopicRows topics={found} />}
              </Sought>
            )
          }
        </Answer>
      </Card>
      {isNew && (
        <NewTopic
          kind={query.get("new") === "domain" ? "domain" : "topic"}
          onClose={() => go("/portal/topics", { replace: true })}
        />
      )}
    </>
  );
}

function nameOf({ name }: TopicView): string {
  return name;
}

function TopicRows({ topics }: { readonly topics: readonly TopicView[] }) {
  const sparks = useSparks("topic", useRange());
  const columns = useMemo(() => columnsWith(sparks), [sparks]);
  return (
    <Rows label="Topics and domains" rows={topics} keyOf={({ name }) => name} columns={columns} />
  );
}

function columnsWith(
  sparks: ReadonlyMap<string, FigureSeries> | null,
): readonly Column<TopicView>[] {
  const own = ({ name }: TopicView) =>
    sparks?.get(sparkKey({ topic: null, domainTopic: null, name }));
  return [
    {
      title: "Name",
      show: ({ name }) => (
        <To to={topicPath(name)}>
          <Long>{name}</Long>
        </To>
      ),
    },
    {
      title: "Kind",
      width: "140px",
      isWideOnly: true,
      show: ({ kind }) => <Badge appearance="outline">{kindWords[kind]}</Badge>,
    },
    {
      title: "Takes",
      width: "150px",
      isExtra: true,
      show: ({ inputSchema }) => <Long>{saySchema(inputSchema)}</Long>,
    },
    {
      title: "Profile",
      width: "95px",
      isExtra: true,
      show: ({ profile }) => <Long>{profile}</Long>,
    },
    ...sparkColumns(own),
    {
      title: "Subscriptions",
      width: "105px",
      align: "right",
      show: ({ subscriptions }) => sayShort(subscriptions),
    },
    {
      title: "Waiting",
      width: "80px",
      align: "right",
      show: ({ waiting }) => sayShort(waiting),
    },
  ];
}
