import { type ComponentChildren, createContext } from "preact";
import { useRef } from "preact/hooks";
import { saveCsv, savePng } from "../base/save";
import { t } from "../i18n";
import { Button } from "./button";
import { Popover } from "./popover";
import { Help } from "./tooltip";

/** Title of the enclosing card; its table uses it as name for screen readers. */
export const CardTitle = createContext("");

export interface CardProps {
  /** What is shown. */
  title?: string | undefined;
  /** Muted text next to the title. */
  subtitle?: ComponentChildren;
  /** Explains the figures; shown by the "?" next to the title. */
  help?: string | undefined;
  /** Controls at the right end of the title line. */
  actions?: ComponentChildren;
  /** Makes the card a chart that can be saved. */
  chart?: ChartFile;
  /** More classes, for instance "span-6" on the grid. */
  class?: string;
  children: ComponentChildren;
}

/** A framed part of a view. */
export function Card({ title, subtitle, help, actions, chart, class: more = "", children }: CardProps) {
  const hasHead = title !== undefined || subtitle !== undefined || actions !== undefined || chart !== undefined;
  return (
    <section class={`card ${more}`}>
      {hasHead && (
        <div class="card-head">
          {title !== undefined && <h2>{title}</h2>}
          {help !== undefined && <Help text={help} />}
          {subtitle !== undefined && <span class="muted">{subtitle}</span>}
          {(actions !== undefined || chart !== undefined) && <span class="grow" />}
          {actions}
          {chart && <ChartMenu {...chart} />}
        </div>
      )}
      <CardTitle.Provider value={title ?? ""}>{children}</CardTitle.Provider>
    </section>
  );
}

interface ChartFile {
  /** Name of the saved files, without extension. */
  name: string;
  /** The data of the chart; see csvText. */
  csv: () => string;
}

/** Menu that saves the chart of its card. */
function ChartMenu({ name, csv }: ChartFile) {
  const place = useRef<HTMLSpanElement>(null);
  return (
    <span ref={place} class="chart-menu">
      <Popover label="⋯" tip={t("chart.menu")} class="plain">
        {(close) => (
          <>
            {(["png", "csv"] as const).map((kind) => (
              <Button
                key={kind}
                look="option"
                onClick={() => {
                  close();
                  if (kind === "csv") saveCsv(csv(), name);
                  else void savePng(place.current?.closest<HTMLElement>(".card") ?? null, name);
                }}
              >
                {t(`chart.${kind}`)}
              </Button>
            ))}
          </>
        )}
      </Popover>
    </span>
  );
}
