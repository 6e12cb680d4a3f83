/** What is known of a slice of a derived row. */

import type { DerivedFactsJson, ViewId } from "../../../api/types.gen";
import { lang, t, textOf, viewTitle } from "../../../i18n";
import { sayMessage } from "../../../i18n/messages";
import { openView } from "../../../state/selection";
import { Pages } from "../../../widgets";
import { unfoldRank } from "../ranks/rank_rows";
import type { TraceSession } from "../session";
import { SliceLink } from "./slice_link";

export function DerivedFacts({ session, facts }: { session: TraceSession; facts: DerivedFactsJson }) {
  const { ranks } = session;
  const late = ranks.all.value.find(
    ({ span, rank }) => rank !== null && rank === facts.late_rank && !ranks.isOther(span),
  );
  return (
    <div>
      {facts.lines.map((line) => (
        <p key={line.code}>{sayMessage(line, lang.value)}</p>
      ))}
      <Pages items={facts.related}>
        {(shown) => (
          <dl class="facts">
            {shown.map((one) => (
              <>
                <dt>{textOf(one, "role")}</dt>
                <dd>
                  <SliceLink session={session} id={one.slice.id} name={one.slice.name} />
                </dd>
              </>
            ))}
          </dl>
        )}
      </Pages>
      {late && (
        <button type="button" class="link" onClick={() => void unfoldRank(session, late.span)}>
          {t("trace.derived.late", { rank: facts.late_rank ?? "" })}
        </button>
      )}{" "}
      {facts.view && (
        <button type="button" class="link" onClick={() => openView(facts.view as ViewId)}>
          {t("trace.derived.open", { view: viewTitle(facts.view) })}
        </button>
      )}
    </div>
  );
}
