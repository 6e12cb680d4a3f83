/** All keys of the timeline, and what the mouse does. */

import { useEffect, useRef } from "preact/hooks";
import { type Key, t } from "../../i18n";
import { helpRows } from "../../timeline/keys";

const MOUSE: readonly [Key, Key][] = [
  ["trace.help.m.click", "trace.help.m.click.does"],
  ["trace.help.m.double", "trace.help.m.double.does"],
  ["trace.help.m.drag", "trace.help.m.drag.does"],
  ["trace.help.m.alt", "trace.help.m.alt.does"],
  ["trace.help.m.pan", "trace.help.m.pan.does"],
  ["trace.help.m.wheel", "trace.help.m.wheel.does"],
];

export function KeysHelp({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} class="trace-keys" onClose={onClose} aria-label={t("trace.help.title")}>
      <div class="card-head">
        <h2>{t("trace.help.title")}</h2>
        <span class="grow" />
        <button type="button" class="control" onClick={onClose}>
          {t("help.close.button")}
        </button>
      </div>
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
    </dialog>
  );
}
