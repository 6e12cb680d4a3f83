"""The JSON files of a `*_ascend_pt` result.
Source: docs/facts/ascend_pt.md, profiler_info.json, profiler_metadata.json, communication.json,
communication_matrix.json, trace_view.json."""

from __future__ import annotations

from tb_npu_plugin.schema import scan_keys
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.files import result_file

#: communication.json as three tables, without rollup rows ("Total Op Info"), and communication_matrix.json.
COMM_OPS_COLUMNS, COMM_BANDWIDTH_COLUMNS = columns_of("comm_ops"), columns_of("comm_bandwidth")
COMM_PACKETS_COLUMNS, COMM_LINKS_COLUMNS = columns_of("comm_packets"), columns_of("comm_links")

#: Capture file of the mock device, in FRAMEWORK: parsing it needs no CANN.
MOCK_CAPTURE = "capture.json"
#: Next to it after the capture: the data recorded by PyTorch.
MOCK_TRACE = "torch.json"
ANALYSE_MOCK = 'from tb_npu_plugin.capture.pytorch import analyse; analyse("{path}")'
#: Structural keys of communication.json.
COMM_TIME_INFO = "Communication Time Info"
COMM_BANDWIDTH_INFO = "Communication Bandwidth Info"
COMM_TOTAL = "Total Op Info"
COMM_SIZE_DISTRIBUTION = "Size Distribution"
#: Key of a step, before its number.
STEP_KEY = "step"
#: Key of an operator, or of a type and statistic.
ENTRY_KEY = "name@group"
#: The two parts of a step.
COMM_KINDS = ("p2p", "collective")
#: Keys of figures. Those of an operator's times are written together.
TIME_KEYS = tuple(column.headers[0] for column in COMM_OPS_COLUMNS if column.headers)
START, ELAPSE, TRANSIT, WAIT, SYNC, IDLE, WAIT_RATIO, SYNC_RATIO = TIME_KEYS
_OF_TRAFFIC = {
    column.key: column.headers for column in (*COMM_BANDWIDTH_COLUMNS, *COMM_LINKS_COLUMNS) if column.headers
}
SIZE, BANDWIDTH_GBS = _OF_TRAFFIC["size_bytes"][0], _OF_TRAFFIC["bandwidth"][0]
LARGE_PACKETS, TRANSPORT = _OF_TRAFFIC["large_packet_ratio"][0], _OF_TRAFFIC["transport"][0]
#: The second is MindSpore's spelling.
OP_NAMES = _OF_TRAFFIC["op_name"]
OP_NAME = OP_NAMES[0]
#: Minimum size of large packets, in MB of 1e6 bytes, exclusive: as counted by CANN's parser (HcclAnalysisTool).
LARGE_PACKET_MB = {"HCCS": 32, "PCIE": 32, "SIO": 32, "RDMA": 0.5}
#: Keys that are written together: of a transport and of a link.
BANDWIDTH_KEYS = (SIZE, TRANSIT, BANDWIDTH_GBS, LARGE_PACKETS, COMM_SIZE_DISTRIBUTION)
LINK_KEYS = (TRANSPORT, SIZE, TRANSIT, BANDWIDTH_GBS)
#: Transport of copies within a device.
LOCAL = "LOCAL"
#: The statistic that sums all operators of a type.
TOTAL = "total"
#: Transports that include others and are never added to them.
ROLLUP_TRANSPORTS = frozenset({"SDMA"})

#: Largest difference between the file's idle time and elapsed - transit - wait that rounding explains; the bound of the
#: column.
IDLE_TOLERANCE_NS = 1_000

COMMUNICATION = result_file("torch_npu.communication")
COMMUNICATION_MATRIX = result_file("torch_npu.comm_links")
TRACE_VIEW = result_file("torch_npu.trace")
PROFILER_INFO = result_file("torch_npu.profiler_info")
PROFILER_METADATA = result_file("torch_npu.profiler_metadata")
JSON_FILES = (COMMUNICATION, COMMUNICATION_MATRIX, TRACE_VIEW, PROFILER_INFO, PROFILER_METADATA)

#: Key of torch_npu's settings in profiler_info.json.
CONFIG = "config"
#: Keys of profiler_metadata.json.
ENVIRONMENT = "ENV_VARIABLES"
#: The variables that ENV_VARIABLES lists; "" where one is not set.
ENVIRONMENT_VARIABLES = (
    *("ASCEND_GLOBAL_LOG_LEVEL", "HCCL_RDMA_TC", "HCCL_RDMA_SL", "ACLNN_CACHE_LIMIT", "HOST_CACHE_CAPACITY"),
    *("ASCEND_ENHANCE_ENABLE", "PYTORCH_NPU_ALLOC_CONF", "ASCEND_LAUNCH_BLOCKING", "HCCL_ALGO"),
)
GROUPS = scan_keys.GROUPS
DISTRIBUTED = scan_keys.MEGATRON
#: Names of the pipeline in Megatron's groups and arguments.
PIPELINE, STAGES = "pp", "pipeline_model_parallel_size"
#: Names of Megatron's other groups of parallelism: data, tensor, context, expert.
PARALLEL = ("dp", "tp", "cp", "ep")
#: Key of our mock device: the device side is simulated.
SIMULATED = "tb_npu_simulated"
#: Its list of what the simulation leaves out (MindSpore), and what that may be.
LEFT_OUT = "left_out"
MEMORY_BLOCKS, SUNK_GRAPH = "memory_blocks", "sunk_graph"

#: Folder of the parsed files inside a result folder.
OUTPUT_FOLDER = "ASCEND_PROFILER_OUTPUT"
#: Core names of communication rows in kernel_details.csv (older, newer).
COMMUNICATION_CORES = ("HCCL", "COMMUNICATION")
