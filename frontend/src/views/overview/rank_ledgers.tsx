import type { DiagnosisJson, LedgerJson, RankStateJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { type Key, t, tOf } from "../../i18n";
import { setParams } from "../../state/params";
import { Button, Card, Cut, Legend, Pages, StackedBar } from "../../widgets";
import {
  barParts,
  chosenLedger,
  isHatched,
  ledgerKey,
  ledgersOf,
  type NamedLedger,
  spanOfLedger,
  splitRows,
} from "../../widgets/diagnosis/ledger";
import { message, partColor } from "../../widgets/parts";

/** Ranks of a page; more are sorted by their losses, after the rank of the sentence. */
const MOST = 16;

/** The mean step of every rank, on one scale. A click chooses the rank and its ledger. */
export function RankLedgers({ data, class: more = "" }: { data: DiagnosisJson; class?: string }) {
  const { ranks } = data;
  const ledgers = ledgersOf(data);
  const chosen = chosenLedger(data);
  const isMany = ledgers.length > MOST;
  const order = (one: LedgerJson) => (one.worker === data.ledger?.worker ? Number.POSITIVE_INFINITY : lossOf(one));
  const shown = isMany ? [...ledgers].sort((a, b) => order(b) - order(a)) : ledgers;
  const longest = Math.max(...ledgers.map(({ window_ns: window }) => window));
  const unit = format.unitFor(format.TIME_UNITS, longest);
  const without = ranks.filter(({ worker }) => !ledgers.some((one) => one.worker === worker));
  const [unread, others] = [true, false].map((is) => without.filter(({ state }) => (state === "reading") === is));
  return (
    <Card
      class={more}
      title={tOf(data.period, "diagnosis.ranks")}
      help={t("diagnosis.ranks.help")}
      subtitle={[unit.name, isMany && t("diagnosis.ranks.losses"), t("diagnosis.ranks.sub")].filter(Boolean).join(", ")}
    >
      <Pages items={shown} most={MOST}>
        {(page) => (
          <div class="rank-ledgers">
            {page.map((one) => (
              <Button
                key={ledgerKey(one)}
                look="bar-row"
                pressed={chosen !== null && ledgerKey(one) === ledgerKey(chosen)}
                onClick={() => choose(one)}
              >
                <Cut class="link">{one.name}</Cut>
                <StackedBar parts={barParts(splitRows(one)[0], unit)} whole={longest} />
                <span class="mono">{format.inUnit(one.window_ns, unit)}</span>
              </Button>
            ))}
          </div>
        )}
      </Pages>
      <Legend parts={legendOf(ledgers)} />
      <Names title="diagnosis.ranks.unread" ranks={unread} />
      <Names title="diagnosis.ranks.without" ranks={others} />
    </Card>
  );
}

/** The ranks that have no bar. */
function Names({ title, ranks = [] }: { title: Key; ranks: readonly RankStateJson[] | undefined }) {
  if (ranks.length === 0) return null;
  const names = ranks.slice(0, MOST).map(({ worker }) => worker);
  const more = ranks.length > MOST ? [`… (${ranks.length})`] : [];
  return <p class="small muted">{t(title, { ranks: [...names, ...more].join(", ") })}</p>;
}

/** All time but computing, ns. */
function lossOf({ entries, before_ns: before }: LedgerJson): number {
  return entries.reduce((sum, { entry, ns }) => sum + (entry === "computing" ? 0 : ns), before);
}

function legendOf(ledgers: readonly LedgerJson[]) {
  const kinds = new Map(ledgers.flatMap(({ entries }) => entries.map(({ entry }) => [entry, entry])));
  return [...kinds.keys()].map((kind) => ({
    id: kind,
    label: message(`part.ledger.${kind}`),
    value: null,
    color: partColor("ledger", kind),
    isHatched: isHatched({ kind, part: kind }),
  }));
}

/** Shows the ledger of a rank, and its span in the other views. */
function choose(ledger: NamedLedger): void {
  setParams({ ...spanOfLedger(ledger), "overview.ledger": ledgerKey(ledger) }, true);
}
