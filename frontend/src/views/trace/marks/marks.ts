/** Ranges and flags that the user named. */

import { type Signal, signal } from "@preact/signals";
import { t } from "../../../i18n";
import type { Mark } from "../../../timeline/scene";
import { formatMarks, KEYS } from "../link/link";
import type { TraceSession } from "../session";

/** Longest name of a mark, in letters: it is part of the link. */
const NAME = 60;

export class Marks {
  readonly all: Signal<readonly Mark[]>;

  constructor(
    private readonly session: TraceSession,
    given: readonly Mark[],
  ) {
    this.all = signal(given);
  }

  set(marks: readonly Mark[]): void {
    this.all.value = marks;
    this.session.engine?.update({ marks });
    this.session.save({ [KEYS.marks]: formatMarks(marks) });
  }

  /** Marks the dragged range, else the selected slice. */
  markHere(): void {
    const detail = this.session.selection.selected.peek()?.detail;
    const area = this.session.area.area.peek();
    if (area) this.add({ start: area.start, end: area.end, name: this.newName("trace.mark.range") });
    else if (detail) this.add({ start: detail.start, end: detail.start + detail.dur, name: shortenName(detail.name) });
    else this.session.say(t("trace.mark.none"));
  }

  /** Flags the time under the pointer. */
  flag(): void {
    const moment = this.session.engine?.moment;
    if (moment !== undefined) this.add({ start: moment, end: moment, name: this.newName("trace.mark.flag") });
  }

  rename(index: number, name: string): void {
    this.set(this.all.peek().map((mark, place) => (place === index ? { ...mark, name: shortenName(name) } : mark)));
  }

  remove(index: number): void {
    this.set(this.all.peek().filter((_, place) => place !== index));
  }

  show(mark: Mark): void {
    const { engine } = this.session;
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
    this.session.announcement.value = t("trace.said.mark", { name: mark.name, start: `${mark.start} ns` });
  }
}

/** Cuts between code points: half of a surrogate pair is not valid in a link. */
export function shortenName(name: string): string {
  const letters = [...name];
  return letters.length > NAME ? `${letters.slice(0, NAME - 1).join("")}…` : name;
}
