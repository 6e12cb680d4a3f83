"""Output of `msprof-analyze cluster`: cluster_analysis_output, figures of all ranks of a run. Source: msprof-analyze
26.2.0, run on results of `tb-npu mock`; docs/facts/analysis.md, msprof-analyze cluster."""

from __future__ import annotations

import dataclasses
import re

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema import torch_npu_db as db
from tb_npu_plugin.schema.core import SELDOM, Condition
from tb_npu_plugin.schema.files import result_file
from tb_npu_plugin.schema.scan_keys import DB_STEPS, DB_TIME, INDEX_HEADER, TYPE_HEADER
from tb_npu_plugin.schema.torch_npu_csv import STEP_TRACE
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION, COMMUNICATION_MATRIX
from tb_npu_plugin.tables import Column, Kind, column_texts

T = Kind.TEXT

#: Rank of each row; not a column of a span's tables.
RANK = Column("rank", Kind.INT, *column_texts("cluster.rank"), "identity", (INDEX_HEADER,))
#: Row type: "rank", or "stage" for the largest figures of a pipeline stage.
ROW_TYPE = Column("row_type", T, *column_texts("row_type"), "identity", (TYPE_HEADER,))
INDEX_COLUMN = Column("index", T, *column_texts("index"), "identity", (INDEX_HEADER,), required=True)

_TEXT = Condition(Message("option.either", one="-m all", other="communication_time"), Message("written.from_text"))
_MATRIX = Condition(Message("option.either", one="-m all", other="communication_matrix"), Message("written.from_text"))

#: Kinds of parallelism in which a rank has a position.
PARALLEL = ("DP", "PP", "TP")

STEPS = dataclasses.replace(
    STEP_TRACE,
    name="cluster_step_trace_time.csv",
    condition=_TEXT,
    columns=(
        *STEP_TRACE.columns[1:],
        ROW_TYPE,
        *(
            Column(
                f"{name.lower()}_index",
                Kind.INT,
                *column_texts("parallel_index", name=name),
                "identity",
                (f"{name} Index",),
                written=SELDOM,
            )
            for name in PARALLEL
        ),
        INDEX_COLUMN,
    ),
)
COMMUNICATIONS = dataclasses.replace(COMMUNICATION, name="cluster_communication.json", condition=_TEXT)
MATRIX = dataclasses.replace(COMMUNICATION_MATRIX, name="cluster_communication_matrix.json", condition=_MATRIX)
GROUPS = result_file("cluster.cluster_groups")
DATABASE = result_file("cluster.cluster_db")
CLUSTER_FILES = (STEPS, COMMUNICATIONS, MATRIX, GROUPS, DATABASE)

#: Collectives between two ranks, by name.
POINT_TO_POINT = re.compile(r"send|receive|recv", re.IGNORECASE)
#: Those that receive, and batches of sends and receives.
RECEIVE, BATCH = re.compile(r"receive|recv", re.IGNORECASE), re.compile(r"batch", re.IGNORECASE)

# Tables of the database: those of analysis.db, with the rank of each row.
DB_BANDWIDTH, DB_MATRIX = "ClusterCommunicationBandwidth", "ClusterCommunicationMatrix"
_RANK_ID = db.Field("rank", ("rank_id",), required=True)
STEP_ROWS = db.Select(
    DB_STEPS,
    (
        *db.STEP_TRACE.fields,
        db.Field(ROW_TYPE.key, ("type",), db.Content.TEXT),
        db.Field(INDEX_COLUMN.key, ("index",), db.Content.TEXT),
    ),
)
TIME_ROWS = db.Select(DB_TIME, (*db.COMM_TIME.fields, _RANK_ID))
BANDWIDTH_ROWS = db.Select(DB_BANDWIDTH, (*db.COMM_BANDWIDTH.fields, _RANK_ID))
#: A link belongs to the rank at its start.
MATRIX_ROWS = db.Select(
    DB_MATRIX,
    tuple(dataclasses.replace(field, required=field.required or field.key == "src") for field in db.COMM_MATRIX.fields),
)
