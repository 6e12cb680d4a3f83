/** Chooses the ranks that are shown as strips. */

import { toggled } from "../../../base/search";
import { t } from "../../../i18n";
import { Button, PagedItems, Select, TextButton } from "../../../widgets";
import type { TraceSession } from "../session";
import { Menu } from "../slice_list";
import { type RankSet, rankSets } from "./choice";
import type { RanksState } from "./ranks_state";
import { useRanks } from "./use_ranks";

export function RanksMenu({ session }: { session: TraceSession }) {
  const { all, shown } = session.ranks;
  if (all.value.length < 2 && session.ranks.others().length === 0) return null;
  const label = t("trace.ranks.count", { count: shown.value.length, total: all.value.length });
  return (
    <Menu text={label} class={shown.value.length > 0 ? "chosen on" : ""}>
      {() => <Choice session={session} />}
    </Menu>
  );
}

function Choice({ session }: { session: TraceSession }) {
  const { ranks } = session;
  useRanks(session);
  const data = ranks.data.value;
  const shown = new Set(ranks.shown.value.map(({ span }) => span));
  return (
    <div class="trace-menu">
      <p class="muted small">{t("trace.ranks.about")}</p>
      <div class="row">
        <TextButton onClick={() => ranks.show(ranks.all.value.map(({ span }) => span))}>
          {t("trace.ranks.all")}
        </TextButton>
        <TextButton onClick={() => ranks.show([])}>{t("trace.ranks.none")}</TextButton>
      </div>
      {data && (
        <PagedItems items={rankSets(data)}>
          {(set) => (
            <SetRow key={set.kind + set.name} set={set} choose={() => ranks.show(ranks.withPairs(set.spans))} />
          )}
        </PagedItems>
      )}
      <PagedItems items={ranks.all.value}>
        {({ span, name }) => (
          <label key={span} class="option">
            <input type="checkbox" checked={shown.has(span)} onChange={() => ranks.show(toggled(shown, span))} />
            <span class="ellipsis">{ranks.isOther(span) ? t("trace.versus.rank", { name }) : name}</span>
          </label>
        )}
      </PagedItems>
      <OtherRuns ranks={ranks} />
    </div>
  );
}

function SetRow({ set, choose }: { set: RankSet; choose: () => void }) {
  const { kind, name, title } = set;
  const text = t(`trace.ranks.set.${kind}`, { name: title ? `${title} (${name.slice(-6)})` : name });
  return (
    <Button look="option" tip={name} onClick={choose}>
      <span class="ellipsis grow">{text}</span>
      <span class="muted small">{t("trace.ranks.members", { count: set.spans.length })}</span>
    </Button>
  );
}

/** Chooses the run whose ranks stand below those of the open one. */
function OtherRuns({ ranks }: { ranks: RanksState }) {
  const runs = ranks.others();
  if (runs.length === 0) return null;
  const chosen = ranks.otherRun.value?.id ?? "";
  return (
    <Select
      label={t("trace.versus")}
      value={chosen}
      prefix
      options={[{ id: "", label: t("trace.versus.none") }, ...runs.map(({ id, label }) => ({ id, label }))]}
      onChange={(run) => ranks.compare(run)}
    />
  );
}
