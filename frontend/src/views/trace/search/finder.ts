/** Runs searches and shows their hits. */

import { ApiError } from "../../../api/client";
import { t, textOf } from "../../../i18n";
import { messageOf } from "../format";
import { KEYS } from "../link/link";
import type { Selection } from "../selection/selection";
import type { TimelinePort } from "../timeline_port";
import type { SearchState } from "./search_state";

export class Finder {
  constructor(
    private readonly port: TimelinePort,
    private readonly search: SearchState,
    private readonly selection: Selection,
  ) {}

  /** Searches; `go`: also shows the first hit after the left edge of the view. */
  async find(text: string, go: boolean): Promise<void> {
    const { port, search } = this;
    port.save({ [KEYS.search]: text });
    if (!(await search.run(text, port.engine?.scene.view.start))) return;
    this.show();
    if (text === "" && port.panel.peek() === "hits") port.panel.value = "slice";
    if (search.error.peek()) this.fail(search.error.peek());
    if (text !== "" && go) await this.step(1);
    if (text !== "") port.announcement.value = t("trace.said.hits", { total: search.total.value });
  }

  /** Repeats the search, if there is one, in the ranks that the page shows now. */
  async again(): Promise<void> {
    if (this.search.text.peek() === "") return;
    await this.search.again();
    this.show();
  }

  /** Repeats the search in another reading, whose times are `shift` ns later. */
  async renew(shift: number): Promise<void> {
    await this.search.renew(shift);
    this.show();
  }

  /** Selects the next or previous hit. */
  async step(step: 1 | -1): Promise<void> {
    const { search, selection } = this;
    const hit = await search.step(step, this.port.engine?.scene.view.start ?? 0);
    this.show();
    if (hit) await selection.select(hit[0], "sight");
    else if (search.error.peek()) this.fail(search.error.peek());
  }

  private show(): void {
    const { text, total, marks } = this.search;
    this.port.engine?.update({ needle: total.peek() > 0 ? text.peek() : "", hits: marks.peek() });
  }

  /** A search with a mistake needs no retry. */
  private fail(error: unknown): void {
    const isMistake = error instanceof ApiError && error.code === "bad_request";
    if (isMistake) this.port.say(`${messageOf(error)} · ${textOf(error, "hint")}`);
    else this.port.fail(error);
  }
}
