// Running and recently ended redrives, with their progress.

import { useEffect, useState } from "react";
import type { RedriveView } from "../../src/core/api/views.ts";
import { apiPath, ask } from "../api.ts";
import { Badge, Button, makeStyles, ProgressBar, tokens } from "../fluent.ts";
import { useSay } from "../frame/toasts.tsx";
import { useLive } from "../live.ts";
import { Card } from "../parts/page.tsx";
import { When } from "../parts/texts.tsx";
import { sayCount, sayMany } from "../words.ts";

const useStyles = makeStyles({
  list: { listStyleType: "none", margin: 0, padding: 0, display: "grid", gap: "12px" },
  head: {
    display: "flex",
    flexWrap: "wrap",
    gap: tokens.spacingHorizontalS,
    alignItems: "center",
    marginBottom: tokens.spacingVerticalXS,
    overflowWrap: "anywhere",
  },
  grow: { flexGrow: 1 },
  quiet: { color: tokens.colorNeutralForeground2 },
});

const colors = {
  dryRun: "informative",
  running: "brand",
  done: "success",
  stopped: "warning",
  failed: "danger",
} as const;

const shownMax = 5;

/** The answer follows a redrive: what came of it is shown when it has ended. */
export function useRedriveEnd(redrives: readonly RedriveView[]): (id: string) => void {
  const say = useSay();
  const live = useLive("redrives");
  const [followed, follow] = useState<string | null>(null);
  const ended = [...live, ...redrives].find(
    ({ id, state }) => id === followed && state !== "running",
  );
  useEffect(() => {
    if (ended === undefined) return;
    const { sent, failed, skipped } = ended;
    const rest = [
      ...(failed > 0 ? [`${sayCount(failed)} failed`] : []),
      ...(skipped > 0 ? [`${sayCount(skipped)} skipped`] : []),
    ].join(", ");
    say.done(`${sayMany(sent, "dead letter")} sent again`, rest === "" ? undefined : rest);
    follow(null);
  }, [ended, say]);
  return follow;
}

export function RedriveList({ redrives }: { readonly redrives: readonly RedriveView[] }) {
  const styles = useStyles();
  const live = useLive("redrives");
  const latest = redrives
    .map((each) => live.find(({ id }) => id === each.id) ?? each)
    .filter(({ state }) => state !== "dryRun");
  if (latest.length === 0) return null;
  return (
    <Card title="Sent again">
      <ul className={styles.list}>
        {latest.slice(0, shownMax).map((redrive) => (
          <li key={redrive.id}>
            <Redrive redrive={redrive} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Redrive({ redrive }: { readonly redrive: RedriveView }) {
  const styles = useStyles();
  const say = useSay();
  const { id, state, total, sent, failed, skipped, to, startedAt, remarks } = redrive;
  const stop = async () => {
    try {
      await ask("DELETE", apiPath(["redrives", id]));
      say.done("Stopped: what has not been sent stays a dead letter");
    } catch (error) {
      say.refused("It could not be stopped", error);
    }
  };
  const resume = async () => {
    try {
      await ask("POST", apiPath(["redrives", id, "resume"]));
      say.done("It goes on with what it has not sent");
    } catch (error) {
      say.refused("It could not be resumed", error);
    }
  };
  const settled = sent + failed + skipped;
  return (
    <>
      <div className={styles.head}>
        <Badge appearance="tint" color={colors[state]}>
          {state}
        </Badge>
        <span className={styles.grow}>
          {sayCount(sent)} of {sayCount(total)} sent to {to}
          {failed > 0 && `, ${sayCount(failed)} failed`}
          {skipped > 0 && `, ${sayCount(skipped)} skipped`}
        </span>
        <span className={styles.quiet}>
          since <When at={startedAt} />
        </span>
        {state === "running" && (
          <Button size="small" onClick={() => void stop()}>
            Stop
          </Button>
        )}
        {(state === "stopped" || state === "failed") && (
          <Button size="small" onClick={() => void resume()}>
            Resume
          </Button>
        )}
      </div>
      <ProgressBar
        aria-label={`Sent again: ${settled} of ${total}`}
        value={settled}
        max={Math.max(1, total)}
        color={failed > 0 ? "error" : state === "done" ? "success" : "brand"}
      />
      {remarks.slice(0, 3).map((words) => (
        <div key={words} className={styles.quiet}>
          {words}
        </div>
      ))}
    </>
  );
}
