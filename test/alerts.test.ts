// What we give to those who watch: alert rules and a dashboard. Prometheus' own tool checks them,
// and every metric they speak of is one that a real broker tells.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startProgram } from "./fixtures/program.ts";
import { promtool } from "./fixtures/promtool.ts";

const deploy = join(import.meta.dirname, "../deploy");
const rules = join(deploy, "prometheus/posthorn.rules.yml");

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly targets?: readonly { readonly expr: string }[];
}

const dashboard = JSON.parse(readFileSync(join(deploy, "grafana/posthorn.json"), "utf8")) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly query: unknown }[] };
};

const panels = dashboard.panels.filter(({ type }) => type !== "row");
const expressions = panels.flatMap(({ targets }) => targets ?? []).map(({ expr }) => expr);

test("promtool takes the alert rules and the configuration", async () => {
  for (const args of [
    ["check", "rules", rules],
    ["check", "config", join(deploy, "prometheus/prometheus.yml")],
  ]) {
    const { isFine, said } = await promtool(args);
    assert.ok(isFine, said);
  }
});

test("alerts are raised for what they are about, and for nothing else", async () => {
  const { isFine, said } = await promtool([
    "test",
    "rules",
    join(deploy, "prometheus/posthorn.test.yml"),
  ]);
  assert.ok(isFine, said);
});

test("every expression of the dashboard is one to Prometheus", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-alerts-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const filled = expressions.map((expr) =>
    expr.replaceAll("$__rate_interval", "1m").replaceAll(/\$\w+/g, ".*"),
  );
  const file = join(folder, "rules.json");
  const asRules = filled.map((expr, index) => ({ record: `panel:${index}`, expr }));
  writeFileSync(file, JSON.stringify({ groups: [{ name: "dashboard", rules: asRules }] }));
  const { isFine, said } = await promtool(["check", "rules", file]);
  assert.ok(isFine, said);
  assert.ok(expressions.length > 20);
});

test("every panel says what it shows, and none covers another", () => {
  for (const { title, description, targets } of panels) {
    assert.ok(title && description && targets?.length, title);
  }
  const places = dashboard.panels.map(({ gridPos }) => gridPos);
  for (const [index, one] of places.entries()) {
    assert.ok(one.x + one.w <= 24, `panel ${index}`);
    for (const other of places.slice(0, index)) {
      const isApart =
        one.x + one.w <= other.x ||
        other.x + other.w <= one.x ||
        one.y + one.h <= other.y ||
        other.y + other.h <= one.y;
      assert.ok(isApart, `panel ${index}`);
    }
  }
});

test("every metric of the dashboard and the rules is one that a broker tells", async (t) => {
  const program = await startProgram(["--store", "memory", "--auth", "off"]);
  t.after(() => program.end("SIGKILL"));
  const page = await (await fetch(`${program.url}/metrics`)).text();
  const told = new Set<string>();
  for (const [, name = "", kind] of page.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    const isSpread = kind === "histogram" || kind === "summary";
    const endings = isSpread
      ? ["_sum", "_count", ...(kind === "histogram" ? ["_bucket"] : [])]
      : [""];
    for (const ending of endings) told.add(name + ending);
  }
  const text = [
    readFileSync(rules, "utf8"),
    ...expressions,
    JSON.stringify(dashboard.templating.list),
  ].join("\n");
  const used = new Set(text.match(/\b(?:posthorn|eventgrid|process|nodejs)_[a-z0-9_]+\b/g));
  assert.ok(used.size > 20);
  assert.deepEqual(
    [...used].filter((name) => !told.has(name)),
    [],
  );
});
