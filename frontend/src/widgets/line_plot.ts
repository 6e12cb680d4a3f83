import type { ECharts } from "echarts/core";
import * as format from "../base/format";
import { axisUnit, type Series, tickStep } from "./line_series";

export type AxisKind = "duration" | "bytes" | "float";

/** A chart and the element it stands in, whose CSS variables give the colours. */
export interface Plot {
  chart: ECharts;
  element: HTMLElement;
}

/** Draw lines and axes. ECharts knows nothing of hover and zoom: those are ours, exact at any point. */
export function draw(
  { chart, element }: Plot,
  series: readonly Series[],
  yKind: AxisKind,
  [from, to]: readonly [number, number],
  marker: { x: number; label: string } | null,
): void {
  const style = getComputedStyle(element);
  const color = (value: string) => {
    const name = value.match(/^var\((--[\w-]+)\)$/)?.[1];
    return name ? style.getPropertyValue(name).trim() : value;
  };
  let largest = 0;
  for (const line of series) for (const value of line.y) if (value !== null && value > largest) largest = value;
  const xUnit = axisUnit("duration", Math.max(Math.abs(from), Math.abs(to)));
  const yUnit = axisUnit(yKind, largest);
  const text = { color: color("var(--muted)"), fontFamily: style.fontFamily, fontSize: 11 };
  const lines = { lineStyle: { color: color("var(--line)") } };
  const yStep = tickStep(largest, yUnit, 4, yKind);
  chart.setOption(
    {
      animation: false,
      grid: { left: 8, right: 16, top: 12, bottom: 4, containLabel: true },
      xAxis: {
        type: "value",
        min: from,
        max: to > from ? to : from + 1,
        interval: tickStep(to - from, xUnit, 8, "duration"),
        axisLabel: {
          ...text,
          hideOverlap: true,
          showMinLabel: false,
          showMaxLabel: false,
          formatter: (x: number) => axisText(x, xUnit),
        },
        axisLine: lines,
        axisTick: { show: false },
        splitLine: { show: false },
      },
      yAxis: {
        type: "value",
        min: 0,
        max: Math.max(yStep, Math.ceil(largest / yStep) * yStep),
        interval: yStep,
        axisLabel: { ...text, formatter: (y: number) => axisText(y, yUnit) },
        splitLine: lines,
      },
      series: series.map((line, index) => ({
        type: "line",
        name: line.name,
        step: "end",
        showSymbol: false,
        silent: true,
        lineStyle: { width: 1.5, color: color(line.color) },
        data: line.x.map((x, at) => [x, line.y[at] ?? null]),
        ...(marker && index === 0 ? { markLine: markLine(marker, color("var(--accent)"), text) } : {}),
      })),
    },
    { notMerge: true },
  );
}

function axisText(value: number, unit: format.Unit): string {
  return `${format.decimal(value / unit.scale)}${unit.name ? ` ${unit.name}` : ""}`;
}

function markLine(marker: { x: number; label: string }, color: string, text: object): object {
  return {
    silent: true,
    symbol: "none",
    lineStyle: { color, type: "dashed", width: 1 },
    label: { ...text, color, formatter: () => marker.label, position: "insideEndTop", rotate: 0 },
    data: [{ xAxis: marker.x }],
  };
}
