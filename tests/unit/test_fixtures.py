"""The committed fixtures are what the generator makes, and small."""

from __future__ import annotations

import gzip

import pytest

from tests.support.fixtures import FIXTURES, build, folders

GROUPS = ("demo", "results", "broken")


@pytest.fixture(scope="module")
def made() -> dict[str, dict[str, bytes]]:
    return build()


def _content(path: str, raw: bytes) -> bytes:
    """What a compressed file holds: how it is packed depends on the zlib that did it."""
    return gzip.decompress(raw) if path.endswith(".gz") else raw


@pytest.mark.parametrize("group", GROUPS)
def test_committed_fixtures_are_what_the_generator_makes(group: str, made: dict[str, dict[str, bytes]]) -> None:
    root = FIXTURES / group
    there = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    assert there == set(made[group]), "run: python fixtures/make.py"
    for path, content in made[group].items():
        assert _content(path, (root / path).read_bytes()) == _content(path, content), (
            f"{path}: run python fixtures/make.py"
        )


def test_making_them_twice_gives_the_same_bytes(made: dict[str, dict[str, bytes]]) -> None:
    assert build() == made


def test_fixtures_stay_small(made: dict[str, dict[str, bytes]]) -> None:
    assert sum(map(len, made["demo"].values())) < 6_000_000
    for group in ("results", "broken"):
        sizes: dict[str, int] = {}
        for path, content in made[group].items():
            name = path.split("/", 1)[0]
            sizes[name] = sizes.get(name, 0) + len(content)
        assert {name: size for name, size in sizes.items() if size >= 200_000} == {}


def test_every_defect_changes_the_good_result(made: dict[str, dict[str, bytes]]) -> None:
    good = {path.split("/", 2)[-1]: c for path, c in made["results"].items() if path.startswith("level1/")}
    by_defect: dict[str, dict[str, bytes]] = {}
    for path, content in made["broken"].items():
        name, _, rest = path.split("/", 2)
        by_defect.setdefault(name, {})[rest] = content
    assert len(by_defect) == 19
    assert [name for name, files in by_defect.items() if files == good] == []


def test_every_fixture_is_described() -> None:
    text = (FIXTURES / "README.md").read_text()
    names = {folder.relative_to(FIXTURES).parts[1] for group in GROUPS for folder in folders(group)}
    assert [name for name in names if f"`{name}`" not in text and not name.startswith("metrics_")] == []
