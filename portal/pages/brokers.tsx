// The brokers of the cluster: where each is, what it owns, how busy it is, and whether it keeps up.

import type { BrokerView, Page } from "../../src/core/api/views.ts";
import { apiPath, useAsked } from "../api.ts";
import { FigureStrip } from "../figures/strip.tsx";
import { makeStyles, tokens } from "../fluent.ts";
import { useTick } from "../live.ts";
import { Answer, Card, PageHead } from "../parts/page.tsx";
import { type Column, Rows } from "../parts/table.tsx";
import { Long, When } from "../parts/texts.tsx";
import { sayAge, sayCount, sayRate } from "../words.ts";

const useStyles = makeStyles({ quiet: { color: tokens.colorNeutralForeground2 } });

const slotCount = 256;

export function BrokersPage() {
  const tick = useTick(["overview"], 2_000);
  const asked = useAsked<Page<BrokerView>>(apiPath(["brokers"]), tick);
  return (
    <>
      <PageHead
        title="Brokers"
        subtitle="All that work on the same database. Each sends to its share of the endpoints."
      />
      <FigureStrip />
      <Card>
        <Answer asked={asked} what="its brokers">
          {({ value }) => (
            <Rows label="Brokers" rows={value} keyOf={({ id }) => id} columns={columns} />
          )}
        </Answer>
      </Card>
    </>
  );
}

const columns: readonly Column<BrokerView>[] = [
  { title: "Broker", show: (broker) => <Name {...broker} /> },
  { title: "Version", width: "60px", isExtra: true, show: ({ version }) => version },
  {
    title: "Since",
    width: "100px",
    isExtra: true,
    show: ({ startedAt }) => <When at={startedAt} />,
  },
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

function Name({ id, host, http, https, isSelf }: BrokerView) {
  const styles = useStyles();
  return (
    <>
      <Long>{http ?? https ?? host}</Long>
      <div className={styles.quiet}>
        <Long>{isSelf ? `${host} (this one)` : `${host}, ${id}`}</Long>
      </div>
    </>
  );
}
