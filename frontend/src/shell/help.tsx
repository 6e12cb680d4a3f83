import { useEffect, useRef } from "preact/hooks";
import { type Key, t } from "../i18n";
import { catalog } from "../state/catalog";

const KEYS: readonly [string, Key][] = [
  ["/", "help.search"],
  ["?", "help.help"],
  ["1 … 7", "help.views"],
  ["↓ ↑", "help.rows"],
  ["Enter", "help.open"],
  ["Ctrl C", "help.copy"],
  ["Esc", "help.close"],
];

/** Keys and words. */
export function HelpDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} onClose={onClose} aria-label={t("help.title")}>
      <div class="card-head">
        <h2>{t("help.keys")}</h2>
      </div>
      <dl class="facts">
        {KEYS.map(([keys, text]) => [
          <dt key={keys}>
            <kbd>{keys}</kbd>
          </dt>,
          <dd key={text}>{t(text)}</dd>,
        ])}
      </dl>
      <div class="card-head" style={{ marginTop: "12px" }}>
        <h2>{t("help.words")}</h2>
      </div>
      <p>{t("help.run")}</p>
      <p>{t("help.unknown")}</p>
      <p>{t("help.units")}</p>
      <div class="row" style={{ marginTop: "12px" }}>
        <span class="muted">{t("help.version", { version: catalog.value?.version ?? "–" })}</span>
        <span class="grow" />
        <button type="button" class="control" onClick={onClose}>
          {t("help.close.button")}
        </button>
      </div>
    </dialog>
  );
}
