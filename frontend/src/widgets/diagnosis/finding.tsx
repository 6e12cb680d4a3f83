import type { ComponentChildren } from "preact";
import type { FindingJson, LedgerJson, ViewId } from "../../api/types.gen";
import * as format from "../../base/format";
import { type Key, type Period, t, textAt, textOf, tOf, viewTitle } from "../../i18n";
import { addressOf } from "../../state/params";
import { openView } from "../../state/selection";
import { evidenceLinks } from "./evidence";
import { timeText } from "./ledger";

interface Props {
  finding: FindingJson;
  /** All findings: some explain others. */
  findings: readonly FindingJson[];
}

/** What was found, how sure it is, and what explains it. */
export function FindingText({ finding, findings }: Props) {
  const { confidence } = finding;
  const causes = finding.causes.flatMap((rule) => findings.find((one) => one.rule === rule) ?? []);
  const sure =
    confidence.kind === "confirmed"
      ? t("diagnosis.confirmed", { count: confidence.ranks })
      : t(`diagnosis.${confidence.kind}`);
  return (
    <div>
      {textOf(finding, "message")} <span class="muted">{sure}</span>
      {causes.length > 0 && (
        <p>{t("diagnosis.causes", { causes: [...new Set(causes.map((one) => textOf(one, "title")))].join(", ") })}</p>
      )}
    </div>
  );
}

/** What to do, and how to see that it helped. */
export function FindingFix({ finding }: { finding: FindingJson }) {
  return (
    <>
      {finding.fix.map((text, at) => (
        <p key={text}>{withCode(textAt(finding, "fix", at))}</p>
      ))}
      {finding.check && <p class="muted">{textOf(finding, "check")}</p>}
    </>
  );
}

/** What it would save in a unit. */
export function Saving({ finding, unit, period }: { finding: FindingJson; unit: format.Unit; period: Period }) {
  const { ms_per_step: ms, kind } = finding;
  const time = ms === 0 ? format.UNKNOWN : timeText(ms * 1e6, unit);
  return <span data-tip={tOf(period, tipOf(finding))}>{ms > 0 && kind !== "measured" ? `≤ ${time}` : time}</span>;
}

function tipOf({ ms_per_step: ms, kind }: FindingJson): Key {
  if (ms === 0) return "diagnosis.cost.none";
  return kind === "measured" ? "diagnosis.cost.measured" : "diagnosis.cost.bound";
}

/** Links to what shows it. */
export function EvidenceLinks({ finding, ledgers }: { finding: FindingJson; ledgers: readonly LedgerJson[] }) {
  return (
    <span class="jumps">
      {evidenceLinks(finding, ledgers).map(({ view, state }) => (
        <ViewLink key={view} view={view} state={state}>
          {viewTitle(view)} →
        </ViewLink>
      ))}
    </span>
  );
}

/** Text with the parts between backticks as code. */
export function withCode(text: string): ComponentChildren[] {
  return text.split("`").map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part));
}

interface LinkProps {
  view: ViewId;
  /** Parameters of the view. */
  state?: Readonly<Record<string, string | null>>;
  children: ComponentChildren;
}

/** A link to a view. The address carries the whole state, for another tab. */
function ViewLink({ view, state = {}, children }: LinkProps) {
  const open = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    openView(view, state);
  };
  return (
    <a class="link" href={addressOf({ view, ...state })} onClick={open}>
      {children}
    </a>
  );
}
