import type { ViewId } from "../api/types.gen";
import type { ViewModule } from "./view";

/** The code of each view, loaded when it is first shown. */
export const VIEWS: Readonly<Record<ViewId, () => Promise<ViewModule>>> = {
  overview: () => import("./overview").then((module) => module.view),
  trace: () => import("./trace").then((module) => module.view),
  step_trace: () => import("./step_trace").then((module) => module.view),
  idle: () => import("./idle").then((module) => module.view),
  kernel: () => import("./kernel").then((module) => module.view),
  operator: () => import("./operator").then((module) => module.view),
  memory: () => import("./memory").then((module) => module.view),
  distributed: () => import("./distributed").then((module) => module.view),
  diff: () => import("./diff").then((module) => module.view),
  data_pipeline: () => import("./data_pipeline").then((module) => module.view),
  doctor: () => import("./doctor").then((module) => module.view),
};

/** Views whose first request is `{ span }`. */
export const VIEWS_OF_SPAN: ReadonlySet<ViewId> = new Set(["overview", "trace", "doctor", "data_pipeline"]);
