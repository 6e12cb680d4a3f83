/** The parts of ECharts that are used. Loaded on demand: the biggest piece of the bundle. */
import { LineChart } from "echarts/charts";
import { GridComponent, MarkLineComponent } from "echarts/components";
import { init, use } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";

use([LineChart, GridComponent, MarkLineComponent, CanvasRenderer]);

export { init };
