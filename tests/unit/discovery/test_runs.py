"""A run is a job: which folders are joined, and which are only offered as one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.discovery.logdirs import joined_logdirs, parse_logdirs
from tb_npu_plugin.discovery.look_client import Looks
from tb_npu_plugin.discovery.model import Scan
from tb_npu_plugin.discovery.runs import Choice, regroup
from tb_npu_plugin.discovery.scan import scan
from tb_npu_plugin.messages import Message
from tb_npu_plugin.service.choice import choose_parts, choose_run
from tb_npu_plugin.service.ranks import first_spans
from tests.unit.discovery.test_layouts import trace
from tests.unit.store.results import KERNELS

KEY = "10.0.0.1%eth0_60000_0_1749970705123456"
AT = "20250615070000123"


def capture(
    folder: Path,
    rank: int | None,
    world: int = 4,
    key: str = KEY,
    at: str = AT,
    host: str = "host",
    members: range | None = None,
    role: str = "default_group",
    tp: int = 1,
) -> None:
    """A rank of a job; key "": it tells no communicator. members: of its largest one, if not all ranks."""
    result = folder / f"{host}_{1000 + (rank or 0)}_{at}_ascend_pt"
    (result / "ASCEND_PROFILER_OUTPUT").mkdir(parents=True)
    (result / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").write_text(KERNELS)
    info = "profiler_info.json" if rank is None else f"profiler_info_{rank}.json"
    (result / info).write_text("{}")
    group = {"group_name": role, "group_rank": rank, "global_ranks": list(members or range(world))}
    metadata = {
        "parallel_group_info": {key: group},
        "distributed_args": {"world_size": world, "tensor_model_parallel_size": tp},
    }
    if key:
        (result / "profiler_metadata.json").write_text(json.dumps(metadata))


def runs(found: Scan) -> dict[str, list[int | None]]:
    """Ranks by the label of the run."""
    return {run.label: [worker.rank for worker in run.workers] for run in found.runs}


@pytest.mark.parametrize(
    ("folders", "label", "order"),
    [
        (("", "", "", ""), "logs", ["logs"]),
        (("10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.2"), "10.0.0.1 + 1", ["10.0.0.1", "10.0.0.2"]),
        (
            ("w1/profiler", "w1/profiler", "w0/profiler", "w0/profiler"),
            "w0/profiler + 1",
            ["w0/profiler", "w1/profiler"],
        ),
        (("node10", "a/b", "node9", "a/b"), "a/b + 2", ["a/b", "node9", "node10"]),
    ],
)
def test_folders_of_one_job_are_one_run_and_old_links_lead_to_it(
    tmp_path: Path, folders: tuple[str, ...], label: str, order: list[str]
) -> None:
    logs = tmp_path / "logs"
    for rank, folder in enumerate(folders):
        capture(logs / folder, rank)
    old = {}  # ids of each folder and worker before its job was known
    for path in logs.rglob("profiler_metadata.json"):
        path.rename(path.with_name("hidden"))
    for run in scan({"": logs}).runs:
        old |= {run.label: run.token, **{worker.label: worker.token for worker in run.workers}}
    for path in logs.rglob("hidden"):
        path.rename(path.with_name("profiler_metadata.json"))
    found = scan({"": logs})
    assert runs(found) == {label: [0, 1, 2, 3]}
    (run,) = found.runs
    assert [folder.label for folder in run.folders] == order
    for name in order:
        assert choose_run(found, old[name]) is choose_run(found, name) is run
    assert [worker.token for worker in run.workers] == [old[worker.label] for worker in run.workers]


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"world": 8, "members": range(4)}, "another world size"),
        ({"members": range(2, 4)}, "other members, with the name that a script gave"),
        ({"key": "10.0.0.9%eth0_60000_0_17"}, "another communicator"),
        ({"tp": 2}, "another parallel size"),
    ],
)
def test_two_jobs_side_by_side_stay_two(tmp_path: Path, other: dict[str, Any], why: str) -> None:
    for rank in (0, 1):
        capture(tmp_path / "a", rank)
        capture(tmp_path / "b", rank + 2, **other)
    found = scan({"": tmp_path})
    assert runs(found) == {"a": [0, 1], "b": [2, 3]}, why
    assert not found.offers


def test_ranks_of_one_communicator_an_hour_apart_are_offered_as_one(tmp_path: Path) -> None:
    for rank in (0, 1):
        capture(tmp_path / "a", rank)
        capture(tmp_path / "b", rank + 2, at="20250615080000123")
        capture(tmp_path / "c", rank + 4, key="another", world=8, at="20250615080000123")
    found = scan({"": tmp_path})
    assert list(runs(found)) == ["a", "b", "c"]
    (offer,) = found.offers
    assert (offer.runs, offer.reason.code) == (tuple(run.token for run in found.runs[:2]), "run.other_times")


LATER = "20250615080000123"


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ({"ranks": (2, 3), "at": LATER}, {"logs": [0, 1], "logs · job 2": [2, 3]}),
        ({"ranks": (0, 1), "world": 8}, {"logs": [0, 1], "logs · job 2": [0, 1]}),
        ({"ranks": (0,), "at": LATER}, {"logs": [0, 1], "logs · job 2": [0]}),
        ({"ranks": (0, 1), "world": 8, "at": LATER}, {"logs": [0, 1], "logs · job 2": [0, 1]}),
        ({"ranks": (2, 3)}, {"logs": [0, 1], "logs · job 2": [2, 3]}),  # at the same time
    ],
)
def test_two_jobs_in_one_folder_are_two_runs(tmp_path: Path, second: dict[str, Any], expected: dict[str, Any]) -> None:
    """Their ranks were those of one job."""
    ranks = second.pop("ranks")
    logs = tmp_path / "logs"
    for rank in (0, 1):
        capture(logs, rank)
    alone = scan({"": logs}).runs[0].token
    for rank in ranks:
        capture(logs, rank, key="another", host="other", **second)
    found = scan({"": logs})
    assert runs(found) == expected and not found.offers
    assert {run.basis.code for run in found.runs} == {"run.shared"} and found.runs[0].token == alone
    joined = regroup(found, Choice(frozenset({frozenset(run.token for run in found.runs)})))
    assert [run.basis.code for run in joined.runs] == ["run.chosen"]


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ({}, {"world": 8}, "run.shared.world"),
        ({"role": "tp"}, {"role": "tp", "world": 8}, "run.shared.world"),  # nobody names the communicator of all ranks
        ({}, {"key": "10.0.0.9%eth0_60000_0_17"}, "run.shared.all"),
        ({}, {"tp": 2}, "run.shared.sizes"),
        ({"role": "tp", "members": range(3)}, {"role": "tp", "members": range(2, 4)}, "run.shared.group"),
        ({"world": 2}, {"key": ""}, "run.shared.rank"),
        ({"world": 2}, {"world": 2}, "run.shared.rank"),  # these metadata are of another job than their rank
        ({"role": "tp", "members": range(2)}, {"role": "tp", "members": range(2, 4)}, ""),  # named alike by a script
        ({}, {"key": ""}, ""),
        ({"key": ""}, {"key": ""}, ""),
        ({}, {}, ""),
    ],
)
def test_other_ranks_at_one_time_are_another_job_only_where_metadata_contradict(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], why: str
) -> None:
    for rank in (0, 1):
        capture(tmp_path / "logs", rank, **first)
        capture(tmp_path / "logs", rank + 2, **second)
    found = scan({"": tmp_path / "logs"})
    split = {"logs": [0, 1], "logs · job 2": [2, 3]}
    assert runs(found) == (split if why else {"logs": [0, 1, 2, 3]})
    assert [run.basis.params.get("why") for run in found.runs] == ([Message(why)] * 2 if why else [None])
    assert len({run.token for run in found.runs}) == len(found.runs) and not found.offers


def test_traces_of_gpus_tell_two_jobs_by_their_process_groups(tmp_path: Path) -> None:
    def gpu(rank: int, world: int, members: list[int]) -> None:
        groups = [{"pg_name": "0", "pg_size": world, "ranks": list(range(world))}, {"pg_name": "3", "ranks": members}]
        settings = {"rank": rank, "world_size": world, "pg_config": groups}
        trace(tmp_path / "logs" / f"{rank}.pt.trace.json", distributedInfo=settings)

    for rank, members in enumerate(([0, 1], [0, 1], [2, 3])):
        gpu(rank, 4, members)
    assert runs(scan({"": tmp_path})) == {"logs": [0, 1, 2]}
    gpu(3, 4, [1, 2, 3])
    assert runs(scan({"": tmp_path})) == {"logs": [0, 1, 2], "logs · job 2": [3]}
    gpu(3, 8, [2, 3])
    assert runs(scan({"": tmp_path})) == {"logs": [0, 1, 2], "logs · job 2": [3]}


def test_of_very_many_ranks_one_of_each_host_tells_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rank in range(80):
        capture(tmp_path / "logs", rank, world=80 + rank // 40, host=f"node{rank // 8}")
    asked: list[str] = []
    real = Looks.ask
    monkeypatch.setattr(Looks, "ask", lambda self, look, path, *key: asked.append(path) or real(self, look, path, *key))
    assert runs(scan({"": tmp_path})) == {"logs": list(range(40)), "logs · job 2": list(range(40, 80))}
    assert len(set(asked)) == 10


def test_a_job_that_was_started_again_is_one_run_that_can_be_split(tmp_path: Path) -> None:
    for rank in (0, 1):
        capture(tmp_path / "logs", rank)
        capture(tmp_path / "logs", rank, key="another", at=LATER)
    found = scan({"": tmp_path / "logs"})
    (run,) = found.runs
    assert (run.label, run.basis.code) == ("logs", "run.restarted")
    assert [(worker.rank, len(worker.spans)) for worker in run.workers] == [(0, 2), (1, 2)]
    split = regroup(found, Choice(split=frozenset({run.token})))
    assert runs(split) == {"logs": [0, 1], "logs · job 2": [0, 1]}


def test_one_job_recorded_twice_stays_whole(tmp_path: Path) -> None:
    for rank in (0, 1):
        capture(tmp_path / "logs", rank)
        capture(tmp_path / "logs", rank, at=LATER)
    assert [(run.label, run.basis.code) for run in scan({"": tmp_path / "logs"}).runs] == [("logs", "run.folder")]


def test_a_folder_that_claims_a_job_but_has_its_ranks_is_not_joined(tmp_path: Path) -> None:
    for rank in range(4):
        capture(tmp_path / ("a" if rank < 2 else "b"), rank)
        capture(tmp_path / "claims", rank, host="other")
    assert runs(scan({"": tmp_path})) == {"a + 1": [0, 1, 2, 3], "claims": [0, 1, 2, 3]}


def test_a_rank_that_its_communicator_does_not_have_is_of_another_job(tmp_path: Path) -> None:
    for rank in range(4):
        capture(tmp_path / f"n{rank // 2}", rank)
    capture(tmp_path / "n2", 7)
    assert runs(scan({"": tmp_path})) == {"n0 + 1": [0, 1, 2, 3], "n2": [7]}


def test_captures_of_one_job_one_after_another_are_runs_of_their_own(tmp_path: Path) -> None:
    for step in ("step9", "step10"):
        for rank in range(4):
            capture(tmp_path / step / f"n{rank // 2}", rank)
    assert runs(scan({"": tmp_path})) == {"step9/n0 + 1": [0, 1, 2, 3], "step10/n0 + 1": [0, 1, 2, 3]}


@pytest.mark.parametrize("content", ["", "[]", '{"parallel_group_info": 3}', '{"parallel_group_info": {"x": [0, 1]}}'])
def test_damaged_metadata_join_nothing(tmp_path: Path, content: str) -> None:
    for rank in range(4):
        capture(tmp_path / f"n{rank // 2}", rank)
    for path in tmp_path.rglob("profiler_metadata.json"):
        path.write_text(content)
    assert runs(scan({"": tmp_path})) == {"n0": [0, 1], "n1": [2, 3]}


def test_without_metadata_nodes_are_only_offered_as_one(tmp_path: Path) -> None:
    for number in range(4):
        capture(tmp_path / f"node{'AB'[number // 2]}", None, key="", host=f"node{'AB'[number // 2]}{number}")
    found = scan({"": tmp_path})
    (offer,) = found.offers
    assert offer.runs == tuple(run.token for run in found.runs) and offer.reason.code == "run.other_hosts"
    for path in tmp_path.rglob("profiler_info.json"):
        path.rename(path.with_name(f"profiler_info_{path.parent.name[5]}.json"))
    (offer,) = scan({"": tmp_path}).offers
    assert offer.reason.code == "run.other_ranks"
    capture(tmp_path / "nodeC", 3, key="", host="nodeC")
    assert not scan({"": tmp_path}).offers  # a rank that nodeB has


def test_communicators_of_some_ranks_prove_neither_one_job_nor_two(tmp_path: Path) -> None:
    for rank in range(4):
        capture(
            tmp_path / f"n{rank // 2}",
            rank,
            key=f"tp {rank // 2}",
            role="tp",
            members=range(rank // 2 * 2, rank // 2 * 2 + 2),
        )
    found = scan({"": tmp_path})
    assert runs(found) == {"n0": [0, 1], "n1": [2, 3]} and len(found.offers) == 1


def test_one_thousand_folders_take_one_look_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rank in range(60):
        capture(tmp_path / f"n{rank // 2}", rank, world=60)
        capture(tmp_path / f"again{rank}", 0, key=f"other{rank}", at="20250615080000123")  # one rank: cannot be joined
    asked: list[str] = []
    real = Looks.ask
    monkeypatch.setattr(Looks, "ask", lambda self, look, path, *key: asked.append(path) or real(self, look, path, *key))
    assert runs(scan({"": tmp_path}))["n0 + 29"] == list(range(60))
    assert len(asked) == len(set(asked)) == 30 and all("/n" in path for path in asked)


@pytest.mark.parametrize(
    ("names", "workers"),
    [
        ("ascend_pytorch_profiler_0.db ascend_pytorch_profiler_1.db", {0: 1, 1: 1}),
        ("analysis1.db analysis2.db", {1: 1, 2: 1}),
        ("analysis_1.db ascend_pytorch_profiler_1.db ascend_pytorch_profiler_12.db", {1: 2, 12: 1}),
        ("ascend_pytorch_profiler_3.db analysis.db", {3: 2}),
        ("ascend_pytorch_profiler_0.db ascend_pytorch_profiler_1.db analysis.db", {0: 1, 1: 1, None: 1}),
        ("profiler_info_1.json kernel_details.csv analysis0.db analysis1.db", {0: 1, 1: 3}),
        ("profiler_info.json analysis0.db analysis1.db", {0: 2, 1: 2}),  # the settings of all
    ],
)
def test_databases_in_one_folder_are_a_worker_each(tmp_path: Path, names: str, workers: dict[int | None, int]) -> None:
    for name in names.split():
        (tmp_path / "copied").mkdir(exist_ok=True)
        (tmp_path / "copied" / name).write_text("{}")
    (run,) = scan({"": tmp_path}).runs
    assert {worker.rank: len(worker.spans[0].files) for worker in run.workers} == workers
    tokens = {place.token for worker in run.workers for place in worker.spans}
    assert len(tokens) == len(workers)
    assert run.label == ("copied" if len(workers) > 1 else tmp_path.name)


def test_roles_of_a_job_are_workers_of_one_run_and_steps_are_their_captures(tmp_path: Path) -> None:
    for step in ("1", "2"):
        for role in ("rollout_generate", "actor_update", "e2e"):
            for rank in (0, 1):
                capture(tmp_path / "exp" / step / role, rank, world=2)
    capture(tmp_path / "exp", 0, world=2)  # a call without a role
    capture(tmp_path / "other" / "e2e", 0, world=2)  # only a name
    found = scan({"": tmp_path})
    assert [run.label for run in found.runs] == ["exp", "other/e2e"] and not found.offers
    job = found.runs[0]
    assert [(worker.role, worker.rank, len(worker.spans)) for worker in job.workers] == [
        ("", 0, 1),
        ("actor_update", 0, 2),
        ("actor_update", 1, 2),
        ("e2e", 0, 2),
        ("e2e", 1, 2),
        ("rollout_generate", 0, 2),
        ("rollout_generate", 1, 2),
    ]
    assert [span.identity.role_step for span in job.workers[1].spans] == ["1", "2"]
    assert not [note for span in job.spans for note in span.notes if note.code == "shared_rank"]
    assert {folder.label for folder in job.folders} >= {"exp/1/e2e", "exp/2/actor_update"}
    assert all(choose_run(found, folder.token) is job for folder in job.folders)
    places = [place for place in found.places() if place.run is job]
    of_role = first_spans(places, job.workers[2].spans[1].token)  # as any of its role and step
    assert [place.span.token for place in of_role] == [worker.spans[1].token for worker in job.workers[1:3]]
    parts, left_out = choose_parts(found, ["exp"], 2)
    assert [part.label for part in parts] == ["exp", "exp · actor_update"]
    others = ["exp · actor_update", "exp · e2e", "exp · rollout_generate"]  # the second step, too
    assert [one["run"] for one in left_out] == others
    assert [part.role for part in choose_parts(found, ["exp · e2e"], 9)[0]] == ["e2e", "e2e"]


def test_what_the_user_chose_wins(tmp_path: Path) -> None:
    for rank in range(4):
        capture(tmp_path / f"n{rank // 2}", rank)
        capture(tmp_path / f"other{rank // 2}", rank, key=f"unknown {rank // 2}")
    found = scan({"": tmp_path})
    assert list(runs(found)) == ["n0 + 1", "other0", "other1"]
    ids = {folder.label: folder.token for run in found.runs for folder in run.folders}
    others = frozenset({ids["other0"], ids["other1"], "r0"})
    chosen = regroup(found, Choice(frozenset({others}), frozenset({ids["n1"]})))
    assert runs(chosen) == {"n0": [0, 1], "n1": [2, 3], "other0 + 1": [0, 1, 2, 3]}
    assert [run.basis.code for run in chosen.runs] == ["run.split", "run.split", "run.chosen"]
    assert runs(found) == {"n0 + 1": [0, 1, 2, 3], "other0": [0, 1], "other1": [2, 3]}, "the scan stays as it is"
    assert regroup(found, Choice()) == found


def test_folders_of_one_name_in_logdir_spec_are_one_run_and_those_of_others_are_not(tmp_path: Path) -> None:
    for rank in range(4):
        capture(tmp_path / f"n{rank // 2}", rank, key="")
        capture(tmp_path / f"m{rank // 2}", rank)  # one job, which the user calls by two names
    names = {"n0": "job", "n1": "job", "m0": "first", "m1": "second"}
    spec = ",".join(f"{name}:{tmp_path / folder}" for folder, name in names.items())
    found = scan(parse_logdirs("", spec), joined=joined_logdirs(spec))
    assert runs(found) == {"first": [0, 1], "job + 1": [0, 1, 2, 3], "second": [2, 3]}
    assert joined_logdirs(f"{tmp_path / 'n0'},{tmp_path / 'n0'}") == [], "nobody named them"


def test_chosen_folders_whose_processes_have_no_name_keep_a_worker_each(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        trace(tmp_path / folder / "anything.json", traceName="x")
    found = scan({"": tmp_path})
    chosen = regroup(found, Choice(frozenset({frozenset(run.token for run in found.runs)})))
    (run,) = chosen.runs
    assert [(worker.label, len(worker.spans)) for worker in run.workers] == [("worker", 1)] * 2
    assert [worker.token for worker in run.workers] == [run.workers[0].token for run in found.runs]
