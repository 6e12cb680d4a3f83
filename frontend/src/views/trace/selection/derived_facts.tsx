/** What is known of a slice of a derived row. */

import type { DerivedFactsJson, ViewId } from "../../../api/types.gen";
import { lang, t, textOf, viewTitle } from "../../../i18n";
import { sayMessage } from "../../../i18n/messages";
import { openView } from "../../../state/selection";
import type { TraceSession } from "../session";
import { SliceLink } from "./slice_link";

export function DerivedFacts({ session, facts }: { session: TraceSession; facts: DerivedFactsJson }) {
  return (
    <div>
      {facts.lines.map((line) => (
        <p key={line.code}>{sayMessage(line, lang.value)}</p>
      ))}
      <dl class="facts">
        {facts.related.map((one) => (
          <>
            <dt>{textOf(one, "role")}</dt>
            <dd>
              <SliceLink session={session} id={one.slice.id} name={one.slice.name} />
            </dd>
          </>
        ))}
      </dl>
      {facts.view && (
        <button type="button" class="link" onClick={() => openView(facts.view as ViewId)}>
          {t("trace.derived.open", { view: viewTitle(facts.view) })}
        </button>
      )}
    </div>
  );
}
