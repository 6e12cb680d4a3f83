"""The catalogue of messages, the texts that are made of it, and problems: each place once, every occurrence counted."""

from __future__ import annotations

import pickle
import re
from copy import deepcopy
from dataclasses import replace
from typing import get_args

import pytest

from tb_npu_plugin.analysis.findings.explain import COMPARED
from tb_npu_plugin.analysis.findings.explain import KINDS as KINDS_OF_PARTS
from tb_npu_plugin.analysis.findings.registry import RULES
from tb_npu_plugin.analysis.idle.model import CAUSES
from tb_npu_plugin.discovery.report import KINDS as SKIPPED
from tb_npu_plugin.json_encoding import encode_json
from tb_npu_plugin.messages import CATALOGUE, WORDS, Message, Period, in_period, messages_of, shorten_data
from tb_npu_plugin.problems import KINDS, MAX_PLACES, Problem, ProblemLog, list_places, merge_problems
from tb_npu_plugin.report import page
from tb_npu_plugin.schema.columns import declared_columns
from tb_npu_plugin.schema.files import declared_files
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.schema.metrics import CORES, UNITS
from tb_npu_plugin.schema.serving import Phase
from tb_npu_plugin.views.registry import VIEWS
from tests.conftest import ROOT

CODE = re.compile(
    r"""["']((?:expected|found|lost|action|reason|cost|written|format|missing|skipped|other|error|hint|client|finding|fix|check|verdict|unchecked|rule|report|part|derived|ledger|run|metric|option|place|column|explain)\.[a-z_][a-z0-9_.]*)["']"""
)
#: Of the lines, rows, bytes … that problems give as their place.
UNITS_OF_PLACES = ("byte", "character", "event", "line", "row", "step")
COLUMN = re.compile(r"""\bcolumn_texts\("([a-z_0-9.]+)""")
BAD = Problem("bad_cell", "a.csv", "line 2", "a number", "x", "This value.", "Parse again.")


def parameters(template: str) -> list[str]:
    return sorted(re.findall(r"\{(\w+)\}", template))


def test_both_languages_use_the_same_parameters() -> None:
    assert [code for code, texts in CATALOGUE.items() if texts.keys() != {"en", "zh"} or not all(texts.values())] == []
    assert [code for code, texts in CATALOGUE.items() if parameters(texts["en"]) != parameters(texts["zh"])] == []
    assert [code for code, texts in CATALOGUE.items() if re.search("[!！]", texts["zh"])] == []


def test_every_code_is_used_and_every_used_code_exists() -> None:
    places = [*(ROOT / "tb_npu_plugin").rglob("*.py"), *(ROOT / "frontend" / "src" / "api").glob("*.ts")]
    places += (ROOT / "frontend" / "src" / "widgets" / "diagnosis").glob("ledger*.ts*")
    sources = [path.read_text(encoding="utf-8") for path in places]
    made = {f"rule.{rule.id}" for rule in RULES} | {f"verdict.idle.{cause}" for cause in CAUSES}
    made |= {f"{word}.{period}" for word in WORDS for period in get_args(Period)}
    made |= {f"run.phase.{phase}" for phase in (*get_args(Phase), "unknown")}
    made |= {f"explain.{against}.{kind}" for against, kinds in COMPARED.items() for kind in kinds}
    made |= {f"explain.part.{kind}" for kind in KINDS_OF_PARTS}
    made |= {text.code for text in (*CORES.values(), *UNITS.values())}
    files = declared_files().values()
    made |= {f"written.{row['written']}" for row in files}
    made |= {code for row in files for code in re.findall(r"\boption\.\w+", row["settings"])}
    columns = {f"column.{name}" for source in sources for name in COLUMN.findall(source)}
    columns |= {column.title.code for table in declared_columns().values() for column in table}
    made |= columns | {f"{code}.doc" for code in columns if f"{code}.doc" in CATALOGUE}
    made |= {f"report.view.{view}" for view in page.VIEWS} | {f"report.severity.{one}" for one in page.SEVERITIES}
    made |= {f"view.{view.id}" for view in VIEWS} | {file.title.code for one in FORMATS.values() for file in one.files}
    made |= {text for kind in KINDS.values() for text in kind[:4] if text}
    made |= {text for kind, row in SKIPPED.items() for text in (f"skipped.{kind}", row["action"])}
    made |= {f"place.{unit}" for unit in UNITS_OF_PLACES if any(f"{unit} {{" in source for source in sources)}
    assert {code for source in sources for code in CODE.findall(source)} | made == set(CATALOGUE)
    with pytest.raises(KeyError):
        Message("found.nothing_of_that_name")
    with pytest.raises(KeyError):
        Message("found.cells", count=3)


def test_a_message_is_an_english_text_that_keeps_its_code_and_parameters() -> None:
    message = Message("found.cells", count=3, row="a,b,c")
    assert message == "3 cells: a,b,c"
    assert message.as_json() == {"code": "found.cells", "params": {"count": 3, "row": "a,b,c"}}
    for copy in (deepcopy(message), pickle.loads(pickle.dumps(message)), Message.from_json(message.as_json())):
        assert copy == message and copy.as_json() == message.as_json()
    assert encode_json({"lost": Message("lost.row")}) == b'{"lost":"This row."}'
    assert shorten_data("abcdef", 3) == "abc" and shorten_data(Message("lost.row"), 3) == "This row.", (
        "data are cut and messages are not"
    )


def test_a_problem_keeps_its_messages() -> None:
    problem = replace(BAD, expected=Message("expected.cells", count=3), lost=Message("lost.row"))
    texts = problem.as_json()["texts"]
    assert texts == messages_of({"expected": problem.expected, "lost": problem.lost})
    assert texts.keys() == {"expected", "lost"}
    back = Problem.from_json(problem.as_json())
    assert back == problem and back.as_json() == problem.as_json()


FURTHER = [replace(BAD, where=f"line {number}") for number in range(2, 2 + MAX_PLACES + 3)]


@pytest.mark.parametrize(
    ("problems", "where", "count"),
    [
        ([BAD, BAD, replace(BAD, where="line 3"), BAD], "line 2, line 3", 4),
        (FURTHER, "line 2, line 3, line 4, line 5, line 6 and 3 more", MAX_PLACES + 3),
        ([replace(BAD, count=4)], "line 2 and 3 more", 4),
        (
            [replace(BAD, where=""), *(replace(one, count=0) for one in FURTHER[: MAX_PLACES + 1])],
            "line 2, line 3, line 4, line 5, line 6 and 1 more",
            1,
        ),
    ],
    ids=["a place twice", "further places", "one that stands for several", "further places of one occurrence"],
)
def test_places_of_a_problem(problems: list[Problem], where: str, count: int) -> None:
    log = ProblemLog()
    for problem in problems:
        log.add(problem)
    assert log.list() == [replace(BAD, where=where, count=count)]


def test_what_was_collected_elsewhere_keeps_its_places() -> None:
    collected, log = replace(BAD, where="line 2, line 3 and 2 more", count=4), ProblemLog()
    log.extend([collected])
    log.extend([collected, BAD])
    assert log.list() == [collected, collected, BAD]


def test_the_same_of_two_stages_is_one() -> None:
    elsewhere, soon = replace(BAD, where="line 3", count=4), replace(BAD, where="line 3", found="soon")
    more, file = replace(BAD, where=list_places(["line 2", "line 4"], 2), count=4), replace(BAD, file="other.csv")
    assert merge_problems([BAD, elsewhere], [BAD]) == [BAD, elsewhere]
    assert merge_problems([BAD], [elsewhere]) == [replace(BAD, where="line 2, line 3", count=4)]
    assert merge_problems([BAD], [replace(BAD, found="soon")]) == [BAD], "another example from the same place"
    assert merge_problems([BAD], [soon], [file]) == [BAD, soon, file]
    assert merge_problems([more], [elsewhere]) == [more], "line 3 may be one of the two"


def test_words_for_the_period_reach_nested_messages_in_both_languages() -> None:
    inner = Message("verdict.unexplained.idle", rank="Rank 0", share="7 %", time="1 ms", why="")
    found = in_period(Message("verdict.unexplained", what=inner), "capture")
    assert "of the capture" in found
    assert "采集" in found.in_language("zh")
    assert "of the step" in inner
    assert Message.from_json(found.as_json()) == found
    assert in_period(inner, "step") is inner
