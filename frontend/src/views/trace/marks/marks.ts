/** Ranges and flags that the user named. */

import { type Signal, signal } from "@preact/signals";
import { saveJson } from "../../../base/save";
import { t } from "../../../i18n";
import { isMarkColour, type MarkColour } from "../../../timeline/colours";
import { originOf } from "../../../timeline/decode";
import type { Mark } from "../../../timeline/scene";
import { formatMarks, KEYS } from "../link/link";
import type { AreaStats } from "../range/area_stats";
import type { Selection } from "../selection/selection";
import type { TimelinePort } from "../timeline_port";

export class Marks {
  readonly all: Signal<readonly Mark[]>;

  constructor(
    private readonly port: TimelinePort,
    private readonly selection: Selection,
    private readonly area: AreaStats,
    given: readonly Mark[],
  ) {
    this.all = signal(given);
  }

  set(marks: readonly Mark[]): void {
    this.all.value = marks;
    this.port.engine?.update({ marks });
    this.port.save({ [KEYS.marks]: formatMarks(marks) });
  }

  /** Marks the dragged range, else the selected slice. */
  markHere(): void {
    const detail = this.selection.selected.peek()?.detail;
    const area = this.area.area.peek();
    if (area) this.add({ start: area.start, end: area.end, name: this.newName("trace.mark.range") });
    else if (detail) this.add({ start: detail.start, end: detail.start + detail.dur, name: shortenName(detail.name) });
    else this.port.say(t("trace.mark.none"));
  }

  /** Flags the time under the pointer. */
  flag(): void {
    const moment = this.port.engine?.moment;
    if (moment !== undefined) this.add({ start: moment, end: moment, name: this.newName("trace.mark.flag") });
  }

  rename(index: number, name: string): void {
    this.set(this.all.peek().map((mark, place) => (place === index ? { ...mark, name: shortenName(name) } : mark)));
  }

  recolour(index: number, colour: MarkColour): void {
    this.set(this.all.peek().map((mark, place) => (place === index ? { ...mark, colour } : mark)));
  }

  /** Saves all marks as JSON. */
  export(): void {
    saveJson(marksToJson(this.all.peek(), this.port.base), "marks");
  }

  /** Adds the marks of a file; those that are there already are not added twice. */
  async import(file: File): Promise<void> {
    const found = marksFromJson(await file.text(), this.port.base);
    if (!found) {
      this.port.say(t("trace.marks.import.bad", { file: file.name }));
      return;
    }
    const known = new Set(this.all.peek().map(keyOf));
    const added = found.marks.filter((mark) => !known.has(keyOf(mark)));
    this.set([...this.all.peek(), ...added].sort((a, b) => a.start - b.start));
    const skipped = found.skipped > 0 ? ` ${t("trace.marks.import.skipped", { count: found.skipped })}` : "";
    this.port.say(t("trace.marks.import.done", { count: added.length }) + skipped);
    this.port.panel.value = "marks";
  }

  remove(index: number): void {
    this.set(this.all.peek().filter((_, place) => place !== index));
  }

  show(mark: Mark): void {
    const { engine } = this.port;
    if (mark.end > mark.start) engine?.goTo(mark);
    else engine?.center(mark.start);
  }

  private newName(key: "trace.mark.range" | "trace.mark.flag"): string {
    const taken = new Set(this.all.peek().map((mark) => mark.name));
    let number = 1;
    while (taken.has(t(key, { number }))) number += 1;
    return t(key, { number });
  }

  private add(mark: Mark): void {
    this.set([...this.all.peek(), mark].sort((a, b) => a.start - b.start));
    this.port.announcement.value = t("trace.said.mark", { name: mark.name, start: `${mark.start} ns` });
  }
}

/** A file has whole ns. */
function keyOf({ start, end, name }: Mark): string {
  return `${Math.round(start)},${Math.round(end)},${name}`;
}

/** `base`: epoch time (ns) of time 0. */
export function marksToJson(marks: readonly Mark[], base: string): string {
  const listed = marks.map(({ start, end, name, colour }) => ({
    name,
    start_epoch_ns: String(BigInt(base) + BigInt(Math.round(start))),
    duration_ns: Math.round(end) - Math.round(start),
    ...(colour ? { colour } : {}),
  }));
  return `${JSON.stringify({ marks: listed }, null, 1)}\n`;
}

/** The marks of a file of `marksToJson`, and the number of entries that are none. Null: not such a file. */
export function marksFromJson(text: string, base: string): { marks: Mark[]; skipped: number } | null {
  let listed: unknown;
  try {
    listed = (JSON.parse(text) as { marks?: unknown } | null)?.marks;
  } catch {
    return null;
  }
  if (!Array.isArray(listed)) return null;
  const marks = listed.flatMap((one) => markOf(one, base) ?? []);
  return { marks, skipped: listed.length - marks.length };
}

/** Marks as a JSON file: times in ns since 1970, so that they fit any reading of the trace, and other ranks. */
function markOf(found: unknown, base: string): Mark | null {
  const { name, start_epoch_ns: epoch, duration_ns: took, colour } = (found ?? {}) as Record<string, unknown>;
  if (typeof epoch !== "string" || !/^\d{1,19}$/.test(epoch)) return null;
  if (typeof took !== "number" || !Number.isSafeInteger(took) || took < 0) return null;
  const start = originOf(epoch, base);
  if (!Number.isSafeInteger(start + took)) return null;
  const text = shortenName(typeof name === "string" ? name.replace(/\p{Surrogate}/gu, "�") : "");
  return { start, end: start + took, name: text, ...(isMarkColour(colour) ? { colour } : {}) };
}

/** Longest name of a mark, in letters: it is part of the link. */
const NAME = 60;

/** Cuts between code points: half of a surrogate pair is not valid in a link. */
export function shortenName(name: string): string {
  const letters = [...name];
  return letters.length > NAME ? `${letters.slice(0, NAME - 1).join("")}…` : name;
}
