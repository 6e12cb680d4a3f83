"""The databases of a `*_ascend_pt` result: tables and columns. Source: docs/facts/databases.md.

Times are ns since the epoch and sizes bytes in the profiler's database, us and ms in analysis.db. Texts of the
profiler's database are ids of STRING_IDS.
"""

from __future__ import annotations

import re

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.core import Condition, ResultFile
from tb_npu_plugin.schema.link_files import HCCS_KINDS, LINK_TABLES, PCIE_KINDS

PROFILER_DB = "ascend_pytorch_profiler"
ANALYSIS_DB = "analysis.db"

#: First ids of STRING_IDS by owner of the text: CANN, CANN's copy of framework memory, the framework, its memory.
CANN_STRINGS, ENGINE_STRINGS, TORCH_STRINGS, MEMORY_STRINGS = 0, 1 << 27, 1 << 28, 2 << 28
#: Offset of the connection ids of task queue and forward-backward links, which separates them from CANN's.
CONNECTION_OFFSET = 5 << 28
NO_ID = (1 << 32) - 1

_NETWORK = ", ".join(
    (
        "deviceId INTEGER, timestampNs INTEGER, bandwidth INTEGER",
        *(
            f"{way}PacketRate NUMERIC, {way}ByteRate NUMERIC, {way}Packets INTEGER, {way}Bytes INTEGER, {way}Errors INTEGER, "
            f"{way}Dropped INTEGER"
            for way in ("rx", "tx")
        ),
        "funcId INTEGER",
    )
)
#: Bandwidths and rates in bytes per second, latencies in ns; packets and bytes are counted since the device started.
_LINKS: dict[str, str] = {
    "NIC": _NETWORK,
    "ROCE": _NETWORK,
    "PCIE": ", ".join(
        (
            "deviceId INTEGER, timestampNs INTEGER",
            *(f"{name}{end} NUMERIC" for name, _ in PCIE_KINDS.values() for end in ("Min", "Max", "Avg")),
        )
    ),
    "HCCS": ", ".join(
        ("deviceId INTEGER, timestampNs INTEGER", *(f"{name} NUMERIC" for name, _ in HCCS_KINDS.values()))
    ),
}
#: Table -> columns with their declared types.
TABLES: dict[str, str] = {
    "STRING_IDS": "id INTEGER PRIMARY KEY, value TEXT",
    "RANK_DEVICE_MAP": "rankId INTEGER, deviceId INTEGER",
    "HOST_INFO": "hostUid TEXT, hostName TEXT",
    "SESSION_TIME_INFO": "startTimeNs INTEGER, endTimeNs INTEGER",
    "NPU_INFO": "id INTEGER, name TEXT",
    "META_DATA": "name TEXT, value TEXT",
    "PYTORCH_API": "startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER, "
    "sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER, callchainId INTEGER, "
    "type INTEGER",
    "CONNECTION_IDS": "id INTEGER, connectionId INTEGER",
    "PYTORCH_CALLCHAINS": "id INTEGER, stack INTEGER, stackDepth INTEGER",
    "STEP_TIME": "id INTEGER, startNs INTEGER, endNs INTEGER",
    "GC_RECORD": "startNs INTEGER, endNs INTEGER, globalTid INTEGER",
    "MEMORY_RECORD": "component INTEGER, timestamp INTEGER, totalAllocated INTEGER, totalReserved INTEGER, "
    "totalActive INTEGER, streamPtr INTEGER, deviceId INTEGER",
    "OP_MEMORY": "name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER, activeReleaseTime INTEGER, "
    "duration INTEGER, activeDuration INTEGER, allocationTotalAllocated INTEGER, allocationTotalReserved INTEGER, "
    "allocationTotalActive INTEGER, releaseTotalAllocated INTEGER, releaseTotalReserved INTEGER, "
    "releaseTotalActive INTEGER, streamPtr INTEGER, deviceId INTEGER",
    "TASK": "startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER, "
    "globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER",
    "COMPUTE_TASK_INFO": "name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockNum INTEGER, mixBlockNum INTEGER, "
    "taskType INTEGER, opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER, "
    "outputFormats INTEGER, outputDataTypes INTEGER, outputShapes INTEGER, attrInfo INTEGER, opState INTEGER, "
    "hf32Eligible INTEGER",
    "COMMUNICATION_OP": "opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER, "
    "opId INTEGER PRIMARY KEY, relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER, count NUMERIC, "
    "opType INTEGER, deviceId INTEGER",
    "COMMUNICATION_TASK_INFO": "name INTEGER, globalTaskId INTEGER, taskType INTEGER, planeId INTEGER, "
    "groupName INTEGER, notifyId INTEGER, rdmaType INTEGER, srcRank INTEGER, dstRank INTEGER, transportType INTEGER, "
    "size INTEGER, dataType INTEGER, linkType INTEGER, opId INTEGER, isMaster INTEGER, bandwidth NUMERIC",
    "CANN_API": "startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER PRIMARY KEY, "
    "name INTEGER",
    "MSTX_EVENTS": "startNs INTEGER, endNs INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER, "
    "message INTEGER, globalTid INTEGER, endGlobalTid INTEGER, domainId INTEGER, connectionId INTEGER",
    "TASK_PMU_INFO": "globalTaskId INTEGER, name INTEGER, value NUMERIC",
    "NPU_MEM": "type INTEGER, ddr NUMERIC, hbm NUMERIC, timestampNs INTEGER, deviceId INTEGER",
    "NPU_MODULE_MEM": "moduleId INTEGER, timestampNs INTEGER, totalReserved NUMERIC, deviceId INTEGER",
    "NPU_OP_MEM": "operatorName INTEGER, addr INTEGER, type INTEGER, size INTEGER, timestampNs INTEGER, "
    "globalTid INTEGER, totalAllocate NUMERIC, totalReserve NUMERIC, component INTEGER, deviceId INTEGER",
    "HBM": "deviceId INTEGER, timestampNs INTEGER, bandwidth NUMERIC, hbmId INTEGER, type INTEGER",
    "LLC": "deviceId INTEGER, llcId INTEGER, timestampNs INTEGER, hitRate REAL, throughput INTEGER, mode INTEGER",
    "AICORE_FREQ": "deviceId INTEGER, timestampNs NUMERIC, freq INTEGER",
    **_LINKS,
}
#: Tables of some recordings only.
OPTIONAL_TABLES: dict[str, str] = {
    "COMMUNICATION_SCHEDULE_TASK_INFO": "name INTEGER, globalTaskId INTEGER PRIMARY KEY, taskType INTEGER, opType INTEGER",
    "ACC_PMU": "accId INTEGER, readBwLevel INTEGER, writeBwLevel INTEGER, readOstLevel INTEGER, writeOstLevel INTEGER, "
    "timestampNs NUMERIC, deviceId INTEGER",
    "SOC_BANDWIDTH_LEVEL": "l2BufferBwLevel INTEGER, mataBwLevel INTEGER, timestampNs NUMERIC, deviceId INTEGER",
    "QOS": "deviceId INTEGER, eventName INTEGER, bandwidth NUMERIC, timestampNs INTEGER",
    "MEMCPY_INFO": "globalTaskId INTEGER, size INTEGER, memcpyOperation INTEGER",
    "ENUM_MEMCPY_OPERATION": "id INTEGER PRIMARY KEY, name TEXT",
    "MSTX_EVENTS": "startNs INTEGER, endNs INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER, "
    "message INTEGER, globalTid INTEGER, endGlobalTid INTEGER, domainId INTEGER, connectionId INTEGER",
}
#: Tables that exist even without rows; others are created with their first row.
ALWAYS = ("STRING_IDS", "RANK_DEVICE_MAP", "HOST_INFO", "SESSION_TIME_INFO", "NPU_INFO", "META_DATA")
INDEXES = {
    "TASK": "TaskIndex ON TASK (startNs, globalTaskId)",
    "COMMUNICATION_TASK_INFO": "CommunicationTaskIndex ON COMMUNICATION_TASK_INFO (globalTaskId)",
}

#: Modules of the driver that hold memory, by their number.
_MODULES = [
    "SLOG",
    "IDEDD",
    "IDEDH",
    "HCCL",
    "FMK",
    "HIAIENGINE",
    "DVPP",
    "RUNTIME",
    "CCE",
    "HDC",
    "DRV",
    "MDCFUSION",
    "MDCLOCATION",
    "MDCPERCEPTION",
    "MDCFSM",
    "MDCCOMMON",
    "MDCMONITOR",
    "MDCBSWP",
    "MDCDEFAULT",
    "MDCSC",
    "MDCPNC",
    "MLL",
    "DEVMM",
    "KERNEL",
    "LIBMEDIA",
    "CCECPU",
    "ASCENDDK",
    "ROS",
    "HCCP",
    "ROCE",
    "TEFUSION",
    "PROFILING",
    "DP",
    "APP",
    "TS",
    "TSDUMP",
    "AICPU",
    "LP",
    "TDT",
    "FE",
    "MD",
    "MB",
    "ME",
    "IMU",
    "IMP",
    "GE",
    "MDCFUSA",
    "CAMERA",
    "ASCENDCL",
    "TEEOS",
    "ISP",
    "SIS",
    "HSM",
    "DSS",
    "PROCMGR",
    "BBOX",
    "AIVECTOR",
    "TBE",
    "FV",
    "MDCMAP",
    "TUNE",
    "HSS",
    "FFTS",
    "OP",
    "UDF",
    "HICAID",
    "TSYNC",
    "AUDIO",
    "TPRT",
    "ASCENDCKERNEL",
    "ASYS",
    "ATRACE",
    "RTC",
    "SYSMONITOR",
    "AMP",
    "ADETECT",
    "MBUFF",
    "CUSTOM",
]

#: Types of PYTORCH_API and CANN_API.
API_TYPES = {
    "runtime": 5000,
    "communication": 5500,
    "node": 10000,
    "model": 15000,
    "acl": 20000,
    "op": 50001,
    "queue": 50002,
    "trace": 50003,
    "mstx": 50004,
}
#: Name prefix of operators that set marks: their type is "mstx"; text exports list them as operators.
MARK_OPERATOR = "mstx_"
_NONE = {"N/A": 65534, "INVALID_TYPE": 65535}
ENUMS: dict[str, dict[str, int]] = {
    "ENUM_API_TYPE": API_TYPES,
    "ENUM_HCCL_DATA_TYPE": {
        name: number
        for number, name in enumerate(
            (
                "INT8",
                "INT16",
                "INT32",
                "FP16",
                "FP32",
                "INT64",
                "UINT64",
                "UINT8",
                "UINT16",
                "UINT32",
                "FP64",
                "BFP16",
                "INT128",
            )
        )
    }
    | _NONE,
    "ENUM_HCCL_LINK_TYPE": {
        name: number
        for number, name in enumerate(
            ("ON_CHIP", "HCCS", "PCIE", "ROCE", "SIO", "HCCS_SW", "STANDARD_ROCE", "RESERVED")
        )
    }
    | _NONE,
    "ENUM_HCCL_TRANSPORT_TYPE": {"SDMA": 0, "RDMA": 1, "LOCAL": 2} | _NONE,
    "ENUM_HCCL_RDMA_TYPE": {
        name: number
        for number, name in enumerate(
            (
                "RDMA_SEND_NOTIFY",
                "RDMA_SEND_PAYLOAD",
                "RDMA_PAYLOAD_PREPARE",
                "RDMA_PAYLOAD_CHECK",
                "RDMA_PAYLOAD_ACK",
                "RDMA_SEND_OP",
            )
        )
    }
    | _NONE,
    "ENUM_MSTX_EVENT_TYPE": {"marker": 0, "push/pop": 1, "start/end": 2, "marker_ex": 3},
    "ENUM_MODULE": {name: number for number, name in enumerate(_MODULES)},
}

#: analysis.db.
ANALYSIS_TABLES: dict[str, str] = {
    "CommAnalyzerTime": "hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC, "
    "transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC, step TEXT, type TEXT",
    "CommAnalyzerBandwidth": "hccl_op_name TEXT, group_name TEXT, transport_type TEXT, transit_size NUMERIC, "
    "transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, count NUMERIC, "
    "total_duration NUMERIC, step TEXT, type TEXT",
    "CommAnalyzerMatrix": "hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT, "
    "transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT, op_name TEXT",
    "StepTraceTime": "deviceId INTEGER, step TEXT, computing NUMERIC, communication_not_overlapped NUMERIC, "
    "overlapped NUMERIC, communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC, "
    "communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC",
}

_DATABASE = Condition("export_type=[ExportType.Db]", Message("written.database"))
#: Data that only databases hold, not text files.
PROFILER_DATABASE = ResultFile(
    id="profiler_db",
    name=f"{PROFILER_DB}.db",
    pattern=re.compile(rf"{PROFILER_DB}(?:_\d+)?\.db"),
    columns=(),
    condition=_DATABASE,
    fills=(
        "kernels",
        "op_statistic",
        "api_statistic",
        "operators",
        "op_memory",
        "memory_record",
        "module_memory",
        *LINK_TABLES,
        "trace",
    ),
    stages=("tables", "trace"),
    fallback=True,
    doc="What the text files hold but steps and communication, as tables of a SQLite database.",
)
ANALYSIS_DATABASE = ResultFile(
    id="analysis_db",
    name=ANALYSIS_DB,
    pattern=re.compile(r"analysis(?:[-_]?\d+)?\.db"),
    columns=(),
    condition=_DATABASE,
    fills=("step_trace", "comm_ops", "comm_bandwidth", "comm_packets", "comm_links"),
    fallback=True,
    doc="Steps and communication, as tables of a SQLite database.",
)
DATABASE_FILES = (PROFILER_DATABASE, ANALYSIS_DATABASE)
