/** Runs searches and shows their hits. */

import { ApiError } from "../../../api/client";
import { t, textOf } from "../../../i18n";
import { messageOf } from "../format";
import { KEYS } from "../link/link";
import type { TraceSession } from "../session";

export class Finder {
  constructor(private readonly session: TraceSession) {}

  /** Searches; `go`: also shows the first hit after the left edge of the view. */
  async find(text: string, go: boolean): Promise<void> {
    const { session } = this;
    const { search, panel } = session;
    session.save({ [KEYS.search]: text });
    if (!(await search.run(text, session.engine?.scene.view.start))) return;
    this.show();
    if (text === "" && panel.peek() === "hits") panel.value = "slice";
    if (search.error.peek()) this.fail(search.error.peek());
    if (text !== "" && go) await this.step(1);
    if (text !== "") session.announcement.value = t("trace.said.hits", { total: search.total.value });
  }

  /** Repeats the search, if there is one, in the ranks that the page shows now. */
  async again(): Promise<void> {
    if (this.session.search.text.peek() === "") return;
    await this.session.search.again();
    this.show();
  }

  /** Repeats the search in another reading, whose times are `shift` ns later. */
  async renew(shift: number): Promise<void> {
    await this.session.search.renew(shift);
    this.show();
  }

  /** Selects the next or previous hit. */
  async step(step: 1 | -1): Promise<void> {
    const { search, engine, selection } = this.session;
    const hit = await search.step(step, engine?.scene.view.start ?? 0);
    this.show();
    if (hit) await selection.select(hit[0], "sight");
    else if (search.error.peek()) this.fail(search.error.peek());
  }

  private show(): void {
    const { text, total, marks } = this.session.search;
    this.session.engine?.update({ needle: total.peek() > 0 ? text.peek() : "", hits: marks.peek() });
  }

  /** A search with a mistake needs no retry. */
  private fail(error: unknown): void {
    const isMistake = error instanceof ApiError && error.code === "bad_request";
    if (isMistake) this.session.say(`${messageOf(error)} · ${textOf(error, "hint")}`);
    else this.session.fail(error);
  }
}
