// The handshake with an endpoint: its state, every exchange, and repeating it.

import type { HandshakeView } from "../../src/core/api/views.ts";
import { ask, subscriptionApi, useAsked } from "../api.ts";
import { Button, makeStyles, tokens } from "../fluent.ts";
import { useSay } from "../frame/toasts.tsx";
import { ArrowClockwiseRegular } from "../icons/drawings.tsx";
import { useOrder } from "../parts/form.tsx";
import { Answer, Card, Empty, Note, Refusal } from "../parts/page.tsx";
import { Code, Facts, When } from "../parts/texts.tsx";
import type { SubscriptionName } from "../route.ts";

const useStyles = makeStyles({
  exchange: { marginBottom: tokens.spacingVerticalL },
  verdict: { fontWeight: tokens.fontWeightSemibold, marginBottom: tokens.spacingVerticalXS },
  label: { color: tokens.colorNeutralForeground2, fontSize: tokens.fontSizeBase200 },
});

export function HandshakeCard({
  named,
  tick,
}: {
  readonly named: SubscriptionName;
  readonly tick: number;
}) {
  const styles = useStyles();
  const say = useSay();
  const { refused, run } = useOrder();
  const asked = useAsked<HandshakeView>(subscriptionApi(named, "handshake"), tick);
  const again = () =>
    void run(async () => {
      await ask("POST", subscriptionApi(named, "validate"), {});
      say.done("The endpoint has been asked again");
      asked.again();
    });
  return (
    <Card
      title="Handshake"
      actions={
        <Button icon={<ArrowClockwiseRegular />} onClick={again}>
          Ask again
        </Button>
      }
    >
      {refused !== null && <Refusal refused={refused} />}
      <Answer asked={asked} what="the handshake">
        {({ state, until, validationUrl, exchanges }) => (
          <>
            {validationUrl !== null && (
              <Note intent="warning" title="It waits for manual validation.">
                To confirm the endpoint, open this address:
                <Code text={validationUrl} what="the validation URL" wraps />
              </Note>
            )}
            <Facts
              facts={[
                ["State", state],
                ...(until === null
                  ? []
                  : [["Answer awaited until", <When key="until" at={until} />] as const]),
              ]}
            />
            <br />
            {exchanges.length === 0 && (
              <Empty title="No handshake was needed">
                Azure resources need none, and no endpoint does while the setting handshake is off.
              </Empty>
            )}
            {exchanges.toReversed().map(({ at, request, answer, verdict }) => (
              <div key={at + verdict} className={styles.exchange}>
                <div className={styles.verdict}>
                  <When at={at} /> {verdict}
                </div>
                <div className={styles.label}>asked</div>
                <Code text={request} what="the request" wraps />
                <div className={styles.label}>answered</div>
                <Code text={answer} what="the answer" wraps />
              </div>
            ))}
          </>
        )}
      </Answer>
    </Card>
  );
}
