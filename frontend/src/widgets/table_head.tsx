import type { ComponentChildren } from "preact";

/** Title, class and tooltip of a column. */
export type HeadCell = readonly [title: ComponentChildren, look?: string | undefined, tip?: string | undefined];

/** The head of a plain table. What is false is left out. */
export function TableHead({ cells }: { cells: readonly (HeadCell | false)[] }) {
  const shown = cells.filter((cell) => cell !== false);
  return (
    <thead>
      <tr>
        {shown.map(([title, look, tip], at) => (
          <th key={at} scope="col" class={look} data-tip={tip}>
            {title}
          </th>
        ))}
      </tr>
    </thead>
  );
}
