import { useRef } from "preact/hooks";
import { saveCsv, savePng } from "../base/save";
import { t } from "../i18n";
import { Popover } from "./popover";

export interface ChartFile {
  /** Name of the saved files, without extension. */
  name: string;
  /** The data of the chart; see csvText. */
  csv: () => string;
}

/** Menu that saves the chart of its card. */
export function ChartMenu({ name, csv }: ChartFile) {
  const place = useRef<HTMLSpanElement>(null);
  return (
    <span ref={place} class="chart-menu">
      <Popover label="⋯" tip={t("chart.menu")} class="plain">
        {(close) => (
          <>
            <button
              type="button"
              class="option"
              onClick={() => {
                close();
                void savePng(place.current?.closest<HTMLElement>(".card") ?? null, name);
              }}
            >
              {t("chart.png")}
            </button>
            <button
              type="button"
              class="option"
              onClick={() => {
                close();
                saveCsv(csv(), name);
              }}
            >
              {t("chart.csv")}
            </button>
          </>
        )}
      </Popover>
    </span>
  );
}
