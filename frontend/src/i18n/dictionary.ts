import * as dataPipeline from "../views/data_pipeline/terms";
import * as diff from "../views/diff/terms";
import * as distributed from "../views/distributed/terms";
import * as trajectory from "../views/distributed/trajectory_terms";
import * as doctor from "../views/doctor/terms";
import * as idle from "../views/idle/terms";
import * as kernel from "../views/kernel/terms";
import * as memory from "../views/memory/terms";
import * as operator from "../views/operator/terms";
import * as overview from "../views/overview/terms";
import * as stepTrace from "../views/step_trace/terms";
import * as trace from "../views/trace/terms";
import * as core from "./core";
import * as diagnosis from "./diagnosis";
import * as progress from "./progress";
import * as table from "./table";

/** All texts of the interface. Each view keeps its texts in its own folder. */
export const EN = {
  ...core.en,
  ...diagnosis.en,
  ...progress.en,
  ...table.en,
  ...overview.en,
  ...trace.en,
  ...stepTrace.en,
  ...idle.en,
  ...kernel.en,
  ...operator.en,
  ...memory.en,
  ...distributed.en,
  ...trajectory.en,
  ...diff.en,
  ...dataPipeline.en,
  ...doctor.en,
};

export type Key = keyof typeof EN;

export const ZH: Record<Key, string> = {
  ...core.zh,
  ...diagnosis.zh,
  ...progress.zh,
  ...table.zh,
  ...overview.zh,
  ...trace.zh,
  ...stepTrace.zh,
  ...idle.zh,
  ...kernel.zh,
  ...operator.zh,
  ...memory.zh,
  ...distributed.zh,
  ...trajectory.zh,
  ...diff.zh,
  ...dataPipeline.zh,
  ...doctor.zh,
};
