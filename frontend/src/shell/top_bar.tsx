import { chooseLang, lang, t } from "../i18n";
import { workerName } from "../state/catalog";
import { place, selection } from "../state/selection";
import { chooseTheme, type Theme, themeChoice } from "../state/theme";
import { Button } from "../widgets/button";
import { SimulatedMark } from "../widgets/simulated";
import { ReadingChip } from "./reading_chip";
import { Search } from "./search";

interface Props {
  onToggleSide: () => void;
  onHelp: () => void;
}

/** Title, current selection, reading progress, search, language, colours, help. */
export function TopBar({ onToggleSide, onHelp }: Props) {
  return (
    <header class="top">
      <Button plain onClick={onToggleSide} tip={t("side.toggle")}>
        ☰
      </Button>
      <h1>{t("app.name")}</h1>
      <Crumbs />
      {/* Diff marks its own sides, which need not include the selected span. */}
      {selection.value.view !== "diff" && <SimulatedMark span={place.value?.span} />}
      <ReadingChip />
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
