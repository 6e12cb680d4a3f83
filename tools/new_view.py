"""Start a view: `python tools/new_view.py bandwidth --title Bandwidth --chinese 带宽`.

Writes a view that shows the number of kernels of a span: backend, frontend, texts, test and page. Prints what is left to
do by hand.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FRONTEND = ROOT / "frontend" / "src"

BACKEND = '''"""{title}: …"""

from __future__ import annotations

from typing import TypedDict

from tb_npu_plugin.views.base import View, ViewInput, ViewResult


class {name}Json(TypedDict):
    """…"""

    kernels: int
    """Number of kernels."""


def build(source: ViewInput) -> ViewResult:
    """See {name}Json."""
    span = source.spans[0]
    data: {name}Json = {{"kernels": span.rows("kernels") or 0}}
    return ViewResult(data, {{}}, span.base_ns)


VIEW = View(
    id="{id}",
    scope="span",
    needs=(("kernels",),),
    build=build,
    contract={name}Json,
)
'''

INDEX = """import type {{ {name}Json }} from "../../api/types.gen";
import {{ t }} from "../../i18n";
import {{ type Answered, Card, spanView }} from "../../widgets";

/** … */
export const view = spanView("{id}", {name}View);

function {name}View({{ data }}: Answered<{name}Json>) {{
  return <Card title={{t("{id}.kernels")}}>{{String(data.kernels)}}</Card>;
}}
"""

TERMS = """{{
  "{id}.kernels": {{ "en": "Kernels", "zh": "kernel 数" }}
}}
"""

TEST = '''"""{title} counts the kernels."""

from __future__ import annotations

from tb_npu_plugin.views import {id}
from tb_npu_plugin.views.base import ViewInput
from tests.support.span import TestSpan, table_of


def test_kernels_are_counted() -> None:
    kernels = table_of("kernels", [{{"name": "MatMul", "start_ns": 1, "dur_ns": 1}}])
    assert {id}.build(ViewInput([TestSpan({{"kernels": kernels}})], {{}})).data == {{"kernels": 1}}
'''


def insert(path: Path, before: str, line: str) -> None:
    """Add a line before the first one that begins with `before`. Raises ValueError where there is none."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    at = next((at for at, text in enumerate(lines) if text.startswith(before)), None)
    if at is None:
        raise ValueError(f"{path}: no line begins with {before!r}")
    path.write_text("".join([*lines[:at], line, *lines[at:]]), encoding="utf-8")


def main() -> None:
    """Write the files and say what is left."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("id", help="as in addresses: lower case, words joined by _")
    options.add_argument("--title", required=True)
    options.add_argument("--chinese", required=True, help="the title in Chinese")
    chosen = options.parse_args()
    view, title = chosen.id, chosen.title
    name = "".join(word.capitalize() for word in view.split("_"))
    names = {"id": view, "title": title, "name": name}
    files = {
        ROOT / "tb_npu_plugin" / "views" / f"{view}.py": BACKEND,
        FRONTEND / "views" / view / "index.tsx": INDEX,
        FRONTEND / "views" / view / "terms.json": TERMS,
        ROOT / "tests" / "unit" / "views" / f"test_view_{view}.py": TEST,
        ROOT / "docs" / f"{view}.md": "# {title}\n\n…\n",
    }
    if not view.isidentifier() or any(path.exists() for path in files):
        sys.exit(f"{view} is not a valid name, or there is such a view.")
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.format(**names), encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    dictionary = FRONTEND / "i18n" / "dictionary.ts"
    terms = name[0].lower() + name[1:] + "Terms"
    insert(dictionary, 'import core from "./core.json"', f'import {terms} from "../views/{view}/terms.json";\n')
    insert(dictionary, "};", f"  ...{terms},\n")
    message = json.dumps({"en": title, "zh": chosen.chinese}, ensure_ascii=False)
    insert(ROOT / "tb_npu_plugin" / "messages.json", '  "view.', f'  "view.{view}": {message},\n')
    insert(
        FRONTEND / "views" / "registry.ts", "};", f'  {view}: () => import("./{view}").then((module) => module.view),\n'
    )
    print(
        "\nLeft to do by hand:\n"
        f"1. tb_npu_plugin/views/registry.py: import {view}, and {view}.VIEW at its place in the sidebar\n"
        f"2. README.md and README.zh-CN.md: a sentence that links to docs/{view}.md\n"
        "3. what the view shows: build(), its component, its texts, its page; views/uses.py: the tables that it shows\n"
        "4. tests/e2e/conftest.py (VIEWS), tests/e2e/test_views.py (LANDMARK), CHANGELOG.md\n"
        "Then `make format`, `make generated`, `UPDATE_GOLDEN=1 python -m pytest tests/golden`, `make check` and `make test-quick`."
    )


if __name__ == "__main__":
    main()
