import * as format from "../base/format";
import { chooseLang, lang, t } from "../i18n";
import { catalog, places, workerName } from "../state/catalog";
import { isActive, jobs } from "../state/progress";
import { place } from "../state/selection";
import { chooseTheme, type Theme, themeChoice } from "../state/theme";
import { Button } from "../widgets/button";
import { Popover } from "../widgets/popover";
import { Progress } from "../widgets/states";
import { Search } from "./search";

interface Props {
  onToggleSide: () => void;
  onHelp: () => void;
}

/** Name, where we are, what is being read, search, language, colours, help. */
export function TopBar({ onToggleSide, onHelp }: Props) {
  return (
    <header class="top">
      <Button plain onClick={onToggleSide} tip={t("side.toggle")}>
        ☰
      </Button>
      <h1>{t("app.name")}</h1>
      <Crumbs />
      <ProgressChip />
      <Search />
      <button
        type="button"
        class="control plain"
        data-tip={t("top.lang.tip")}
        aria-label={t("top.lang.tip")}
        onClick={() => chooseLang(lang.value === "en" ? "zh-CN" : "en")}
      >
        {t("top.lang")}
      </button>
      <ThemeButton />
      <Button plain onClick={onHelp} tip={t("top.help")}>
        ?
      </Button>
    </header>
  );
}

function Crumbs() {
  const here = place.value;
  if (!here) return <span class="crumbs" />;
  const text = [here.run.label, workerName(here.worker), here.span.label].join(" ▸ ");
  return (
    <span class="crumbs ellipsis" data-tip-cut>
      {text}
    </span>
  );
}

const NEXT_THEME: Readonly<Record<Theme | "", Theme | "">> = { "": "light", light: "dark", dark: "" };
const THEME_SIGN: Readonly<Record<Theme | "", string>> = { "": "◐", light: "○", dark: "●" };

function ThemeButton() {
  const choice = themeChoice.value;
  const tip = t("top.theme", { mode: t(choice === "" ? "top.theme.auto" : `top.theme.${choice}`) });
  return (
    <Button plain onClick={() => chooseTheme(NEXT_THEME[choice])} tip={tip}>
      {THEME_SIGN[choice]}
    </Button>
  );
}

/** What is read and what is under way; opens the list of jobs. */
function ProgressChip() {
  const found = catalog.value;
  if (!found) return null;
  const active = jobs.value.filter(isActive);
  const failed = jobs.value.filter((job) => job.state === "failed").length;
  if (active.length > 0) {
    const total = active.reduce((sum, job) => sum + job.bytes_total, 0);
    const done = active.reduce((sum, job) => sum + job.bytes_done, 0);
    return (
      <Popover
        class="chip"
        label={t("top.reading", { percent: format.share(total > 0 ? Math.min(1, done / total) : 0, 0) })}
      >
        {() => (
          <div style={{ width: "420px", maxWidth: "85vw", padding: "4px 8px" }}>
            <Progress jobs={jobs.value} />
          </div>
        )}
      </Popover>
    );
  }
  if (failed > 0) return <span class="chip bad">{t("top.failed", { count: failed })}</span>;
  if (found.scanning) return <span class="chip">{t("top.scanning")}</span>;
  const spans = [...places.value.values()].map((item) => item.span);
  const read = spans.filter((span) => span.state === "ready");
  if (read.length === 0) return <span class="chip">{t("top.new", { count: spans.length })}</span>;
  const size = format.bytes(
    read.reduce((sum, span) => sum + span.bytes, 0),
    1,
  );
  return <span class="chip">✓ {t("top.ready", { count: read.length, bytes: size })}</span>;
}
