/** All keys of the timeline, and what the mouse does. */

import { type Key, t } from "../../../i18n";
import { helpRows } from "../../../timeline/keys";
import { Dialog } from "../../../widgets";

const MOUSE: readonly [Key, Key][] = [
  ["trace.help.m.click", "trace.help.m.click.does"],
  ["trace.help.m.double", "trace.help.m.double.does"],
  ["trace.help.m.second", "trace.help.m.second.does"],
  ["trace.help.m.menu", "trace.help.m.menu.does"],
  ["trace.help.m.drag", "trace.help.m.drag.does"],
  ["trace.help.m.alt", "trace.help.m.alt.does"],
  ["trace.help.m.pan", "trace.help.m.pan.does"],
  ["trace.help.m.wheel", "trace.help.m.wheel.does"],
];

export function KeysHelp({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={t("trace.help.title")} class="trace-keys">
      <dl class="trace-keys-list">
        {helpRows().map(({ action, keys }) => (
          <div key={action}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{t(`trace.help.${action}`)}</dd>
          </div>
        ))}
        {MOUSE.map(([how, does]) => (
          <div key={how}>
            <dt>{t(how)}</dt>
            <dd>{t(does)}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
