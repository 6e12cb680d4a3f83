import { type ComponentChildren, Fragment } from "preact";

export type Fact = readonly [name: ComponentChildren, value: ComponentChildren, tip?: string | undefined];

/** Names and values, a pair on each line. What is false or null is left out. */
export function Facts({ facts, class: more = "" }: { facts: readonly (Fact | false | null)[]; class?: string }) {
  const known = facts.filter((fact) => fact !== false && fact !== null);
  return (
    <dl class={`facts ${more}`}>
      {known.map(([name, value, tip], at) => (
        <Fragment key={at}>
          <dt data-tip={tip}>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
