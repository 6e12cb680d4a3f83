import type { DistributedJson, Link } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { param, setParams } from "../../state/params";
import { Card, Empty, HeatMap, Segments, Select } from "../../widgets";
import {
  canJoinGroups,
  cellRoom,
  FIGURES,
  type Figure,
  groupsOf,
  groupTitle,
  type LinkCell,
  linksCsv,
  matrixOf,
  transportsOf,
} from "./links";

interface Props {
  data: DistributedJson;
  /** Links of the chosen step. */
  links: readonly Link[];
}

/** Traffic between every two ranks; traffic within a rank is listed separately. */
export function LinkMatrix({ data, links }: Props) {
  const figure = FIGURES.find((id) => id === param("d.figure")) ?? "bandwidth";
  const groups = groupsOf(links);
  const isJoined = groups.length < 2 || canJoinGroups(links);
  const group = groups.includes(param("d.group")) ? param("d.group") : isJoined ? "" : (groups[0] ?? "");
  const opType = data.op_types.includes(param("d.op")) ? param("d.op") : "";
  const matrix = matrixOf(links, group, opType);
  const room = cellRoom(matrix.columns.length);
  const scale = scaleOf(figure, matrix.cells, room);
  const cells = matrix.cells.map((cell) => {
    return { row: String(cell.src), column: String(cell.dst), value: scale.value(cell), tip: tipOf(cell) };
  });
  const subtitle = `${t(`distributed.figure.${figure}`)}${scale.unit ? `, ${scale.unit}` : ""}`;
  return (
    <Card
      title={t("distributed.links")}
      subtitle={subtitle}
      help={t("distributed.links.help")}
      class={room === "full" ? "span-6" : ""}
      chart={{ name: "links", csv: () => linksCsv(matrix.cells) }}
    >
      <Tools
        opTypes={data.op_types}
        groups={groups}
        nameOf={(id) => groupTitle(data.groups, id)}
        isJoined={isJoined}
        figure={figure}
        opType={opType}
        group={group}
      />
      {matrix.cells.length === 0 ? (
        <Empty text={t("distributed.none.links")} />
      ) : (
        <div class={`dist-matrix ${room}`}>
          <HeatMap
            label={subtitle}
            rows={matrix.rows.map((rank) => ({ id: String(rank), label: `rank ${rank}` }))}
            columns={matrix.columns.map((rank) => ({ id: String(rank), label: String(rank) }))}
            cells={cells}
            text={scale.text}
            isSmall={room === "spot"}
          />
        </div>
      )}
      {matrix.isGroupRank && matrix.cells.length > 0 && <p class="muted small">{t("distributed.links.groupRanks")}</p>}
      {matrix.local.length > 0 && <LocalLinks cells={matrix.local} />}
    </Card>
  );
}

interface ToolsProps {
  opTypes: readonly string[];
  groups: readonly string[];
  nameOf: (group: string) => string;
  /** True if one matrix can hold the links of all groups. */
  isJoined: boolean;
  figure: Figure;
  opType: string;
  group: string;
}

function Tools({ opTypes, groups, nameOf, isJoined, figure, opType, group }: ToolsProps) {
  return (
    <div class="row" style={{ marginBottom: "8px" }}>
      <Segments
        label={t("distributed.links")}
        options={FIGURES.map((id) => ({ id, label: t(`distributed.figure.${id}`) }))}
        value={figure}
        onChange={(id) => setParams({ "d.figure": id === "bandwidth" ? null : id })}
      />
      {opTypes.length > 1 && (
        <Select
          prefix
          label={t("distributed.op")}
          options={[{ id: "", label: t("step.all") }, ...opTypes.map((id) => ({ id, label: id }))]}
          value={opType}
          onChange={(id) => setParams({ "d.op": id })}
        />
      )}
      {groups.length > 1 && (
        <Select
          prefix
          label={t("distributed.group")}
          options={[
            ...(isJoined ? [{ id: "", label: t("step.all") }] : []),
            ...groups.map((id) => ({ id, label: nameOf(id) || format.UNKNOWN })),
          ]}
          value={group}
          onChange={(id) => setParams({ "d.group": id })}
        />
      )}
    </div>
  );
}

/** The chosen figure of a link, as number for the colour and as text in the cell. */
interface CellScale {
  unit: string;
  value: (cell: LinkCell) => number | null;
  text: (value: number) => string;
}

function scaleOf(figure: Figure, cells: readonly LinkCell[], room: ReturnType<typeof cellRoom>): CellScale {
  if (figure === "transport") {
    const names = transportsOf(cells);
    const name = (value: number) => names[value] ?? "";
    return { unit: "", value: (cell) => names.indexOf(cell.transports[0] ?? ""), text: name };
  }
  const units = {
    bandwidth: [{ name: "GB/s", scale: 1 }],
    size_bytes: format.TRAFFIC_UNITS,
    time_ns: format.TIME_UNITS,
  };
  const unit = format.columnUnit(
    units[figure],
    cells.map((cell) => cell[figure]),
  );
  return {
    unit: unit.name,
    value: (cell) => cell[figure],
    text: (value) => format.fixedDecimals(value / unit.scale, room === "narrow" ? 0 : 1),
  };
}

/** All figures of a link with every digit. */
function tipOf(cell: LinkCell): string {
  return [
    `rank ${cell.src} → rank ${cell.dst}`,
    `${t("distributed.figure.transport")}: ${cell.transports.join(", ") || format.UNKNOWN}`,
    `${t("distributed.figure.size_bytes")}: ${format.traffic(cell.size_bytes)} (${format.exactBytes(cell.size_bytes)})`,
    `${t("distributed.figure.time_ns")}: ${format.duration(cell.time_ns)} (${format.exactDuration(cell.time_ns)})`,
    `${t("distributed.figure.bandwidth")}: ${cell.bandwidth === null ? format.UNKNOWN : `${format.decimal(cell.bandwidth, 6)} GB/s`}`,
  ].join("\n");
}

/** Beyond this number of figures, only their range is shown. */
const LOCAL_MOST = 8;

/** LOCAL: copies within a device. They use no link, and their bandwidth would dominate the colour scale. */
function LocalLinks({ cells }: { cells: readonly LinkCell[] }) {
  const lines = cells.map(({ src, bandwidth }) => `rank ${src}: ${format.bandwidth(bandwidth)}`);
  const speeds = cells.map((cell) => cell.bandwidth).filter((value) => value !== null);
  return (
    <div class="dist-local">
      <span class="muted" data-tip={t("distributed.local.help")}>
        {t("distributed.local")}
      </span>
      {cells.length > LOCAL_MOST ? (
        <span class="mono" data-tip={lines.join("\n")}>
          {speeds.length === 0
            ? format.UNKNOWN
            : `${format.bandwidth(Math.min(...speeds))} … ${format.bandwidth(Math.max(...speeds))}`}
        </span>
      ) : (
        cells.map((cell) => (
          <span key={cell.src} data-tip={tipOf(cell)}>
            rank {cell.src} <span class="mono">{format.bandwidth(cell.bandwidth)}</span>
          </span>
        ))
      )}
    </div>
  );
}
