import { useState } from "preact/hooks";
import { BYTE_UNITS, bytes, decimal, unitFor } from "../../base/format";
import { t } from "../../i18n";
import { Button, Popover, type Where } from "../../widgets";

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
          <Button onClick={() => onChange({ least: null, most: null })}>{t("memory.size.clear")}</Button>
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

/** Limits of the size filter, bytes; null: no limit. */
interface SizeLimits {
  least: number | null;
  most: number | null;
}

const MIB = 1024 ** 2;

/** Bytes of "512 KiB", "1.5m", "64" (MiB without a unit); null for "", undefined for invalid text. */
export function parseSize(text: string): number | null | undefined {
  const found = /^\s*(\d+(?:[.,]\d+)?)\s*([bkmgt]?)(?:i?b)?\s*$/i.exec(text);
  if (text.trim() === "") return null;
  if (!found) return undefined;
  const unit = (found[2] ?? "").toUpperCase();
  const scale = unit === "" ? MIB : (BYTE_UNITS["BKMGT".indexOf(unit)]?.scale ?? MIB);
  return Math.round(Number((found[1] ?? "").replace(",", ".")) * scale);
}

/** A size that `parseSize` reads back: "512 KiB". */
export function sizeText(bytes: number | null): string {
  if (bytes === null) return "";
  const unit = unitFor(BYTE_UNITS, bytes);
  return `${decimal(bytes / unit.scale).replaceAll("\u202f", "")} ${unit.name}`;
}

/** "512 KiB … 2 GiB"; an open end is 0 or infinity. */
export function limitsText({ least, most }: SizeLimits): string {
  return `${sizeText(least) || "0"} … ${sizeText(most) || "∞"}`;
}

/** From the URL: bytes as digits. */
export function limitOf(text: string): number | null {
  return /^\d+$/.test(text) ? Number(text) : null;
}

/** The limits as conditions of the table; none while both are open. */
export function sizeWhere({ least, most }: SizeLimits): Where[] {
  const out: Where[] = [];
  if (least !== null) out.push({ column: "size_bytes", op: "ge", value: least });
  if (most !== null) out.push({ column: "size_bytes", op: "le", value: most });
  return out;
}
