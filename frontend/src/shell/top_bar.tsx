import * as format from "../base/format";
import { chooseLang, type Key, lang, t } from "../i18n";
import { catalog, places, workerName } from "../state/catalog";
import { ended, jobs } from "../state/progress";
import { shareDone, type Totals, totalsOf } from "../state/reading";
import { place, selection } from "../state/selection";
import { chooseTheme, type Theme, themeChoice } from "../state/theme";
import { Button, TextButton } from "../widgets/button";
import { Dialog } from "../widgets/dialog";
import { Facts } from "../widgets/facts";
import { openGlossary } from "../widgets/glossary";
import { Popover } from "../widgets/popover";
import { JobList } from "../widgets/progress";
import { SimulatedMark } from "../widgets/skipped";
import { Cut } from "../widgets/text";
import { PeriodChip } from "./period_chip";
import { Search } from "./search";

/** Title, current selection, reading progress, search, language, colours, help. */
export function TopBar({ onToggleSide, onHelp }: { onToggleSide: () => void; onHelp: () => void }) {
  return (
    <header class="top">
      <Button look="control plain" onClick={onToggleSide} name={t("side.toggle")}>
        ☰
      </Button>
      <h1>{t("app.name")}</h1>
      <Crumbs />
      <PeriodChip />
      {/* Diff marks its own sides, which need not include the selected span. */}
      {selection.value.view !== "diff" && <SimulatedMark span={place.value?.span} />}
      <ReadingChip />
      <Search />
      <Button
        look="control plain"
        name={t("top.lang.tip")}
        onClick={() => chooseLang(lang.value === "en" ? "zh-CN" : "en")}
      >
        {t("top.lang")}
      </Button>
      <ThemeButton />
      <Button look="control plain" onClick={onHelp} name={t("top.help")}>
        ?
      </Button>
    </header>
  );
}

function Crumbs() {
  const here = place.value;
  if (!here) return <span class="crumbs" />;
  const text = [here.run.label, workerName(here.worker), here.span.label].join(" ▸ ");
  return <Cut class="crumbs">{text}</Cut>;
}

const NEXT_THEME: Readonly<Record<Theme | "", Theme | "">> = { "": "light", light: "dark", dark: "" };
const THEME_SIGN: Readonly<Record<Theme | "", string>> = { "": "◐", light: "○", dark: "●" };

function ThemeButton() {
  const choice = themeChoice.value;
  const tip = t("top.theme", { mode: t(choice === "" ? "top.theme.auto" : `top.theme.${choice}`) });
  return (
    <Button look="control plain" onClick={() => chooseTheme(NEXT_THEME[choice])} name={tip}>
      {THEME_SIGN[choice]}
    </Button>
  );
}

/** Reading progress; opens the list of all jobs. */
function ReadingChip() {
  const found = catalog.value;
  if (!found) return null;
  const all = [...jobs.value, ...ended.value.values()];
  const totals = totalsOf(all);
  const isGoing = totals.count.reading + totals.count.waiting > 0;
  const isBad = !isGoing && totals.count.failed > 0;
  return (
    <>
      <Popover class={`chip reading-chip ${isBad ? "bad" : ""}`} label={chipText(totals, found.scanning)}>
        {() => (
          <div class="reading-list">
            {all.length === 0 ? <p class="muted">{t("progress.none")}</p> : <JobList jobs={all} />}
          </div>
        )}
      </Popover>
      <span class="sr-only" role="status">
        {phaseText(totals, isGoing)}
      </span>
    </>
  );
}

function chipText(totals: Totals, isScanning: boolean): string {
  const { count } = totals;
  if (count.reading + count.waiting > 0)
    return t("top.reading", { percent: format.percentOfRatio(shareDone(totals), 0) });
  if (count.failed > 0) return t("top.failed", { count: count.failed });
  if (count.cancelled > 0) return t("top.cancelled", { count: count.cancelled });
  if (isScanning) return t("top.scanning");
  const spans = [...places.value.values()].map((item) => item.span);
  const read = spans.filter((span) => span.state === "ready");
  if (read.length === 0) return t("top.new", { count: spans.length });
  const bytes = read.reduce((sum, span) => sum + span.bytes, 0);
  return `✓ ${t("top.ready", { count: read.length, bytes: format.bytes(bytes, 1) })}`;
}

/** Status for screen readers, which only changes with the phase. */
function phaseText({ count }: Totals, isGoing: boolean): string {
  if (isGoing) return t("progress.said.reading");
  if (count.failed > 0) return t("progress.said.failed");
  return t(count.cancelled > 0 ? "progress.said.cancelled" : "progress.said.idle");
}

const KEYS: readonly [string, Key][] = [
  ["/", "help.search"],
  ["?", "help.help"],
  ["1 … 9 0 -", "help.views"],
  ["↓ ↑", "help.rows"],
  ["Enter", "help.open"],
  ["Ctrl C", "help.copy"],
  ["Esc", "help.close"],
];

/** Keys and terms. */
export function HelpDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={t("help.title")}>
      <h3 class="dialog-part">{t("help.keys")}</h3>
      <Facts facts={KEYS.map(([keys, text]) => [<kbd key={keys}>{keys}</kbd>, t(text)])} />
      <h3 class="dialog-part">{t("help.words")}</h3>
      <p>{t("help.run")}</p>
      <p>{t("help.unknown")}</p>
      <p>{t("help.units")}</p>
      <p>
        <TextButton
          onClick={() => {
            onClose();
            openGlossary();
          }}
        >
          {t("glossary.title")}
        </TextButton>
      </p>
      <p class="muted dialog-part">{t("help.version", { version: catalog.value?.version ?? "–" })}</p>
    </Dialog>
  );
}
