import { useState } from "preact/hooks";
import { bytes } from "../../base/format";
import { t } from "../../i18n";
import { Popover } from "../../widgets";
import { limitsText, parseSize, type SizeLimits, sizeText } from "./size";

interface Props {
  limits: SizeLimits;
  /** Smallest and largest allocation. */
  bounds: readonly number[] | null;
  onChange: (limits: SizeLimits) => void;
}

/** "Size: any": opens two fields for the smallest and the largest size. */
export function SizeFilter({ limits, bounds, onChange }: Props) {
  const { least, most } = limits;
  const isOpen = least === null && most === null;
  const text = isOpen ? t("memory.size.any") : limitsText(limits);
  return (
    <Popover
      class={isOpen ? "" : "on"}
      label={
        <>
          {t("memory.size.label", { size: text })} <span class="arrow">▾</span>
        </>
      }
      tip={t("memory.size.tip")}
    >
      {() => (
        <div class="mem-sizes">
          <Field
            label={t("memory.size.least")}
            value={least}
            onChange={(value) => onChange({ ...limits, least: value })}
          />
          <Field
            label={t("memory.size.most")}
            value={most}
            onChange={(value) => onChange({ ...limits, most: value })}
          />
          <p class="muted small">
            {t("memory.size.bounds", {
              least: bytes(bounds?.[0]),
              most: bytes(bounds?.[1]),
            })}
          </p>
          <button type="button" class="control" onClick={() => onChange({ least: null, most: null })}>
            {t("memory.size.clear")}
          </button>
        </div>
      )}
    </Popover>
  );
}

interface FieldProps {
  label: string;
  value: number | null;
  onChange: (value: number | null) => void;
}

function Field({ label, value, onChange }: FieldProps) {
  const [text, setText] = useState(sizeText(value));
  const parsed = parseSize(text);
  return (
    <label class="row">
      <span class="grow">{label}</span>
      <input
        class="field"
        type="text"
        placeholder={t("memory.size.any")}
        value={text}
        aria-invalid={parsed === undefined}
        onInput={(event) => {
          setText(event.currentTarget.value);
          const size = parseSize(event.currentTarget.value);
          if (size !== undefined) onChange(size);
        }}
      />
    </label>
  );
}
