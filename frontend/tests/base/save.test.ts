import { afterEach, expect, test, vi } from "vitest";
import { saveCsv } from "../../src/base/save";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

test("the file is handed out by the page around: Firefox blocks downloads of TensorBoard's frames", () => {
  const outer = document.implementation.createHTMLDocument("TensorBoard");
  vi.spyOn(window, "parent", "get").mockReturnValue({ document: outer } as unknown as WindowProxy);
  const links: HTMLAnchorElement[] = [];
  const make = outer.createElement.bind(outer);
  vi.spyOn(outer, "createElement").mockImplementation((tag: string) => {
    const link = make(tag) as HTMLAnchorElement;
    vi.spyOn(link, "click").mockImplementation(() => void links.push(link));
    return link;
  });
  saveCsv("a,b", "rows");
  expect(links.map((link) => link.download)).toEqual(["rows.csv"]);
});

test("by the frame itself where the page around is another's", () => {
  vi.spyOn(window, "parent", "get").mockReturnValue({
    get document(): Document {
      throw new DOMException("another origin", "SecurityError");
    },
  } as unknown as WindowProxy);
  const clicked = vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(() => undefined);
  saveCsv("a,b", "rows");
  expect(clicked).toHaveBeenCalledOnce();
});
