import type { NeedJson } from "../../api/types.gen";
import { message, say } from "../parts";
import { withCode } from "./finding";

const COLUMNS = ["decide", "missing", "how"] as const;

/** What would decide the entries that the data at hand leave open. */
export function Needs({ needs }: { needs: readonly NeedJson[] }) {
  if (needs.length === 0) return null;
  return (
    <table class="ledger needs">
      <thead>
        <tr>
          {COLUMNS.map((column) => (
            <th key={column} scope="col">
              {message(`ledger.need.column.${column}`)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {needs.map((need) => (
          <tr key={say(need.missing)}>
            {COLUMNS.map((column) => (
              <td key={column}>{withCode(say(need[column]))}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
