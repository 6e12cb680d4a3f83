import { Button, TextButton } from "../../../widgets";
/** The search field with "n of m" and steps. */

import type { RefObject } from "preact";
import { useMemo, useState } from "preact/hooks";
import { debounce } from "../../../base/async";
import { integer } from "../../../base/format";
import { t } from "../../../i18n";
import { inRanks, unsearchedTip } from "../ranks/placement";
import type { TraceSession } from "../session";

const TYPING_MS = 250;

export function SearchBox({ session, field }: { session: TraceSession; field: RefObject<HTMLInputElement> }) {
  const { search } = session;
  const [typed, setTyped] = useState<string | null>(null);
  const find = useMemo(
    () => debounce((text: string) => search.text.peek() !== text && void session.finder.find(text, false), TYPING_MS),
    [session],
  );
  const step = async (direction: 1 | -1) => {
    const text = (typed ?? search.text.peek()).trim();
    if (text !== search.text.peek()) await session.finder.find(text, true);
    else await session.finder.step(direction);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") void step(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") session.engine?.root.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const hasHits = search.hits.value.length > 0;
  const steps = [
    ["‹", "trace.search.previous", () => void session.finder.step(-1)],
    ["›", "trace.search.next", () => void session.finder.step(1)],
    ["✕", "trace.search.clear", () => void session.finder.find("", false)],
  ] as const;
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
          <TextButton
            tip={[t("trace.search.list"), unsearchedTip(search.ranks.value)].filter(Boolean).join("\n")}
            disabled={!hasHits}
            onClick={() => session.openPanel("hits")}
          >
            {placeText(session)}
          </TextButton>
          {steps.map(([face, key, run]) => (
            <Button key={key} look="trace-step" name={t(key)} disabled={face !== "✕" && !hasHits} onClick={run}>
              {face}
            </Button>
          ))}
        </span>
      )}
    </search>
  );
}

function placeText({ search }: TraceSession): string {
  if (search.busy.value) return "…";
  if (search.error.value) return t("trace.search.failed");
  const total = search.total.value;
  const at = search.at.value;
  const key = total === 0 ? "trace.search.none" : at < 0 ? "trace.search.total" : "trace.search.place";
  return inRanks(t(key, { at: integer(at + 1), total: integer(total) }), search.ranks.value);
}
