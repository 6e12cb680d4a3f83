/** The marks: named, in order, with the time from one to the next. */

import { duration, exactDuration } from "../../../base/format";
import { t } from "../../../i18n";
import { MARK_COLOURS, type MarkColour, markToken } from "../../../timeline/colours";
import type { Mark } from "../../../timeline/scene";
import { Pages, TableHead, TextButton } from "../../../widgets";
import type { TraceSession } from "../session";

export function MarksPanel({ session }: { session: TraceSession }) {
  const marks = session.marks.all.value;
  return (
    <div>
      <div class="trace-title">
        <h2>{t("trace.panel.marks")}</h2>
        <span class="muted">{t("trace.marks.about")}</span>
        <span class="grow" />
        <TextButton tip={t("trace.marks.export.tip")} onClick={() => session.marks.export()}>
          JSON ↓
        </TextButton>
        <TextButton onClick={() => session.marks.set([])}>{t("trace.marks.clear")}</TextButton>
      </div>
      <Pages items={marks}>
        {(shown, first) => (
          <table class="trace-marks">
            <TableHead
              cells={[
                [t("trace.marks.colour")],
                [t("trace.marks.column")],
                [t("col.start"), "figure"],
                [t("col.duration"), "figure"],
                [t("trace.marks.since"), "figure", t("trace.marks.since.tip")],
                [""],
              ]}
            />
            <tbody>
              {shown.map((mark, at) => {
                const index = first + at;
                return (
                  <MarkRow key={index} session={session} mark={mark} index={index} before={marks[index - 1] ?? null} />
                );
              })}
            </tbody>
          </table>
        )}
      </Pages>
    </div>
  );
}

interface RowProps {
  session: TraceSession;
  mark: Mark;
  index: number;
  before: Mark | null;
}

function MarkRow({ session, mark, index, before }: RowProps) {
  const { start, end, name } = mark;
  return (
    <tr>
      <td>
        <select
          class="field"
          style={{ borderLeft: `6px solid var(${markToken(mark.colour)})` }}
          value={mark.colour ?? MARK_COLOURS[0][0]}
          aria-label={t("trace.marks.colour")}
          onChange={(event) => session.marks.recolour(index, event.currentTarget.value as MarkColour)}
        >
          {MARK_COLOURS.map(([colour]) => (
            <option key={colour} value={colour}>
              {t(`trace.marks.colour.${colour}`)}
            </option>
          ))}
        </select>
      </td>
      <td>
        <input
          class="field"
          type="text"
          value={name}
          aria-label={t("trace.marks.name")}
          onChange={(event) => session.marks.rename(index, event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
        />
      </td>
      <td class="figure mono">{session.shownTime(start)}</td>
      <td class="figure mono" data-tip={exactDuration(end - start)}>
        {end > start ? duration(end - start) : ""}
      </td>
      <td class="figure mono" data-tip={before ? exactDuration(start - before.start) : undefined}>
        {before && duration(start - before.start)}
      </td>
      <td>
        <TextButton onClick={() => session.marks.show(mark)}>{t("trace.marks.show")}</TextButton>{" "}
        <TextButton onClick={() => session.marks.remove(index)}>{t("trace.marks.remove")}</TextButton>
      </td>
    </tr>
  );
}
