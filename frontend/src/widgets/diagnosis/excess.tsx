import { useState } from "preact/hooks";
import type { ExcessJson, KernelExcess } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { TextButton } from "../button";
import { Card } from "../card";
import { Dialog } from "../dialog";
import { message } from "../parts";
import { TableHead } from "../table_head";

/** Kernels that the card shows. */
const MOST = 8;

/** What the ranks that the others wait for compute longer, by kernel type and shapes. */
export function ExcessCard({ excess, class: more = "" }: { excess: ExcessJson | null; class?: string }) {
  const [isOpen, setOpen] = useState(false);
  if (!excess?.kind) return null;
  const { ranks, stage } = excess;
  const who = stage === null ? `rank ${ranks.join(", ")}` : message("verdict.stage", { stage });
  const title = t("diagnosis.excess", { who });
  const kernels = excess.kernels.filter(({ group }) => group === null);
  const unit = format.unitFor(format.TIME_UNITS, excess.ns);
  const all = (
    <TextButton onClick={() => setOpen(true)}>{t("diagnosis.excess.all", { count: kernels.length })}</TextButton>
  );
  const props = { excess, who, unit };
  return (
    <Card
      class={more}
      title={title}
      subtitle={t("diagnosis.excess.sub", { unit: unit.name })}
      {...(kernels.length > MOST ? { actions: all } : {})}
    >
      <Kernels {...props} kernels={kernels.slice(0, MOST)} />
      <Dialog isOpen={isOpen} onClose={() => setOpen(false)} title={title} class="excess">
        {isOpen && <Kernels {...props} kernels={kernels} />}
      </Dialog>
    </Card>
  );
}

interface TableProps {
  excess: ExcessJson;
  kernels: readonly KernelExcess[];
  /** The awaited ranks. */
  who: string;
  unit: format.Unit;
}

/** The kernels, the others, and their sum. */
function Kernels({ excess, kernels, who, unit }: TableProps) {
  const rest = (key: "ns" | "other_ns") => excess[key] - kernels.reduce((sum, one) => sum + one[key], 0);
  const times = (ns: number, other: number) => (
    <>
      <Time ns={ns} unit={unit} />
      <Time ns={other} unit={unit} />
      <td
        class={`mono ${ns > other ? "worse" : ""}`}
      >{`${ns > other ? "+" : ""}${format.inUnit(ns - other, unit)}`}</td>
    </>
  );
  return (
    <table class="ledger excess">
      <TableHead
        cells={[
          [t("diagnosis.excess.type")],
          [t("diagnosis.excess.shapes")],
          [who, "mono"],
          [t("diagnosis.excess.median"), "mono", t("diagnosis.excess.median.tip")],
          [t("diagnosis.excess.difference"), "mono"],
        ]}
      />
      <tbody>
        {kernels.map(({ type, shapes, calls, other_calls: others, ns, other_ns: other }) => (
          <tr
            key={`${type} ${shapes}`}
            data-tip={t("diagnosis.excess.calls", { calls: rounded(calls), others: rounded(others) })}
          >
            <td>{type ?? format.UNKNOWN}</td>
            <td class="muted">{shapes ?? format.UNKNOWN}</td>
            {times(ns, other)}
          </tr>
        ))}
        {(rest("ns") !== 0 || rest("other_ns") !== 0) && (
          <tr>
            <td colSpan={2}>{t("diagnosis.excess.rest")}</td>
            {times(rest("ns"), rest("other_ns"))}
          </tr>
        )}
        <tr class="sum">
          <th scope="row" colSpan={2}>
            {t("diagnosis.excess.sum")}
          </th>
          {times(excess.ns, excess.other_ns)}
        </tr>
      </tbody>
    </table>
  );
}

/** A time; a kernel that does not run is a dash. */
function Time({ ns, unit }: { ns: number; unit: format.Unit }) {
  return (
    <td class="mono" data-tip={ns ? format.exactDuration(ns) : t("diagnosis.excess.none")}>
      {ns ? format.inUnit(ns, unit) : format.UNKNOWN}
    </td>
  );
}

const rounded = (calls: number) => Math.round(calls * 10) / 10;
