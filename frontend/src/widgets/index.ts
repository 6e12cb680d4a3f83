/** Widgets for the views. */

export { budgetParts, lateRankName, namedBudgetParts, stepTotal, waitingHelp } from "./budget";
export { Button, TextButton } from "./button";
export { Card } from "./card";
export { ALL_FINDINGS, DiagnosisCard, LedgerCard } from "./diagnosis/card";
export { ExcessCard } from "./diagnosis/excess";
export { Dialog } from "./dialog";
export { Donut, PartBars } from "./donut";
export { type Part, partsCsv } from "./donut_parts";

export { type Fact, Facts } from "./facts";
export { type HeatCell, HeatMap } from "./heat_map";
export { Pages } from "./pages";
export { meaningName } from "./parts";

export { formatPick, type Pick, PickChips, parsePick, pickFilters, pickWhere } from "./pick";
export { Popover } from "./popover";
export { ProblemList } from "./problem_list";
export {
  ControlError,
  JobControl,
  JobList,
  Pace,
  ProgressBar,
} from "./progress";
export { WITHIN } from "./range_chip";
export { RowFacts } from "./row_facts";
export { RunProgress } from "./run_progress";
export { Segments } from "./segments";
export { Select } from "./select";
export { type BarPart, Legend, StackedBar, wholeOf } from "./stacked_bar";
export { Empty, ErrorPanel, MissingList, ProblemBanner } from "./states";
export { SimulatedMark } from "./summaries";
export type { Row, Where } from "./table/columnar";
export { pageColumn, pageTable } from "./table/columns";
export { DataTable, type DataTableProps, TableCard } from "./table/data_table";
export type { Filter } from "./table/no_rows";
export { ViewSource } from "./table/props";
export { Help } from "./tooltip";
export { RowList } from "./use_row_window";
export { Reading, ViewFrame } from "./view_frame";
