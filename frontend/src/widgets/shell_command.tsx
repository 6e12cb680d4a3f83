import { useState } from "preact/hooks";
import { copyText } from "../base/clipboard";
import { t } from "../i18n";
import { TextButton } from "./button";

const COPIED_MS = 1200;

/** A shell command with a copy button. */
export function ShellCommand({ command }: { command: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(command);
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <div class="command">
      <code>{command}</code>
      <TextButton onClick={() => void copy()}>{t(isCopied ? "command.copied" : "command.copy")}</TextButton>
    </div>
  );
}

/** Quotes a path for a shell if necessary. */
export function shellWord(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
