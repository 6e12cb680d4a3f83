"""start() and stop() around one step; exports of a _KinetoProfile; both leave what they were asked for."""

from pathlib import Path

import torch_npu
from training import names, train_step

profiler = torch_npu.profiler
prof = profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler("out"))
for step in range(4):
    if step == 2:
        prof.start()
    train_step()
    if step == 2:
        prof.stop()
(result,) = Path("out").glob("*_ascend_pt")
assert "aten::addmm" in names(result / "ASCEND_PROFILER_OUTPUT/trace_view.json")
assert not (result / "FRAMEWORK").exists()  # data_simplification

other = profiler._KinetoProfile(with_stack=True)
other.start()
train_step()
other.stop()
other.export_chrome_trace("exports/trace.json")
other.export_stacks("exports/stack.log", metric="self_npu_time_total")
assert "aten::addmm" in names("exports/trace.json")
stacks = Path("exports/stack.log").read_text().splitlines()
assert stacks and all(line.rpartition(" ")[2].isdigit() for line in stacks)
del other
assert not Path("export_only_prof_dir").exists()
print("checked")
