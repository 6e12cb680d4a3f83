"""What the scan of a logdir looks for inside files. Imports nothing heavy: a process that only needs these names starts
with every scan that finds new files (discovery/look_process.py)."""

from __future__ import annotations

import re

#: Maximum digits of a rank; int() raises for thousands of digits.
MAX_DIGITS = 9
#: Upper bound of ranks, exclusive.
MAX_RANK = 10**MAX_DIGITS

# Members of profiler_metadata.json: communicators, each with its role and its ranks, and Megatron's arguments.
GROUPS, ROLE, MEMBERS = "parallel_group_info", "group_name", "global_ranks"
MEGATRON, WORLD_SIZE = "distributed_args", "world_size"
#: The role of the communicator of all ranks.
WORLD = "default_group"

# Members of a Kineto trace before its events.
SCHEMA_VERSION = "schemaVersion"
EVENTS = "traceEvents"
DISTRIBUTED = "distributedInfo"
RANK = "rank"

# Ranks of a cluster_analysis_output: columns of the step times, keys of communication_group.json, tables of the database.
TYPE_HEADER, INDEX_HEADER = "Type", "Index"
#: Type of the rows of one rank.
BY_RANK = "rank"
#: Type of the rows of pipeline stages, which views compute from those of their ranks.
BY_STAGE = "stage"
#: Numbers in an index: "(0, 1)" for a stage; one number for a rank.
INDEX = re.compile(r"\d{1,9}")
#: Keys of communication_group.json that hold lists of ranks.
GROUP_KINDS = ("collective", "p2p")
DB_STEPS, DB_TIME = "ClusterStepTraceTime", "ClusterCommunicationTime"
DB_RANKS = (
    f"SELECT DISTINCT \"index\" FROM {DB_STEPS} WHERE type = '{BY_RANK}'",
    f"SELECT DISTINCT rank_id FROM {DB_TIME}",
)
