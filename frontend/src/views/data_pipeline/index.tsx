import { addStyle } from "../../base/style";
import type { ViewModule } from "../view";
import css from "./data_pipeline.css?inline";
import { DataPipelineView } from "./view";

addStyle(css);

export const view: ViewModule = { Component: DataPipelineView };
