import { signal } from "@preact/signals";
import type { Query } from "../../api/client";
import { param, setParams } from "../../state/params";
import { readStored, store } from "../../state/storage";

/** Figures of the device that a user may type. */
export type Figure = "peak" | "bandwidth";

/** What the user typed last in this browser: for devices whose figure is unknown. */
const usual = { peak: signal(readStored("peak")), bandwidth: signal(readStored("bandwidth")) };

/** The figures for requests; those of the address are in it already. */
export function usualQuery(): Query {
  return { usual_peak: usual.peak.value || undefined, usual_bandwidth: usual.bandwidth.value || undefined };
}

/** Whether the user typed the figure, for this page or before. */
export const isTyped = (name: Figure) => param(`kernel.${name}`) !== "" || usual[name].value !== "";

/** Keeps a figure that the user typed, in the address and in the browser; null removes it. */
export function chooseFigure(name: Figure, value: string | null): void {
  usual[name].value = value ?? "";
  store(name, value ?? "");
  setParams({ [`kernel.${name}`]: value });
}
