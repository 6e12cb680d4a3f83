import type { ViewId, ViewModule } from "./view";

/** Views in the order of the sidebar; a view's code is loaded when it is first shown. */
export const VIEWS: readonly { id: ViewId; load: () => Promise<ViewModule> }[] = [
  { id: "overview", load: () => import("./overview").then((module) => module.view) },
  { id: "trace", load: () => import("./trace").then((module) => module.view) },
  { id: "kernel", load: () => import("./kernel").then((module) => module.view) },
  { id: "operator", load: () => import("./operator").then((module) => module.view) },
  { id: "memory", load: () => import("./memory").then((module) => module.view) },
  { id: "distributed", load: () => import("./distributed").then((module) => module.view) },
  { id: "diff", load: () => import("./diff").then((module) => module.view) },
];
