"""Workbooks of Excel, as msprof-analyze writes them."""

from __future__ import annotations

import zipfile
from pathlib import Path
from xml.etree import ElementTree

NAMESPACE = {"x": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
Sheets = dict[str, list[dict[str, str]]]


def sheets(path: Path, head: int = 0) -> Sheets:
    """Name of each sheet -> its rows, by the titles of the columns. head: number of the row with these; of equal titles the second one has
    "2" at its end, as in "Calls2"."""
    with zipfile.ZipFile(path) as book:

        def parts(name: str, tag: str) -> list[ElementTree.Element]:
            return ElementTree.fromstring(book.read(f"xl/{name}.xml")).findall(f".//x:{tag}", NAMESPACE)

        texts = ["".join(part.itertext()) for part in parts("sharedStrings", "si")]
        names = [sheet.attrib["name"] for sheet in parts("workbook", "sheet")]
        return {name: _rows(parts(f"worksheets/sheet{at + 1}", "row"), texts, head) for at, name in enumerate(names)}


def _rows(rows: list[ElementTree.Element], texts: list[str], head: int) -> list[dict[str, str]]:
    cells = []
    for row in rows:
        found = [(cell.get("t"), cell.findtext("x:v", "", NAMESPACE)) for cell in row.findall("x:c", NAMESPACE)]
        cells.append([texts[int(value)] if kind == "s" else value for kind, value in found])
    titles: list[str] = []
    for title in cells[head]:
        titles.append(f"{title}2" if title in titles else title)
    return [dict(zip(titles, row)) for row in cells[head + 1 :]]
