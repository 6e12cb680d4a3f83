/** Widgets for the views. */

export { budgetParts, lateRankName, namedBudgetParts, stepTotal, waitingHelp } from "./budget";
export { Button, TextButton } from "./button";
export { Card } from "./card";
export { ALL_FINDINGS, DiagnosisCard, LedgerCard } from "./diagnosis/card";
export { ExcessCard } from "./diagnosis/excess";
export { Dialog } from "./dialog";
export { Donut, type Part, PartBars, partsCsv } from "./donut";

export { type Fact, Facts } from "./facts";
export { HeatMap } from "./heat_map";
export { KernelRanks } from "./kernel_ranks";
export { PagedItems, Pages } from "./pages";
export { meaningName } from "./parts";
export { Popover } from "./popover";
export { ProblemList } from "./problem_list";
export {
  ControlError,
  JobControl,
  JobList,
  Pace,
  ProgressBar,
  RunProgress,
} from "./progress";
export { RowFacts } from "./row_facts";
export { Segments } from "./segments";
export { Select } from "./select";
export { SimulatedMark } from "./skipped";
export { type BarPart, Legend, StackedBar, wholeOf } from "./stacked_bar";
export { Empty, ErrorPanel, MissingList, ProblemBanner } from "./states";
export type { Row, Where } from "./table/columnar";
export { type PageColumn, pageColumn, pageTable } from "./table/columns";
export { DataTable, type DataTableProps, TableCard } from "./table/data_table";
export type { Filter } from "./table/filters";
export { formatPick, type Pick, PickChips, parsePick, pickFilters, pickWhere } from "./table/filters";
export type { Unfold } from "./table/props";
export { ViewSource } from "./table/props";
export { TableHead } from "./table_head";
export { Cut, Time } from "./text";
export { Help } from "./tooltip";
export { RowList } from "./use_row_window";
export { type Answered, Reading, spanView, ViewFrame } from "./view_frame";
