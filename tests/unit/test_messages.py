"""The catalogue of messages, and the texts that are made of it."""

from __future__ import annotations

import pickle
import re
from copy import deepcopy

import pytest

from tb_npu_plugin.json_encoding import encode_json
from tb_npu_plugin.messages import CATALOGUE, Message, messages_of, shorten_data
from tb_npu_plugin.problems import Problem
from tests.conftest import ROOT

CODE = re.compile(
    r'"((?:expected|found|lost|action|reason|cost|written|format|missing|skipped|error|hint|client)\.[a-z0-9_]+)"'
)


def parameters(template: str) -> list[str]:
    return sorted(re.findall(r"\{(\w+)\}", template))


def test_both_languages_use_the_same_parameters() -> None:
    assert [code for code, texts in CATALOGUE.items() if texts.keys() != {"en", "zh"} or not all(texts.values())] == []
    assert [code for code, texts in CATALOGUE.items() if parameters(texts["en"]) != parameters(texts["zh"])] == []
    assert [code for code, texts in CATALOGUE.items() if re.search("[!！]", texts["zh"])] == []


def test_every_code_is_used_and_every_used_code_exists() -> None:
    places = [*(ROOT / "tb_npu_plugin").rglob("*.py"), *(ROOT / "frontend" / "src" / "api").glob("*.ts")]
    sources = (path.read_text(encoding="utf-8") for path in places)
    assert {code for source in sources for code in CODE.findall(source)} == set(CATALOGUE)


def test_is_an_english_text() -> None:
    message = Message("found.cells", count=3, row="a,b,c")
    assert message == "3 cells: a,b,c"
    assert message.as_json() == {"code": "found.cells", "params": {"count": 3, "row": "a,b,c"}}


def test_refuses_what_the_catalogue_does_not_have() -> None:
    with pytest.raises(KeyError):
        Message("found.nothing_of_that_name")
    with pytest.raises(KeyError):
        Message("found.cells", count=3)


def test_copies_keep_code_and_parameters() -> None:
    message = Message("found.pieces", count=2)
    for copy in (deepcopy(message), pickle.loads(pickle.dumps(message)), Message.from_json(message.as_json())):
        assert copy == message and copy.as_json() == message.as_json()


def test_json_has_the_english_text() -> None:
    assert encode_json({"lost": Message("lost.row")}) == b'{"lost":"This row."}'


def test_data_are_cut_and_messages_are_not() -> None:
    assert shorten_data("abcdef", 3) == "abc" and shorten_data(Message("lost.row"), 3) == "This row."


def test_problem_keeps_its_messages() -> None:
    problem = Problem(
        "short_row", "a.csv", "line 2", Message("expected.cells", count=3), "a,b", Message("lost.row"), ""
    )
    texts = problem.as_json()["texts"]
    assert texts == messages_of({"expected": problem.expected, "lost": problem.lost}) and texts.keys() == {
        "expected",
        "lost",
    }
    back = Problem.from_json(problem.as_json())
    assert back == problem and back.as_json() == problem.as_json()
