"""Without a handler the raw data stay in the working directory, and are parsed later. The schedule is longer than the run."""

from pathlib import Path

import torch_npu
from torch_npu.profiler.profiler import analyse
from training import train_step

if __name__ == "__main__":
    with torch_npu.profiler.profile(schedule=torch_npu.profiler.schedule(wait=0, warmup=1, active=3, repeat=1)) as prof:
        for _ in range(3):
            train_step()
            prof.step()
    (result,) = Path().glob("*_ascend_pt")
    assert (result / "FRAMEWORK").is_dir() and not (result / "ASCEND_PROFILER_OUTPUT").exists()
    analyse(profiler_path=".", max_process_number=2)
    assert (result / "ASCEND_PROFILER_OUTPUT/trace_view.json").is_file()
    print("checked")
