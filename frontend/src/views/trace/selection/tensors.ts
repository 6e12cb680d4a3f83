/** Shapes, types and formats of kernel_details.csv, one text per tensor: "32,3,224,224 FLOAT NCHW". */
export function tensors(shapes: string | null, types: string | null, formats: string | null): string[] {
  const lists = [shapes, types, formats].map(parts);
  const count = Math.max(...lists.map((list) => list.length));
  return Array.from({ length: count }, (_, index) =>
    lists
      .map((list) => list[index] ?? "")
      .filter(Boolean)
      .join(" "),
  );
}

function parts(text: string | null): string[] {
  const bare = (text ?? "").trim().replace(/^"+|"+$/g, "");
  return bare === "" || bare === "N/A" ? [] : bare.split(";").map((part) => part.trim());
}
