import type { ColumnJson } from "../../api/types.gen";
import { t, textOf, tOr } from "../../i18n";
import { Button } from "../button";
import { Pages } from "../pages";
import { Popover } from "../popover";
import { columnTitle } from "./columns";

interface Props {
  all: readonly ColumnJson[];
  /** Keys of the visible columns, in order. */
  shown: readonly string[];
  onChange: (shown: readonly string[] | null) => void;
}

/** Choose and reorder columns: visible ones first in their order, the others by group. */
export function ColumnMenu({ all, shown, onChange }: Props) {
  const byKey = new Map(all.map((column) => [column.key, column]));
  const visible = shown.map((key) => byKey.get(key)).filter((column) => column !== undefined);
  const hidden = all.filter((column) => !shown.includes(column.key));
  const groups = [...new Set(hidden.map((column) => column.group))];
  const move = (at: number, step: number) => {
    const next = [...shown];
    const [key] = next.splice(at, 1);
    if (key !== undefined) next.splice(at + step, 0, key);
    onChange(next);
  };
  const face = (
    <>
      {t("table.columns")}
      <span class="arrow" aria-hidden="true">
        ▾
      </span>
    </>
  );
  return (
    <Popover label={face}>
      {() => (
        <div style={{ minWidth: "220px" }}>
          <Pages items={visible}>
            {(page, first) =>
              page.map((column, place) => {
                const at = first + place;
                return (
                  <div class="column-choice" key={column.key}>
                    <Choice column={column} on onToggle={() => onChange(shown.filter((key) => key !== column.key))} />
                    <MoveButton
                      sign="↑"
                      tip={t("table.columns.left", { column: columnTitle(column) })}
                      off={at === 0}
                      onClick={() => move(at, -1)}
                    />
                    <MoveButton
                      sign="↓"
                      tip={t("table.columns.right", { column: columnTitle(column) })}
                      off={at === visible.length - 1}
                      onClick={() => move(at, 1)}
                    />
                  </div>
                );
              })
            }
          </Pages>
          {groups.map((group) => (
            <div key={group}>
              <div class="column-group">{tOr(`table.group.${group}`, group)}</div>
              <Pages items={hidden.filter((column) => column.group === group)}>
                {(page) =>
                  page.map((column) => (
                    <div class="column-choice" key={column.key}>
                      <Choice column={column} on={false} onToggle={() => onChange([...shown, column.key])} />
                    </div>
                  ))
                }
              </Pages>
            </div>
          ))}
          <Button look="option" onClick={() => onChange(null)}>
            {t("table.columns.reset")}
          </Button>
        </div>
      )}
    </Popover>
  );
}

function Choice({ column, on, onToggle }: { column: ColumnJson; on: boolean; onToggle: () => void }) {
  return (
    <label data-tip={textOf(column, "doc") || undefined}>
      <input type="checkbox" checked={on} onChange={onToggle} />
      <span class="ellipsis">{columnTitle(column)}</span>
    </label>
  );
}

function MoveButton({ sign, tip, off, onClick }: { sign: string; tip: string; off: boolean; onClick: () => void }) {
  return (
    <Button look="" name={tip} disabled={off} onClick={onClick}>
      {sign}
    </Button>
  );
}
