import type { SkippedJson } from "../api/types.gen";
import { t, textOf } from "../i18n";
import { Pages } from "./pages";
import { Popover } from "./popover";
import { ShellCommand } from "./shell_command";

/** Skipped folders with the reason. */
export function SkippedList({ skipped }: { skipped: readonly SkippedJson[] }) {
  if (skipped.length === 0) return null;
  const face = (
    <>
      <span>{t("side.skipped")}</span>
      <span class="arrow muted">{skipped.length}</span>
    </>
  );
  return (
    <div style={{ marginTop: "18px" }}>
      <Popover label={face} tip={t("side.skipped.tip")}>
        {() => (
          <div style={{ padding: "6px 8px" }}>
            <SkippedItems skipped={skipped} />
          </div>
        )}
      </Popover>
    </div>
  );
}

export function SkippedItems({ skipped }: { skipped: readonly SkippedJson[] }) {
  return (
    <Pages items={skipped}>
      {(shown) => (
        <ul>
          {shown.map((item) => (
            <li key={item.path} class="problem" style={{ marginBottom: "8px" }}>
              <strong>{item.path}</strong>
              <div class="small">{textOf(item, "reason")}</div>
              {item.action && <div class="small muted">{textOf(item, "action")}</div>}
              {item.command && <ShellCommand command={item.command} />}
            </li>
          ))}
        </ul>
      )}
    </Pages>
  );
}
