import { addStyle } from "../../base/style";
import type { ViewModule } from "../view";
import css from "./step_trace.css?inline";
import { StepTraceView } from "./view";

addStyle(css);

export const view: ViewModule = { Component: StepTraceView };
