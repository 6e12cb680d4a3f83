"""List functions, methods, attributes and module variables that only tests use, as vulture finds them; exit 1 if there are some.

Fields of classes are left out: they are keys of JSON, columns or members of an enumeration. So are constants that one statement
lists, such as all names of a format. The parts of capture/ that have the names of torch_npu and MindSpore are left out, too.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path

from vulture import Vulture

ROOT = Path(__file__).resolve().parent.parent
USERS = ("tb_npu_plugin", "tools", "benchmarks", "fixtures")
TWINS = tuple(f"tb_npu_plugin/capture/{name}" for name in ("api/", "device/", "mindspore/", "pytorch.py"))
#: What others call by name.
ALLOWED = {
    "AUTHOR": "setup.py reads it",
    "REPOSITORY": "setup.py reads it",
    "sort_order": "states the order that analysis/packing.py requires, for its tests",
    "OPTIONAL_TABLES": "documents tables of recordings, for tests/unit/readers/test_database.py",
    "__call__": "a protocol",
    "list_commands": "click",
    "get_command": "click",
    "format_options": "click",
    "NpuPluginLoader": "TensorBoard",
    "define_flags": "TensorBoard",
    "get_plugin_apps": "TensorBoard",
    "frontend_metadata": "TensorBoard",
    "readable": "io",
    "direct_passthrough": "werkzeug",
    "tempdir": "tempfile",
    "text_factory": "sqlite3",
    "__array_interface__": "numpy",
    "mock": "a click command",
    "pytest_configure": "pytest",
    "pytest_load_initial_conftests": "pytest",
    "pytest_runtest_protocol": "pytest",
    "pytest_runtest_logreport": "pytest",
    "pytest_unconfigure": "pytest",
    "encoded_image_string": "protobuf",
    "producer": "protobuf",
    "start_time_secs": "protobuf",
    "string_value": "protobuf",
    "number_value": "protobuf",
}


@cache
def _listed(path: Path) -> frozenset[int]:
    """Lines of fields of classes and of names in assignments to several names."""
    found = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        body = node.body if isinstance(node, ast.ClassDef) else []
        found |= {one.lineno for one in body if isinstance(one, (ast.Assign, ast.AnnAssign))}
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            found |= {name.lineno for name in node.targets[0].elts}
    return frozenset(found)


def main() -> int:
    """Return the exit status."""
    search = Vulture(ignore_decorators=["@click.command"])
    search.scavenge([str(ROOT / name) for name in USERS])
    unused = [(Path(item.filename).relative_to(ROOT), item) for item in search.get_unused_code(min_confidence=60)]
    defects = [
        f"{path}:{item.first_lineno}: unused {item.typ} {item.name}"
        for path, item in unused
        if item.name not in ALLOWED
        and not path.as_posix().startswith(TWINS)
        and item.first_lineno not in _listed(ROOT / path)
    ]
    defects += [
        f"{name} is used: remove it from ALLOWED" for name in ALLOWED.keys() - {item.name for _, item in unused}
    ]
    print(*defects, sep="\n", end="\n" if defects else "")
    return int(bool(defects))


if __name__ == "__main__":
    sys.exit(main())
