import { t } from "../../i18n";
import { useTable } from "../../state/use_request";
import { type DataTableProps, TableCard, type Where } from "../../widgets";
import { type RankLine, rankName } from "./ranks";

/** Tables of one rank as in its files, and their columns. */
const TABLES = {
  calls: [
    "step",
    "name",
    "group",
    "start_ns",
    "elapse_ns",
    "transit_ns",
    "wait_ns",
    "wait_ratio",
    "sync_ns",
    "sync_ratio",
    "idle_ns",
  ],
  packets: ["step", "name", "group", "transport", "packet_bytes", "count", "time_ns"],
  matrix: [
    "step",
    "op_type",
    "stat",
    "op_name",
    "group",
    "src",
    "dst",
    "transport",
    "size_bytes",
    "time_ns",
    "bandwidth",
  ],
} as const;
/** Rows of the first request. */
const FIRST = 200;

interface Props {
  run: string;
  line: RankLine;
  where: readonly Where[];
  cell: NonNullable<DataTableProps["cell"]>;
}

/** Single operators, packets and links of one rank, as recorded. */
export function Recorded(props: Props) {
  return (
    <>
      {(Object.keys(TABLES) as (keyof typeof TABLES)[]).map((name) => (
        <RecordedTable key={name} name={name} {...props} />
      ))}
    </>
  );
}

function RecordedTable({ name, run, line, where, cell }: Props & { name: keyof typeof TABLES }) {
  const query = { run, of: line.state.span };
  const { value: table } = useTable(`distributed.${name}`, { ...query, limit: FIRST });
  if (!table || table.total === 0) return null;
  const columns = TABLES[name].filter((key) => table.data[key]?.some((value) => value !== null));
  return (
    <TableCard
      title={`${t(`distributed.${name}`)} · ${rankName(line)}`}
      help={t(`distributed.${name}.help`)}
      {...{ table, query, where, columns, cell }}
    />
  );
}
