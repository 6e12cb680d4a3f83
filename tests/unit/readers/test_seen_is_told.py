"""What a file holds is shown or told: figures out of bounds, repeated rows, lost columns and keys, empty pieces."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.problems import MAX_KINDS, ProblemLog
from tb_npu_plugin.readers.shared.report import MAX_WHERE, FileReport
from tb_npu_plugin.readers.shared.row_checks import check_rows
from tb_npu_plugin.tables import NULL_INT
from tests.conftest import FIXTURES
from tests.support.reading import read_all
from tests.support.span import table_of


def replaced(old: str, new: str, count: int = 1) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, count)

    return change


def without_column(at: int) -> Callable[[str], str]:
    return lambda text: "\n".join(
        ",".join([*line.split(",")[:at], *line.split(",")[at + 1 :]]) for line in text.splitlines()
    )


def last_line_twice(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join([*lines, lines[-1]])


def without_key(*path: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        content = json.loads(text)
        owner = content
        for key in path[:-1]:
            owner = owner[key]
        del owner[path[-1]]
        return json.dumps(content)

    return change


def changed_events(change: Callable[[list[Any]], object], chosen: Callable[[Any], bool]) -> Callable[[str], str]:
    """Changes the list of the chosen events; they keep the places that the events have, new ones come last."""

    def changed(text: str) -> str:
        content = json.loads(text)
        events = content if isinstance(content, list) else content["traceEvents"]
        own = [event for event in events if chosen(event)]
        places = [place for place, event in enumerate(events) if chosen(event)]
        change(own)
        for place, event in zip(places, own):
            events[place] = event
        events += own[len(places) :]
        return json.dumps(content)

    return changed


def is_arrow(event: Any) -> bool:
    return event["ph"] in ("s", "f")


def is_memory(event: Any) -> bool:
    return event.get("name") == "[memory]"


#: Result, file, change, what is told about that file.
CASES: dict[str, tuple[str, str, Callable[[str], str], str]] = {
    "a step twice": ("level1", "step_trace_time.csv", last_line_twice, "repeated_row"),
    "a kernel twice": ("level1", "kernel_details.csv", last_line_twice, "repeated_row"),
    "all after half a header": ("level1", "step_trace_time.csv", lambda text: text[:34], "file_cut"),
    "half a header of MindData": (
        "mindinsight_single",
        "minddata_pipeline_raw_0.csv",
        lambda text: text[:20],
        "file_cut",
    ),
    "a column twice": (
        "level1",
        "step_trace_time.csv",
        lambda text: "\n".join(f"{line},{line.split(',')[2]}" for line in text.splitlines()),
        "duplicate_header",
    ),
    "an optional column": ("level1", "step_trace_time.csv", without_column(1), "lost_column"),
    "a column of a release": ("new_spellings", "op_statistic.csv", without_column(0), "lost_column"),
    "settings without a switch": (
        "level1",
        "profiler_info_0.json",
        without_key("config", "common_config", "with_stack"),
        "lost_key",
    ),
    "a setting that later ones prove": (
        "level1",
        "profiler_info_0.json",
        without_key("config", "experimental_config", "_op_attr"),
        "lost_key",
    ),
    "the collectives of a step": (
        "two_ranks",
        "communication_matrix.json",
        without_key("step5", "collective"),
        "lost_key",
    ),
    "a step of the links": ("two_steps", "communication_matrix.json", without_key("step5"), "lost_key"),
    "a step of the operators": ("two_steps", "communication.json", without_key("step5"), "lost_key"),
    "the version of NCCL": (
        "kineto_gpu",
        "node1_4242.*.json",
        without_key("distributedInfo", "nccl_version"),
        "lost_key",
    ),
    "the start of all times": ("kineto_gpu", "node1_4242.*.json", without_key("baseTimeNanoseconds"), "bad_base_time"),
    "a line break that lost a byte": ("two_steps", "step_trace_time.csv", replaced("\n6,", "\r6,"), "other_line_break"),
    "no setting at all": ("level1", "profiler_info_0.json", lambda text: "{}", "lost_key"),
    "an impossible setting": (
        "level1",
        "profiler_info_0.json",
        replaced('"freq": 100', '"freq": -5.0'),
        "out_of_bounds",
    ),
    "an empty piece": ("msprof_pieces", "msprof_slice_1_20250615070512.json", lambda text: "[]", "no_events_in_piece"),
    "a piece without its end": (
        "msprof_pieces",
        "msprof_slice_2_20250615070512.json",
        lambda text: text[:-1],
        "piece_cut",
    ),
    "a line of a queue twice": ("mindinsight_single", "minddata_aicpu_0.txt", last_line_twice, "repeated_row"),
    "a slice twice": (
        "level1",
        "trace_view.json",
        lambda text: json.dumps([*json.loads(text), next(one for one in json.loads(text) if one.get("dur"))]),
        "repeated_event",
    ),
    "an end of an arrow twice": (
        "level1",
        "trace_view.json",
        changed_events(lambda arrows: arrows.append(arrows[-1]), is_arrow),
        "repeated_event",
    ),
    "an arrow without a time": (
        "level1",
        "trace_view.json",
        changed_events(lambda arrows: arrows[0].pop("ts"), is_arrow),
        "incomplete_event",
    ),
    "a name of no process": (
        "level1",
        "trace_view.json",
        changed_events(lambda names: names[0].pop("pid"), lambda event: event["name"] == "process_name"),
        "no_thread_id",
    ),
    "an impossible counter": (
        "level1",
        "trace_view.json",
        changed_events(
            lambda points: points[0]["args"].update({"MHz": -5.0}), lambda event: "MHz" in event.get("args", ())
        ),
        "bad_counter",
    ),
    "an event of memory twice": (
        "kineto_gpu",
        "node1_4242.*.json",
        changed_events(lambda events: events.append(events[-1]), is_memory),
        "repeated_event",
    ),
    "events of memory in another order": (
        "kineto_old",
        "*.json",
        changed_events(lambda events: events.reverse(), is_memory),
        "not_in_order",
    ),
    "a call without its correlation": (
        "kineto_gpu",
        "node1_4242.*.json",
        changed_events(
            lambda calls: calls[0]["args"].pop("correlation"), lambda event: "cbid" in event.get("args", ())
        ),
        "lost_key",
    ),
    "a step of another name": ("level1", "communication.json", replaced('"step', '"other'), "unexpected_shape"),
    "a step that is no number": (
        "two_steps",
        "step_trace_time.csv",
        replaced("\n6,", "\nsixth,"),
        "bad_required_cell",
    ),
    "steps in another order": (
        "two_steps",
        "step_trace_time.csv",
        lambda text: "".join([*text.splitlines(True)[:1], *text.splitlines(True)[:0:-1]]),
        "not_in_order",
    ),
    "a negative size": (
        "mindspore_two_ranks",
        "operator_memory.csv",
        replaced(",0.5,", ",-0.001,"),
        "before_capture",
    ),
    "a count with a fraction": (
        "mindinsight_single",
        "minddata_pipeline_raw_0.csv",
        replaced("1,Map,4,", "1,Map,-0.001,"),
        "bad_cell",
    ),
    "an impossible step": ("mindinsight_cluster", "hccl_raw_0.csv", replaced("\n2,", "\n-1e30,"), "bad_cell"),
    "a column without a name": (
        "mindinsight_single",
        "aicore_intermediate_0_type.csv",
        without_column(1),
        "missing_column",
    ),
    "a column of a pipeline": (
        "mindinsight_cluster",
        "ascend_cluster_analyse_pipeline-parallel_2_4_0.csv",
        without_column(1),
        "lost_column",
    ),
    "another list of events": (
        "level1",
        "trace_view.json",
        lambda text: f'{{"traceEvents": {text}, "displayTimeUnit": "ms", "traceEvents": {text}}}',
        "bad_json",
    ),
    "what follows the list": ("level1", "trace_view.json", lambda text: text + text, "joined_lists"),
}
#: Result, file, the beginning of a key or column that another takes the place of.
RENAMED = {
    "a key of a link": ("two_ranks", "communication_matrix.json", "Transport Type"),
    "samples of queues": ("mindinsight_single", "minddata_pipeline_raw_0.csv", "output_queue_size"),
    "another key of a counter": ("level1", "trace_view.json", "Read(MB/s)"),
    "a communicator of the links": ("links", "profiler_metadata.json", "10.0.0.1%eth0_60000_2_"),
    "an operator": ("no_steps", "communication.json", "hcom_allReduce__509_0_1@6114899246988758509"),
    "a key of a communicator": ("links", "profiler_metadata.json", "group_rank"),
    "a key of Megatron": ("links", "profiler_metadata.json", "world_size"),
    "a legacy setting": ("mindinsight_cluster", "profiler_info_0.json", "ms_version"),
    "a newer setting": ("mindspore_data", "profiler_info_0.json", "sys_io"),
    "a column of the network": ("mindinsight_single", "framework_raw_0.csv", "op_info"),
    "the start of reduces": ("msprof_pieces", "step_trace_20250615070512.csv", "Reduce Start(us)"),
    "a column of the CANN version": ("new_spellings", "step_trace_time.csv", "Preparing"),
}
CASES |= {
    case: (base, file, replaced(name, "other"), "lost_key" if file.endswith(".json") else "lost_column")
    for case, (base, file, name) in RENAMED.items()
}


def told(base: str, file: str, change: Callable[[str], str], folder: Path) -> set[str]:
    """Codes of the problems that name the changed file."""
    shutil.copytree(FIXTURES / "results" / base, folder / "logs")
    path = min((folder / "logs").rglob(file))
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    metas = read_all(folder / "logs", folder / "out")
    return {problem["code"] for meta in metas for problem in meta["problems"] if problem["file"].endswith(path.name)}


@pytest.mark.parametrize("case", CASES)
def test_what_is_lost_or_repeated_is_told(case: str, tmp_path: Path) -> None:
    base, file, change, code = CASES[case]
    assert code in told(base, file, change, tmp_path)


@pytest.mark.parametrize("table", ["NPU_MEM", "CANN_API", "TASK_PMU_INFO"])
def test_a_table_of_a_database_that_others_prove(table: str, tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "results" / "db_only", tmp_path / "logs")
    with closing(sqlite3.connect(min((tmp_path / "logs").rglob("ascend_pytorch_profiler_0.db")))) as connection:
        connection.execute(f"DROP TABLE {table}")
    problems = [one for meta in read_all(tmp_path / "logs", tmp_path / "out") for one in meta["problems"]]
    lost = {(one["code"], one["where"]) for one in problems if one["severity"] != "info"}
    assert lost == {("lost_table", table)}


def test_communicators_that_no_metadata_name_are_one_problem(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "results" / "links", tmp_path / "logs")
    metadata = min((tmp_path / "logs").rglob("profiler_metadata.json"))
    content = json.loads(metadata.read_text())
    del content["parallel_group_info"]
    metadata.write_text(json.dumps(content))
    problems = [one for meta in read_all(tmp_path / "logs", tmp_path / "out") for one in meta["problems"]]
    about = [(one["code"], one["count"], one["severity"]) for one in problems if one["file"] == metadata.name]
    assert about == [("no_metadata", 1, "info")]


def test_a_reduce_that_ends_before_it_starts(tmp_path: Path) -> None:
    def change(text: str) -> str:
        header, *rows = text.splitlines()
        at = next(place for place, name in enumerate(header.split(",")) if name.endswith("_end_point") and place > 2)
        cells = rows[1].split(",")
        cells[at] = "-5000000"
        return "\n".join([header, rows[0], ",".join(cells), *rows[2:]]) + "\n"

    assert "bad_cell" in told("mindinsight_cluster", "step_trace_raw_1_detail_time.csv", change, tmp_path)


def problems_of(folder: Path) -> list[dict[str, Any]]:
    """The problems of the results below "logs" in a folder, without that of what no view shows."""
    metas = read_all(folder / "logs", folder / "out")
    return [one for meta in metas for one in meta["problems"] if one["code"] != "not_shown"]


#: Change -> result, database, statement, what is told, where.
IN_DATABASES = {
    "a table of a newer release": (
        "results/db_only",
        "ascend_pytorch_profiler_0.db",
        "CREATE TABLE A_NEW_ONE AS SELECT * FROM TASK",
        "not_shown",
        "A_NEW_ONE, ",
    ),
    "a metric of no kernel": (
        "results/db_only",
        "ascend_pytorch_profiler_0.db",
        "UPDATE TASK_PMU_INFO SET globalTaskId=987654 WHERE rowid IN (1, 7)",
        "unknown_kernel",
        "TASK_PMU_INFO",
    ),
    "a metric twice": (
        "results/db_only",
        "ascend_pytorch_profiler_0.db",
        "INSERT INTO TASK_PMU_INFO SELECT * FROM TASK_PMU_INFO WHERE rowid=3",
        "repeated_row",
        "TASK_PMU_INFO",
    ),
    "a name of two metrics": (
        "results/db_only",
        "ascend_pytorch_profiler_0.db",
        "UPDATE STRING_IDS SET value='total_time' WHERE value='aic_mac_time'",
        "duplicate_header",
        "TASK_PMU_INFO",
    ),
    "metrics without values": (
        "results/db_only",
        "ascend_pytorch_profiler_0.db",
        "ALTER TABLE TASK_PMU_INFO RENAME COLUMN value TO other",
        "lost_column",
        "TASK_PMU_INFO",
    ),
    "a module without a name": (
        "results/db_only",
        "ascend_pytorch_profiler_0.db",
        "UPDATE NPU_MODULE_MEM SET moduleId=987 WHERE rowid=1",
        "unknown_module",
        "NPU_MODULE_MEM",
    ),
    "an allocation twice": (
        "results/db_only",
        "ascend_pytorch_profiler_0.db",
        "INSERT INTO OP_MEMORY SELECT * FROM OP_MEMORY WHERE rowid=3",
        "repeated_row",
        "row 9",
    ),
    "a communication operator three times": (
        "results/mindspore_db",
        "ascend_mindspore_profiler_0.db",
        "CREATE TABLE again AS SELECT * FROM COMMUNICATION_OP; "
        "UPDATE again SET opId=opId+900; INSERT INTO COMMUNICATION_OP SELECT * FROM again; "
        "UPDATE again SET opId=opId+900; INSERT INTO COMMUNICATION_OP SELECT * FROM again",
        "repeated_row",
        "row ",
    ),
    "a setting that is no text": (
        "results/db_only",
        "ascend_pytorch_profiler_0.db",
        "UPDATE META_DATA SET value=CAST(x'80ff' AS TEXT) WHERE rowid=1",
        "bad_bytes",
        "META_DATA, value",
    ),
    "a step that is no number": (
        "results/db_only",
        "analysis.db",
        "UPDATE StepTraceTime SET step='fifth'",
        "bad_required_cell",
        "Step",
    ),
    "a transport again": (
        "results/mindspore_db",
        "communication_analyzer.db",
        "CREATE TABLE again AS SELECT * FROM CommAnalyzerBandwidth; UPDATE again SET count=0; "
        "INSERT INTO CommAnalyzerBandwidth SELECT * FROM again; DROP TABLE again",
        "repeated_row",
        "CommAnalyzerBandwidth",
    ),
    "a row of a cluster of another type": (
        "recorded/cluster_db",
        "cluster_analysis.db",
        "UPDATE ClusterStepTraceTime SET type='other' WHERE rowid=1",
        "bad_required_cell",
        "ClusterStepTraceTime, type",
    ),
}


@pytest.mark.parametrize("case", IN_DATABASES)
def test_what_a_database_holds_is_shown_or_told(tmp_path: Path, case: str) -> None:
    """`read_all` finds what is neither."""
    result, file, statements, code, where = IN_DATABASES[case]
    shutil.copytree(FIXTURES / result, tmp_path / "logs")
    with closing(sqlite3.connect(min((tmp_path / "logs").rglob(file)))) as connection:
        connection.executescript(statements)
    problems = [one for meta in read_all(tmp_path / "logs", tmp_path / "out") for one in meta["problems"]]
    assert [one for one in problems if one["code"] == code and one["where"].startswith(where)], problems


def test_a_table_that_is_written_with_others(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "results" / "mindspore_db", tmp_path / "logs")
    with closing(sqlite3.connect(min((tmp_path / "logs").rglob("communication_analyzer.db")))) as connection:
        connection.execute("DROP TABLE CommAnalyzerBandwidth")
        connection.execute("ALTER TABLE CommAnalyzerTime RENAME COLUMN wait_time TO other")
        connection.commit()
    problems = problems_of(tmp_path)
    assert {(one["code"], one["where"]) for one in problems} == {
        ("lost_table", "CommAnalyzerBandwidth"),
        ("lost_column", "CommAnalyzerTime"),
    }


@pytest.mark.parametrize("figure", [1e25, 10**18])
def test_figures_of_a_database_that_no_time_has(tmp_path: Path, figure: float) -> None:
    shutil.copytree(FIXTURES / "results" / "db_only", tmp_path / "logs")
    with closing(sqlite3.connect(min((tmp_path / "logs").rglob("analysis.db")))) as connection:
        connection.execute("UPDATE StepTraceTime SET bubble = ?", (figure,))
        connection.commit()
    problems = problems_of(tmp_path)
    assert [(one["code"], one["where"]) for one in problems] == [("bad_cell", "StepTraceTime, bubble")]


def test_a_column_of_some_releases_that_another_table_has(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "recorded" / "cluster_db", tmp_path / "logs")
    with closing(sqlite3.connect(min((tmp_path / "logs").rglob("cluster_analysis.db")))) as connection:
        connection.execute("ALTER TABLE ClusterCommunicationTime RENAME COLUMN step TO other")
        connection.commit()
    problems = problems_of(tmp_path)
    assert {(one["code"], one["where"]) for one in problems} == {("lost_column", "ClusterCommunicationTime")}


def test_impossible_figures_are_unknown_and_repeated_rows_count_once() -> None:
    row = {"type": "Mul", "core": "AI_CORE", "calls": 3, "total_ns": 20, "ratio": 40.0}
    rows = [row, {**row, "type": "Add", "total_ns": -5_000, "ratio": 1e25}, row, {**row, "calls": 4}]
    log = ProblemLog()
    found = check_rows({"op_statistic": table_of("op_statistic", rows)}, {"op_statistic": "a.csv"}, log)["op_statistic"]
    assert found.text("type").tolist() == ["Mul", "Add"]
    assert found.ints("total_ns").tolist() == [20, NULL_INT] and found.floats("ratio")[1] != found.floats("ratio")[1]
    assert [(one.code, one.where, one.count) for one in log.list()] == [
        ("out_of_bounds", "row 2, Total Time(us)", 1),
        ("out_of_bounds", "row 2, Ratio(%)", 1),
        ("repeated_row", "row 3 and 1 more", 2),
    ]


def test_rows_in_another_order_are_sorted() -> None:
    rows = [{"name": name, "start_ns": at, "dur_ns": 1} for name, at in (("b", 20), ("a", 10), ("c", 30))]
    log = ProblemLog()
    found = check_rows({"kernels": table_of("kernels", rows)}, {"kernels": "a.csv"}, log)["kernels"]
    assert found.text("name").tolist() == ["a", "b", "c"]
    assert [one.code for one in log.list()] == ["not_in_order"]
    assert check_rows({"kernels": found}, {}, ProblemLog())["kernels"] is found, "in order, nothing is copied"


def test_names_of_a_file_make_few_problems() -> None:
    log = ProblemLog()
    for number in range(5000):
        FileReport(log, "profiler_info.json").add("lost_key", f"key{number}", kind=f"key{number}")
    assert len(log.list()) == MAX_KINDS + 1
    assert sum(problem.count for problem in log.list()) == 5000


def test_a_long_name_makes_a_short_place() -> None:
    log = ProblemLog()
    FileReport(log, "communication.json").add("lost_key", "step1, " + "x" * 900_000)
    assert len(log.list()[0].where) == MAX_WHERE
