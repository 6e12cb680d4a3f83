"""torch_npu before torch, options of a group, the name of its communicator, attention and its gradient; one rank."""

import json
import sys
from pathlib import Path

import torch_npu  # isort: skip  (PyTorch is imported by it)
import torch
import torch.distributed as dist

out = Path(sys.argv[1])
dist.init_process_group("hccl", store=dist.HashStore(), rank=0, world_size=1)
options = torch_npu._C._distributed_c10d.ProcessGroupHCCL.Options()
options.hccl_config = {"hccl_buffer_size": 200}
group = dist.new_group([0], pg_options=options)
query, key, value = (torch.randn(2, 4, 64, 16, device="npu", requires_grad=True) for _ in range(3))
with torch_npu.profiler.profile(
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler(str(out)),
    experimental_config=torch_npu.profiler._ExperimentalConfig(profiler_level=torch_npu.profiler.ProfilerLevel.Level1),
):
    torch_npu.npu_fusion_attention(query, key, value, 4, "BNSD", scale=0.25)[0].sum().backward()
    dist.all_reduce(query.grad, group=group)
name = group._get_backend(torch.device("npu")).get_hccl_comm_name(0)
(metadata,) = out.glob("*_ascend_pt/profiler_metadata.json")
assert name in json.loads(metadata.read_text())["parallel_group_info"], name
(kernels,) = out.glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv")
found = [line.split(",") for line in kernels.read_text().splitlines()]
place = found[0].index("Type")
assert {"FlashAttentionScore", "FlashAttentionScoreGrad"} <= {line[place] for line in found[1:]}
