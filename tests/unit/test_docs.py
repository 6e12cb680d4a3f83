"""The documents name every problem, key and environment variable; no text names a document that is missing."""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import tokenize
from collections.abc import Iterator

from tb_npu_plugin.capture.simulation.faults import FAULTS
from tb_npu_plugin.problems import KINDS
from tb_npu_plugin.views.registry import VIEWS
from tests.conftest import ROOT

#: Calls and the place of the code among their arguments; the codes of most problems stand in problems.csv.
CALLS = {"Problem": 0, "problem": 0, "report_damage": 0, "unreadable": 0, "problem_of": 0, "StopReason": 0}
CODE = re.compile(r"[a-z_]+")
#: A file or folder of the sources as docs/architecture.md names it.
SOURCE = re.compile(r"`((?:[\w.-]+/)+[\w.*-]*|[\w-]+\.(?:py|tsx?))`")
#: A source file as documents (in backticks) and comments name it, by the end of its path.
SOURCE_END = re.compile(r"(?<![\w./<*{-])((?:[\w.-]+/)*[\w-]+\.(?:py|tsx?|css|sh))\b(?!/)")
#: A document as texts name it: docs/trace.md, ../README.md; a folder of documents that is not in the repository.
DOCUMENT = re.compile(r"(?<![\w./:-])((?:\.{1,2}/)*[\w-]+(?:/[\w-]+)*\.md\b|specs/\w+)")
#: A cited fact: the page, and what begins with a title of it. Docstrings and comments break lines.
FACT = re.compile(r"(docs/facts/\w+\.md), ([^\"]{1,80})")
LINE_BREAK = re.compile(r"\n\s*(?:#:? )?")
#: Endings of the files that people write, but for fixtures and what the frontend's build writes.
WRITTEN = (".py", ".pyi", ".c", ".h", ".cpp", ".ts", ".tsx", ".css", ".md", ".sh", ".toml", ".yml", ".in", "Makefile")
DATA = re.compile(r"fixtures/(?!generator/).*/|tb_npu_plugin/static/")


def used() -> set[str]:
    """Codes in the sources."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tb_npu_plugin").rglob("*.py")]
    assert [code for code in KINDS if not any(f'"{code}"' in text for text in texts)] == []
    calls = re.compile("|".join(CALLS))
    trees = (ast.parse(text) for text in texts if calls.search(text))  # parsing all takes seconds
    nodes = (code for tree in trees for node in ast.walk(tree) for code in codes(node))
    named = {str(node.value) for node in nodes if isinstance(node, ast.Constant)}
    return {*KINDS, *filter(CODE.fullmatch, named)}


def codes(node: ast.AST) -> Iterator[ast.expr | None]:
    if isinstance(node, ast.Call) and name(node) in CALLS:
        yield from node.args[CALLS[name(node)] :][:1]
        yield from (keyword.value for keyword in node.keywords if keyword.arg == "code")


def name(node: ast.expr) -> str:
    """Name of what is called, without underscores in front."""
    called = node.func if isinstance(node, ast.Call) else None
    found = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return str(found).lstrip("_")


def cells(page: str) -> list[str]:
    """First cells of the tables of a page that hold code."""
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    return [line.split("|")[1] for line in lines if line.startswith("| `")]


def test_every_code_is_explained_once() -> None:
    explained = [code for cell in cells("problems.md") for code in re.findall(r"`(\w+)`", cell)]
    assert len(explained) == len(set(explained))
    assert set(explained) == used()
    assert len(explained) > 40


def test_every_key_of_the_timeline_is_in_its_page() -> None:
    keys = [found for cell in cells("trace.md") for found in re.findall(r"`([^`]+)`(\+?)", cell)]
    written = [key for key, mouse in keys if not mouse]  # `Ctrl`+wheel
    table = (ROOT / "frontend" / "src" / "timeline" / "keys.ts").read_text(encoding="utf-8")
    assert sorted(written) == sorted(re.findall(r'shown: "([^"]+)"', table))


def test_every_fault_is_in_its_table() -> None:
    page = (ROOT / "docs" / "capture.md").read_text(encoding="utf-8")
    table = page.partition("### Faults")[2].partition("`truth.json`")[0]
    written = re.findall(r"^\| `([a-z0-9-]+)([^`]*)` \|", table, re.M)
    assert written == [(word, fault.usage) for word, fault in FAULTS.items()]


def test_readmes_have_the_environment_variables_and_a_page_for_every_view() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tb_npu_plugin").rglob("*.py"))
    read = set(re.findall(r'"(TB_NPU_\w+)"', sources))
    assert len(read) > 2
    pages = sorted({"trace" if view.id == "explain" else re.sub("_(ranks|ledger)$", "", view.id) for view in VIEWS})
    for name in ("README.md", "README.zh-CN.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert set(re.findall(r"`(TB_NPU_\w+)`", text)) == read
        assert [page for page in pages if f"](docs/{page}.md)" not in text] == []
    assert [page for page in pages if not (ROOT / "docs" / f"{page}.md").exists()] == []


def written() -> Iterator[tuple[str, str]]:
    """(path, text) of the tracked files that people write, fixtures aside."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in listed.split("\0"):
        if name.endswith(WRITTEN) and not DATA.match(name):
            yield name, (ROOT / name).read_text(encoding="utf-8")


def test_every_document_that_a_text_names_exists() -> None:
    texts = dict(written())
    assert len(texts) > 1000
    shared = (ROOT, ROOT / "docs", ROOT / "tb_npu_plugin" / "static")
    places = {name: (*shared, (ROOT / name).parent) for name in texts}
    lines = [
        (name, line) for name, text in texts.items() for line in text.split("\n") if ".md" in line or "specs/" in line
    ]
    named = {(name, document) for name, line in lines for document in DOCUMENT.findall(line)}
    named = {(name, document) for name, document in named if not document.startswith("node_modules/")}  # not installed
    assert len(named) > 200
    assert {(name, found) for name, found in named if not any((at / found).is_file() for at in places[name])} == set()


def test_every_cited_fact_exists() -> None:
    titles = {
        path.relative_to(ROOT).as_posix(): tuple(re.findall(r"^## (.+)$", path.read_text(encoding="utf-8"), re.M))
        for path in (ROOT / "docs" / "facts").glob("*.md")
    }
    cited = [
        (name, page, title)
        for name, text in written()
        if name.endswith(".py")
        for page, title in FACT.findall(LINE_BREAK.sub(" ", text))
    ]
    assert len(cited) > 100
    assert [fact for fact in cited if not fact[2].startswith(titles[fact[1]])] == []
    uncited = [title for own in titles.values() for title in own if not any(title in found for _, _, found in cited)]
    assert uncited == []


def test_every_source_that_the_architecture_names_exists() -> None:
    pages = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("architecture.md", "glossary.md")]
    named = {source for page in pages for source in SOURCE.findall(page)}
    assert len(named) > 100
    assert [
        one for one in sorted(named) if not any(next(at.glob(one), None) for at in (ROOT, ROOT / "tb_npu_plugin"))
    ] == []


def test_every_column_that_names_a_word_of_the_vendor_exists() -> None:
    _, _, vendor = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").partition("## Words of the vendor's")
    places = re.findall(r"^\|.*\| ([a-z0-9_, ]+) \|$", vendor, re.MULTILINE)
    named = {place for cell in places for place in cell.split(", ")} - {"view", "shown at"}
    messages = json.loads((ROOT / "tb_npu_plugin" / "messages.json").read_text(encoding="utf-8"))
    columns = {code.rpartition(".")[2] for code in messages if code.startswith("column.")}
    assert len(named) > 25
    assert named - columns == set()


#: Scripts of users, in examples.
OF_USERS = ("train.py", "finetune.py")


def test_every_source_that_a_document_or_a_comment_names_exists() -> None:
    texts = dict(written())
    ends = {"/".join(name.split("/")[at:]) for name in texts for at in range(name.count("/") + 1)}
    dead = [
        (name, source)
        for name, text in texts.items()
        if name.endswith((".py", ".md")) and name != "CHANGELOG.md" and set(SOURCE_END.findall(text)) - ends
        for part in prose_of(name, text)
        for source in SOURCE_END.findall(part)
        if source not in ends and source not in OF_USERS
    ]
    assert len(ends) > 1000
    assert dead == []


def prose_of(name: str, text: str) -> list[str]:
    """Code in backticks of a document; comments and docstrings of a Python source."""
    if name.endswith(".md"):
        return re.findall(r"`([^`\n]+)`", text)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [one.string for one in tokens if one.type == tokenize.COMMENT or one.string.startswith('"""')]
