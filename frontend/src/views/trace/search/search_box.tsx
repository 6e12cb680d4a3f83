/** The search field with "n of m" and steps. */

import type { RefObject } from "preact";
import { useMemo, useState } from "preact/hooks";
import { debounce } from "../../../base/async";
import { integer } from "../../../base/format";
import { t } from "../../../i18n";
import type { TraceSession } from "../session";
import { MAX_RANKS } from "./rank_hits";

const TYPING_MS = 250;

export function SearchBox({ session, field }: { session: TraceSession; field: RefObject<HTMLInputElement> }) {
  const { search } = session;
  const [typed, setTyped] = useState<string | null>(null);
  const find = useMemo(
    () => debounce((text: string) => search.text.peek() !== text && void session.find(text, false), TYPING_MS),
    [session],
  );
  const step = async (direction: 1 | -1) => {
    const text = (typed ?? search.text.peek()).trim();
    if (text !== search.text.peek()) await session.find(text, true);
    else await session.stepHit(direction);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") void step(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") session.engine?.root.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const hasHits = search.hits.value.length > 0;
  return (
    <search class="trace-search">
      <input
        ref={field}
        class="field"
        type="text"
        placeholder={`${t("trace.search")}   /`}
        aria-label={t("trace.search")}
        data-tip={t("trace.search.tip")}
        value={typed ?? search.text.value}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          find(event.currentTarget.value.trim());
        }}
        onBlur={() => setTyped(null)}
        onKeyDown={onKeyDown}
      />
      {search.text.value !== "" && (
        <span class="trace-place">
          <button
            type="button"
            class="link"
            data-tip={[t("trace.search.list"), unsearchedTip(session)].filter(Boolean).join("\n")}
            disabled={!hasHits}
            onClick={() => {
              session.panel.value = "hits";
              session.panelOpen.value = true;
            }}
          >
            {placeText(session)}
            {unsearched(session) > 0 && (
              <span class="muted"> · {t("trace.search.left_out", { count: unsearched(session) })}</span>
            )}
          </button>
          <Step
            tip={t("trace.search.previous")}
            disabled={!hasHits}
            onClick={() => void session.stepHit(-1)}
            face="‹"
          />
          <Step tip={t("trace.search.next")} disabled={!hasHits} onClick={() => void session.stepHit(1)} face="›" />
          <Step tip={t("trace.search.clear")} disabled={false} onClick={() => void session.find("", false)} face="✕" />
        </span>
      )}
    </search>
  );
}

function placeText(session: TraceSession): string {
  const { search } = session;
  if (search.busy.value) return "…";
  if (search.error.value) return t("trace.search.failed");
  const total = search.total.value;
  const searched = search.ranks.value.length - unsearched(session);
  if (searched === 0) return t("trace.search.failed");
  const at = search.at.value;
  const key = total === 0 ? "trace.search.none" : at < 0 ? "trace.search.total" : "trace.search.place";
  const found = t(key, { at: integer(at + 1), total: integer(total) });
  return searched > 1 ? t("trace.search.in_ranks", { found, ranks: searched }) : found;
}

/** Number of ranks on the page that are not searched. */
function unsearched({ search }: TraceSession): number {
  if (search.busy.value || search.error.value) return 0;
  return search.ranks.value.filter(({ total }) => total === null).length;
}

function unsearchedTip(session: TraceSession): string {
  const count = unsearched(session);
  return count > 0 ? t("trace.search.unsearched", { count, most: MAX_RANKS }) : "";
}

interface StepProps {
  tip: string;
  disabled: boolean;
  onClick: () => void;
  face: string;
}

function Step({ tip, disabled, onClick, face }: StepProps) {
  return (
    <button type="button" class="trace-step" data-tip={tip} aria-label={tip} disabled={disabled} onClick={onClick}>
      {face}
    </button>
  );
}
