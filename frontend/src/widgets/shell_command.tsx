import { useState } from "preact/hooks";
import { copyText } from "../base/clipboard";
import { type Key, t } from "../i18n";
import { TextButton } from "./button";

const COPIED_MS = 1200;

interface CopyProps {
  text: string;
  /** Its label, before and after. */
  label: Key;
  copied: Key;
}

/** Copies a text, and says so for a moment. */
export function CopyButton({ text, label, copied }: CopyProps) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return <TextButton onClick={() => void copy()}>{t(isCopied ? copied : label)}</TextButton>;
}

/** A shell command with a copy button. */
export function ShellCommand({ command }: { command: string }) {
  return (
    <div class="command">
      <code>{command}</code>
      <CopyButton text={command} label="command.copy" copied="command.copied" />
    </div>
  );
}

/** Quotes a path for a shell if necessary. */
export function shellWord(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
