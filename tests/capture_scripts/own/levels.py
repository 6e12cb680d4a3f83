"""Two cycles of a schedule at Level2 with everything recorded; an operator runs on the AI CPU."""

import json
from pathlib import Path

import torch
import torch_npu
from training import names, train_step

profiler = torch_npu.profiler
config = profiler._ExperimentalConfig(
    profiler_level=profiler.ProfilerLevel.Level2,
    aic_metrics=profiler.AiCMetrics.ArithmeticUtilization,
    data_simplification=False,
)
with profiler.profile(
    activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
    schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=3),
    on_trace_ready=profiler.tensorboard_trace_handler("out", worker_name="mine"),
    record_shapes=True,
    profile_memory=True,
    with_stack=True,
    experimental_config=config,
) as prof:
    prof.add_metadata("model", "small")
    for _ in range(12):
        train_step()
        torch.eye(4, device="npu").nonzero()
        prof.step()
results = sorted(Path("out").glob("mine_*_ascend_pt"))
assert len(results) == 2
files = {path.name for path in (results[0] / "ASCEND_PROFILER_OUTPUT").iterdir()}
assert {"data_preprocess.csv", "memory_record.csv", "op_statistic.csv", "analyse.done"} <= files, files
assert "NonZero" in (results[0] / "ASCEND_PROFILER_OUTPUT/data_preprocess.csv").read_text()
assert all((result / "FRAMEWORK").is_dir() for result in results)
steps = [
    {name for name in names(result / "ASCEND_PROFILER_OUTPUT/trace_view.json") if "ProfilerStep" in name}
    for result in results
]
assert steps == [{"ProfilerStep#5", "ProfilerStep#6"}, {"ProfilerStep#9", "ProfilerStep#10"}], steps
assert json.loads((results[0] / "profiler_metadata.json").read_text())["model"] == "small"
print("checked")
