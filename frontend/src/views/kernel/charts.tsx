import type { KernelJson, TableJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { param, setParams } from "../../state/params";
import { Card, Donut, formatPick, PartBars, parsePick, partsCsv, Select } from "../../widgets";
import { communicationCores, coreParts, kernelParts } from "./parts";

interface Props {
  data: KernelJson;
  /** Null if the profiler only wrote sums by type. */
  statistic: TableJson | null;
  types: TableJson;
}

const TOPS = [3, 4, 5, 6, 7];
const TOP = 6;
/** Number of bars; a ring cannot show that many parts. */
const BARS = 20;

/** Two donuts: kernels by name or type, and cores. A click on a part filters the table below. */
export function KernelCharts({ data, statistic, types }: Props) {
  const isIncluded = param("kernel.comm") === "1" && data.communication_ns !== null;
  const key = statistic === null || param("kernel.by") === "type" ? "type" : "name";
  const isBars = param("kernel.chart") === "bars";
  const top = Number(param("kernel.top")) || TOP;
  const pick = parsePick(param("kernel.pick"));
  const table = key === "name" && statistic !== null ? statistic : types;
  const { parts, unlisted } = kernelParts(table, key, {
    computingNs: data.computing_ns,
    communication: isIncluded ? { label: t("kernel.comm.label"), ns: data.communication_ns ?? 0 } : null,
    cores: communicationCores(data.cores),
    unknown: t("core.unknown"),
  });
  const count = data.kernels - (isIncluded ? 0 : (data.communication_calls ?? 0));
  const hasCores = data.cores.some((core) => core.core !== null && !core.communication);
  const cores = hasCores ? coreParts(data.cores, isIncluded, t("core.unknown")) : [];
  const selectedOf = (column: string) => (pick?.column === column ? pick.value : null);
  const onSelect = (column: string) => (id: string | null) =>
    setParams({ "kernel.pick": formatPick(column, id), "kernel.core": null, "kernel.group": null });
  const isGpu = data.device_kind === "GPU";
  return (
    <>
      <Card
        class="span-6"
        title={t(`kernel.by.${key}`)}
        help={t("kernel.by.help")}
        actions={<ByAndTop by={key} top={top} canName={statistic !== null} isBars={isBars} />}
        chart={{ name: `kernels-by-${key}`, csv: () => partsCsv(key, parts, unlisted) }}
      >
        {isBars ? (
          <PartBars parts={parts} unlisted={unlisted} most={BARS} selected={selectedOf(key)} onSelect={onSelect(key)} />
        ) : (
          <Donut
            parts={parts}
            unlisted={unlisted}
            most={top}
            under={t("kernel.count", { count: format.integer(count) })}
            selected={selectedOf(key)}
            onSelect={onSelect(key)}
          />
        )}
      </Card>
      <Card
        class="span-6"
        title={t(isGpu ? "kernel.activity" : "kernel.core")}
        help={t(isGpu ? "kernel.activity.help" : "kernel.core.help")}
        actions={<CommunicationChoice data={data} isIncluded={isIncluded} />}
        chart={{ name: "kernels-by-core", csv: () => partsCsv("core", cores) }}
      >
        <Donut
          parts={cores}
          none={t("kernel.core.none")}
          under={t(isIncluded ? "kernel.all.under" : isGpu ? "kernel.computing.gpu" : "kernel.computing")}
          selected={selectedOf("core")}
          onSelect={onSelect("core")}
        />
      </Card>
    </>
  );
}

interface ChoiceProps {
  by: "name" | "type";
  top: number;
  canName: boolean;
  isBars: boolean;
}

function ByAndTop({ by, top, canName, isBars }: ChoiceProps) {
  return (
    <>
      {canName && (
        <Select
          label={t("kernel.by")}
          class="plain"
          options={(["name", "type"] as const).map((id) => ({ id, label: t(`kernel.by.${id}.option`) }))}
          value={by}
          onChange={(id) =>
            setParams({
              "kernel.by": id === "name" ? null : id,
              "kernel.pick": null,
              "kernel.core": null,
              "kernel.group": null,
            })
          }
        />
      )}
      <Select
        label={t("kernel.top.label")}
        class="plain"
        options={[
          ...TOPS.map((count) => ({ id: String(count), label: t("kernel.top", { count }) })),
          { id: "bars", label: t("kernel.bars", { count: BARS }) },
        ]}
        value={isBars ? "bars" : String(top)}
        onChange={(id) =>
          setParams({
            "kernel.chart": id === "bars" ? id : null,
            "kernel.top": id === "bars" || id === String(TOP) ? null : id,
          })
        }
      />
    </>
  );
}

function CommunicationChoice({ data, isIncluded }: { data: KernelJson; isIncluded: boolean }) {
  if (data.communication_ns === null) return <span class="muted">{t("kernel.comm.unknown")}</span>;
  if (data.communication_calls === 0) return <span class="muted">{t("kernel.comm.none")}</span>;
  const time = format.duration(data.communication_ns, 2);
  return (
    <Select
      label={t("kernel.comm.label")}
      class="plain"
      options={[
        { id: "apart", label: t("kernel.comm.apart", { time }) },
        { id: "included", label: t("kernel.comm.included", { time }) },
      ]}
      value={isIncluded ? "included" : "apart"}
      onChange={(id) => setParams({ "kernel.comm": id === "included" ? "1" : null })}
    />
  );
}
