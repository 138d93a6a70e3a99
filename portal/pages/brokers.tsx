// The brokers of the cluster: where each is, what it owns, how busy it is and was, and whether it
// keeps up.

import { useMemo } from "react";
import type { BrokerView, FigureSeries, Page } from "../../src/core/api/views.ts";
import { apiPath, useAsked } from "../api.ts";
import type { PageProps } from "../app.tsx";
import { sparkKey, useSparks } from "../figures/figures.ts";
import { useRange } from "../figures/range.ts";
import { sparkColumns } from "../figures/sparkline.tsx";
import { FigureStrip } from "../figures/strip.tsx";
import { Button, makeStyles, tokens } from "../fluent.ts";
import { useTick } from "../live.ts";
import { To } from "../parts/link.tsx";
import { Answer, Card, PageHead } from "../parts/page.tsx";
import { type Column, Rows } from "../parts/table.tsx";
import { Long, When } from "../parts/texts.tsx";
import { go, pathTo } from "../route.ts";
import { sayAge, sayCount, sayRate } from "../words.ts";

const useStyles = makeStyles({ quiet: { color: tokens.colorNeutralForeground2 } });

const slotCount = 256;

export function BrokersPage({ query }: PageProps) {
  const tick = useTick(["overview"], 2_000);
  const asked = useAsked<Page<BrokerView>>(apiPath(["brokers"]), tick);
  const wanted = query.get("broker");
  const chosen = asked.value?.value.find(({ id }) => id === wanted);
  return (
    <>
      <PageHead
        title="Brokers"
        subtitle="All that work on the same database. Each sends to its share of the endpoints."
        actions={
          wanted !== null && <Button onClick={() => go(pathTo(["brokers"]))}>All brokers</Button>
        }
      />
      {wanted === null ? (
        <FigureStrip />
      ) : (
        // Also when it is gone: its figures are kept as long as all others.
        <FigureStrip
          scope={{ kind: "member", name: wanted }}
          title={chosen === undefined ? `${wanted}, which does not run` : addressOf(chosen)}
        />
      )}
      <Card>
        <Answer asked={asked} what="its brokers">
          {({ value }) => <BrokerRows brokers={value} />}
        </Answer>
      </Card>
    </>
  );
}

function BrokerRows({ brokers }: { readonly brokers: readonly BrokerView[] }) {
  const sparks = useSparks("member", useRange());
  const columns = useMemo(() => columnsWith(sparks), [sparks]);
  return <Rows label="Brokers" rows={brokers} keyOf={({ id }) => id} columns={columns} />;
}

function columnsWith(
  sparks: ReadonlyMap<string, FigureSeries> | null,
): readonly Column<BrokerView>[] {
  const own = ({ id }: BrokerView) =>
    sparks?.get(sparkKey({ topic: null, domainTopic: null, name: id }));
  return [
    { title: "Broker", show: (broker) => <Name {...broker} /> },
    { title: "Version", width: "60px", isExtra: true, show: ({ version }) => version },
    {
      title: "Since",
      width: "100px",
      isExtra: true,
      show: ({ startedAt }) => <When at={startedAt} />,
    },
    ...sparkColumns(own),
    {
      title: "Share",
      width: "50px",
      align: "right",
      show: ({ slots }) => `${Math.round((slots * 100) / slotCount)} %`,
    },
    {
      title: "Endpoints",
      width: "80px",
      align: "right",
      show: ({ endpoints }) => sayCount(endpoints),
    },
    { title: "Waiting", width: "60px", align: "right", show: ({ waiting }) => sayCount(waiting) },
    {
      title: "Delivers",
      width: "75px",
      align: "right",
      show: ({ rates }) => `${sayRate(rates.delivered)}/s`,
    },
    {
      title: "Accepts",
      width: "75px",
      align: "right",
      isWideOnly: true,
      show: ({ rates }) => `${sayRate(rates.published)}/s`,
    },
    {
      title: "Overdue",
      width: "85px",
      align: "right",
      show: ({ overdueMs }) => (overdueMs === 0 ? "–" : sayAge(overdueMs)),
    },
  ];
}

function addressOf({ http, https, host }: BrokerView): string {
  return http ?? https ?? host;
}

function Name(broker: BrokerView) {
  const styles = useStyles();
  const { id, host, isSelf } = broker;
  return (
    <>
      <To to={pathTo(["brokers"], { broker: id })}>
        <Long>{addressOf(broker)}</Long>
      </To>
      <div className={styles.quiet}>
        <Long>{isSelf ? `${host} (this one)` : `${host}, ${id}`}</Long>
      </div>
    </>
  );
}
