import { t } from "../../i18n";
import { useTable } from "../../state/use_request";
import { type DataTableProps, TableCard, type Where } from "../../widgets";
import { type RankLine, rankName } from "./ranks";

/** Tables of one rank as in its files. */
const TABLES = ["calls", "packets", "matrix"] as const;
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
      {TABLES.map((name) => (
        <RecordedTable key={name} name={name} {...props} />
      ))}
    </>
  );
}

function RecordedTable({ name, run, line, where, cell }: Props & { name: (typeof TABLES)[number] }) {
  const query = { run, of: line.state.span };
  const { value: table } = useTable(`distributed.${name}`, { ...query, limit: FIRST });
  if (!table || table.total === 0) return null;
  const isKnown = (key: string) => table.data[key]?.some((value) => value !== null);
  const columns = table.columns.map(({ key }) => key).filter((key) => key !== "kind" && isKnown(key));
  return (
    <TableCard
      title={`${t(`distributed.${name}`)} · ${rankName(line)}`}
      help={t(`distributed.${name}.help`)}
      {...{ table, query, where, columns, cell }}
    />
  );
}
