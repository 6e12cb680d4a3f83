/** Alignment of ranks: the offset to add to the times of each. */

import type { DeviceStepJson, TraceCollectiveJson, TraceRanksJson } from "../../../api/types.gen";
import { isSameRank } from "./choice";

/** How ranks are aligned: by estimated clocks, as recorded, by the start of a step, by the end of a collective. */
export type Alignment =
  | { kind: "clock" }
  | { kind: "recorded" }
  | { kind: "step"; step: string }
  | { kind: "end"; collective: string };

/** Offset of a rank. */
export interface Shift {
  /** Added to its times, ns. */
  ns: number;
  /** Error of the clocks, ns; null: the offset is not an estimate. */
  error: number | null;
  /** How the offset came about: the chosen alignment, clocks for a rank outside it, nothing; or the rank is of another run. */
  by: "alignment" | "clock" | "unknown" | "run";
}

/** Identifies a collective in a link. */
export function collectiveKey({ step, group, operator, occurrence }: TraceCollectiveJson): string {
  return [step ?? "", group ?? "", operator, occurrence].map((part) => encodeURIComponent(part)).join("~");
}

/** Name of an operator of HCCL: what it does, end of its group's hash, its number in the group, graph. */
const HCCL_NAME = /^(.+)__\w+_(\d+)_\d+$/;

/** "hcom_allReduce #6": what a collective does, and its number in its group. */
export function collectiveName({ operator, occurrence }: Pick<TraceCollectiveJson, "operator" | "occurrence">): string {
  const [, name = operator, number = String(occurrence + 1)] = HCCL_NAME.exec(operator) ?? [];
  return `${name} #${number}`;
}

/** What PyTorch calls the group of all ranks. */
const WORLD = "default_group";

/** The kind of its group if it is recorded, such as "tp"; "" for the group of all ranks. */
export function groupTitle(
  { groups }: Pick<TraceRanksJson, "groups">,
  { group }: Pick<TraceCollectiveJson, "group">,
): string {
  const title = groups.find((one) => one.group === group)?.title ?? "";
  return title === WORLD ? "" : title;
}

export function parseAlignment(text: string): Alignment {
  if (text === "recorded") return { kind: "recorded" };
  const [kind, ...rest] = text.split(":");
  const value = rest.join(":");
  if (kind === "step" && value) return { kind: "step", step: value };
  if (kind === "end" && value) return { kind: "end", collective: value };
  return { kind: "clock" };
}

export function formatAlignment(alignment: Alignment): string {
  if (alignment.kind === "step") return `step:${alignment.step}`;
  if (alignment.kind === "end") return `end:${alignment.collective}`;
  return alignment.kind === "clock" ? "" : alignment.kind;
}

/** Parses "span:ns,span:ns"; skips malformed parts. */
export function parseOffsets(text: string): Map<string, number> {
  const found = text.split(",").flatMap((part) => {
    const [span, ns] = part.split(":");
    return span && ns && /^-?\d{1,15}$/.test(ns) ? [[span, Number(ns)] as const] : [];
  });
  return new Map(found);
}

export function formatOffsets(offsets: ReadonlyMap<string, number>): string {
  return [...offsets]
    .filter(([, ns]) => ns !== 0)
    .map(([span, ns]) => `${span}:${ns}`)
    .join(",");
}

/**
 * The offset of each rank that is read, by span. The open rank keeps its times. `byHand`: further offsets, ns. A rank outside
 * the chosen step or collective is aligned by its clock.
 */
export function shiftsOf(
  data: Pick<TraceRanksJson, "lines" | "collectives">,
  open: string,
  alignment: Alignment,
  byHand: ReadonlyMap<string, number>,
): Map<string, Shift> {
  const clocks = clockShifts(data, open, alignment.kind === "recorded");
  const moments = momentsOf(data, alignment);
  const reference = moments.has(open) ? open : [...moments.keys()].find((span) => clocks.has(span));
  const target = reference === undefined ? 0 : (moments.get(reference) ?? 0) + (clocks.get(reference)?.ns ?? 0);
  const own = byHand.get(open) ?? 0;
  const shifts = new Map<string, Shift>();
  for (const [span, clock] of clocks) {
    const moment = moments.get(span);
    const shift: Shift = moment === undefined ? clock : { ns: target - moment, error: null, by: "alignment" };
    const moved = { ...shift, ns: shift.ns + (byHand.get(span) ?? 0) - own };
    shifts.set(span, span === open ? { ns: 0, error: null, by: "alignment" } : moved);
  }
  return shifts;
}

/**
 * The offsets of the ranks of another run: it is moved as a whole, so that a step of the open rank and that of its pair start
 * together; without steps, the first device tasks. Times of each run are ns after its own base.
 */
export function shiftsOfOther(
  own: Pick<TraceRanksJson, "lines">,
  other: Pick<TraceRanksJson, "lines" | "collectives">,
  open: string,
  alignment: Alignment,
  byHand: ReadonlyMap<string, number>,
): Map<string, Shift> {
  const line = own.lines.find(({ span }) => span === open);
  const pair = other.lines.find((one) => line && isSameRank(line, one)) ?? other.lines[0];
  if (!line || !pair) return new Map();
  const steps = pairSteps(line.steps, pair.steps);
  const chosen = alignment.kind === "step" ? steps.find(([one]) => one.step === alignment.step) : undefined;
  const [from, to] = chosen ?? steps[0] ?? [line, pair];
  const ns = (from.start ?? 0) - (to.start ?? 0) - (byHand.get(open) ?? 0);
  const inside: Alignment = chosen ? { kind: "step", step: chosen[1].step } : { kind: "clock" };
  const isRecorded = alignment.kind === "recorded";
  const within = shiftsOf(other, pair.span, isRecorded ? alignment : inside, new Map());
  return new Map(
    [...within].map(([span, shift]) => [
      span,
      { ns: shift.ns + ns + (byHand.get(span) ?? 0), error: shift.error, by: "run" as const },
    ]),
  );
}

/** Steps of two ranks that are compared: those of the same number; if there are none, in order. */
export function pairSteps(
  own: readonly DeviceStepJson[],
  other: readonly DeviceStepJson[],
): [DeviceStepJson, DeviceStepJson][] {
  const same = own.flatMap((one): [DeviceStepJson, DeviceStepJson][] => {
    const found = other.find(({ step }) => step === one.step);
    return found ? [[one, found]] : [];
  });
  if (same.length > 0) return same;
  return own.flatMap((one, at): [DeviceStepJson, DeviceStepJson][] => {
    const found = other[at];
    return found ? [[one, found]] : [];
  });
}

/** Offsets that make the clocks equal to that of the open rank. */
function clockShifts({ lines }: Pick<TraceRanksJson, "lines">, open: string, isRecorded: boolean): Map<string, Shift> {
  const own = lines.find((line) => line.span === open)?.clock ?? null;
  return new Map(
    lines.map(({ span, clock }): [string, Shift] => {
      if (isRecorded) return [span, { ns: 0, error: null, by: "alignment" }];
      if (!own || !clock || own.reference !== clock.reference) return [span, { ns: 0, error: null, by: "unknown" }];
      return [span, { ns: own.offset - clock.offset, error: own.error + clock.error, by: "clock" }];
    }),
  );
}

/** The moments of the ranks that become one, ns. */
function momentsOf({ lines, collectives }: Pick<TraceRanksJson, "lines" | "collectives">, alignment: Alignment) {
  if (alignment.kind === "end") {
    const found = collectives.find((one) => collectiveKey(one) === alignment.collective);
    return new Map(found?.ends.map(({ span, end }) => [span, end]));
  }
  if (alignment.kind !== "step") return new Map<string, number>();
  const starts = lines.flatMap(({ span, steps }) => {
    const step = steps.find((one) => one.step === alignment.step);
    return step ? [[span, step.start] as const] : [];
  });
  return new Map(starts);
}
