import { type Key, t } from "../i18n";
import { catalog } from "../state/catalog";
import { TextButton } from "../widgets/button";
import { Dialog } from "../widgets/dialog";
import { Facts } from "../widgets/facts";
import { openGlossary } from "../widgets/glossary";

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
        <TextButton onClick={() => openGlossary()}>{t("glossary.title")}</TextButton>
      </p>
      <p class="muted dialog-part">{t("help.version", { version: catalog.value?.version ?? "–" })}</p>
    </Dialog>
  );
}
