import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n";
import { Button } from "./button";

interface Props {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  class?: string;
  children: ComponentChildren;
}

/** A modal window; Escape and its button close it. The browser keeps the focus inside and restores it. */
export function Dialog({ isOpen, onClose, title, class: more = "", children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} class={more} onClose={onClose} aria-label={title}>
      <div class="card-head">
        <h2>{title}</h2>
        <span class="grow" />
        <Button onClick={onClose}>{t("help.close.button")}</Button>
      </div>
      {children}
    </dialog>
  );
}
