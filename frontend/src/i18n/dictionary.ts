import dataPipeline from "../views/data_pipeline/terms.json";
import diff from "../views/diff/terms.json";
import distributed from "../views/distributed/terms.json";
import doctor from "../views/doctor/terms.json";
import idle from "../views/idle/terms.json";
import kernel from "../views/kernel/terms.json";
import memory from "../views/memory/terms.json";
import operator from "../views/operator/terms.json";
import overview from "../views/overview/terms.json";
import stepTrace from "../views/step_trace/terms.json";
import trace from "../views/trace/terms.json";
import core from "./core.json";
import diagnosis from "./diagnosis.json";
import kernelRanks from "./kernel_ranks.json";
import progress from "./progress.json";
import table from "./table.json";

/** All texts of the page, in both languages. Each view keeps its own in its folder. Terms of the field stay as vendors write them. */
export const TEXTS = {
  ...core,
  ...diagnosis,
  ...kernelRanks,
  ...progress,
  ...table,
  ...overview,
  ...trace,
  ...stepTrace,
  ...idle,
  ...kernel,
  ...operator,
  ...memory,
  ...distributed,
  ...diff,
  ...dataPipeline,
  ...doctor,
};

export type Key = keyof typeof TEXTS;
