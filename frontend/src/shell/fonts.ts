import { addStyle } from "../base/style";
import { parentDocument } from "../state/params";

/** Declares the Roboto faces of TensorBoard's page in this frame, which does not inherit them. Fetches nothing else. */
export function shareFonts(): void {
  const host = parentDocument();
  if (!host) return;
  const faces: string[] = [];
  for (const sheet of host.styleSheets) {
    try {
      for (const rule of sheet.cssRules) if (isRobotoFace(rule)) faces.push(belowPage(rule.cssText, host.baseURI));
    } catch {
      // a sheet of another origin: not TensorBoard's own
    }
  }
  if (faces.length > 0) addStyle(faces.join("\n"));
}

function isRobotoFace(rule: CSSRule): boolean {
  // Its constructor is that of the other page. The text of all rules would take 10 ms.
  return rule.constructor.name === "CSSFontFaceRule" && /font-family:\s*"?Roboto"?;/.test(rule.cssText);
}

/** TensorBoard writes /font-roboto/… without its --path_prefix; resolve it against its page. */
function belowPage(css: string, page: string): string {
  return css.replace(/url\("?\/?([^")]+)"?\)/g, (_, path: string) => `url("${new URL(path, page).href}")`);
}
