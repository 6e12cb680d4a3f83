import type { ComponentChildren } from "preact";
import type { CaptureJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { type Key, t, textAt, textOf } from "../../i18n";
import { place } from "../../state/selection";
import { Card, type Fact, Facts, Pages } from "../../widgets";

/** The capture settings of this span. `hasFiles`: lists its files (the Doctor has its own list). */
export function CaptureCard({ capture, hasFiles = true }: { capture: CaptureJson; hasFiles?: boolean }) {
  const { host, pid } = capture;
  const profiled = place.value?.run.workers.length ?? 1;
  const facts: Fact[] = [
    [t("overview.producer"), textOf(capture, "producer")],
    [t("overview.device"), deviceText(capture)],
    [t("overview.rank"), rankText(capture, profiled)],
    [t("overview.level"), [capture.level, capture.aic_metrics].filter(Boolean).join(", ")],
    [t("overview.recorded"), [...(capture.activities ?? []), ...capture.recorded].join(", ")],
    [t("overview.not_recorded"), capture.not_recorded.join(", ")],
    [t("overview.schedule"), scheduleText(capture.schedule)],
    [t("overview.window"), windowText(capture.window)],
    [t("overview.jit_level"), capture.jit_level ?? ""],
    [t("overview.versions"), versionText(capture)],
    [
      t("overview.start"),
      capture.start_ns === null ? "" : format.dateAndTime(capture.start_ns, capture.utc_offset_minutes),
    ],
    [t("overview.duration"), capture.duration_ns === null ? "" : format.duration(capture.duration_ns)],
    [t("overview.host"), [host, pid !== null && t("overview.pid", { pid })].filter(Boolean).join(", ")],
    [t("overview.databases"), databaseText(capture)],
  ];
  return (
    <Card title={t("overview.capture")}>
      {capture.simulated && <p class="banner">{t("simulated.tip")}</p>}
      <Facts facts={facts.filter(([, value]) => value !== "")} />
      <Folded title="overview.environment" items={Object.entries(capture.environment)}>
        {(shown) => <Facts class="mono folded" facts={shown.map(settingOf)} />}
      </Folded>
      <Folded title="overview.metadata" items={Object.entries(capture.metadata)}>
        {(shown) => <Facts class="mono folded" facts={shown.map(settingOf)} />}
      </Folded>
      <Folded title="overview.files" items={hasFiles ? capture.files : []}>
        {(shown) => <ul class="mono folded">{shown.map(listItem)}</ul>}
      </Folded>
    </Card>
  );
}

interface FoldedProps<T> {
  title: Key;
  items: readonly T[];
  children: (shown: readonly T[]) => ComponentChildren;
}

function Folded<T>({ title, items, children }: FoldedProps<T>) {
  if (items.length === 0) return null;
  return (
    <details>
      <summary class="muted">{t(title, { count: items.length })}</summary>
      <Pages items={items}>{children}</Pages>
    </details>
  );
}

const listItem = (file: string) => <li key={file}>{file}</li>;

const settingOf = ([name, value]: [string, unknown]): Fact => [
  name,
  typeof value === "string" ? value : JSON.stringify(value),
];

function deviceText({ device, device_ids: ids, device_kind: kind }: CaptureJson): string {
  const numbers = ids.length > 0 ? `${kind} ${ids.join(", ")}` : "";
  return [device, numbers].filter(Boolean).join(", ");
}

function rankText({ rank, rank_source: source, world_size: world }: CaptureJson, profiled: number): ComponentChildren {
  if (rank === null) return "";
  // Ranks in the links, and ranks of the run, are lower bounds of the world size.
  const text = world === null ? String(rank) : t("overview.rank.of", { rank, world: Math.max(world, profiled) });
  const count = profiled > 1 || world !== null ? ` (${t("overview.rank.profiled", { count: profiled })})` : "";
  return <span data-tip={source ? t("overview.rank.source", { source }) : undefined}>{text + count}</span>;
}

function scheduleText(schedule: CaptureJson["schedule"]): string {
  return Object.entries(schedule ?? {})
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}

function windowText(window: CaptureJson["window"]): ComponentChildren {
  if (window === null) return "";
  const text = window.stop === null ? String(window.start) : `${window.start}\u2013${window.stop}`;
  return <span data-tip={t("overview.window.tip")}>{text}</span>;
}

function versionText({ versions }: CaptureJson): ComponentChildren {
  const known = Object.entries(versions).map(([program, version]) => `${program} ${version}`);
  return known.length > 0 ? known.join(", ") : <span class="muted">{t("overview.versions.unknown")}</span>;
}

function databaseText({ databases }: CaptureJson): ComponentChildren {
  if (databases.length === 0) return "";
  return databases.map((one) => (
    <div key={one.file}>
      <span class="mono">{one.file}</span>: {one.tables.map((_, at) => textAt(one, "tables", at)).join(", ")}
    </div>
  ));
}
