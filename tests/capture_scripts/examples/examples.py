"""The examples of the vendor's documentation with only their import changed: between "# vendor" and "# end" is its code.
Around it is what it leaves out: a tiny training, and a folder for each."""

import os
from pathlib import Path

import torch

from tb_npu_plugin.capture.pytorch import torch_npu
from tb_npu_plugin.capture.pytorch.profiler import analyse

TOP = Path.cwd()
steps = 18
epochs = 3
max_process_number = 1
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)).npu()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = torch.nn.CrossEntropyLoss()
train_loader = [(torch.ones(4, 8).npu(), torch.zeros(4, dtype=torch.long).npu()) for _ in range(steps)]


def train_one_step(step=0, *others):
    inputs, targets = train_loader[step]
    optimizer.zero_grad()
    criterion(model(inputs), targets).backward()
    optimizer.step()


def trian_model_step():
    """So it is spelled in the example."""
    train_one_step()


def begin(name):
    print("example", name)
    (TOP / name).mkdir()
    os.chdir(TOP / name)


begin("schedule")
# vendor
experimental_config = torch_npu.profiler._ExperimentalConfig(
        aic_metrics=torch_npu.profiler.AiCMetrics.PipeUtilization,
       profiler_level=torch_npu.profiler.ProfilerLevel.Level1,
       l2_cache=False,
       data_simplification=False
       )
with torch_npu.profiler.profile(
        activities=[
                torch_npu.profiler.ProfilerActivity.CPU,
                torch_npu.profiler.ProfilerActivity.NPU
                ],
        schedule=torch_npu.profiler.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=10),
        on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("./result"),
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
        with_flops=False,
        with_modules=False,
        experimental_config=experimental_config) as prof:
                for step in range(steps):
                        train_one_step(step, steps, train_loader, model, optimizer, criterion)
                        prof.step()
# end

begin("kineto")
# The example passes its arguments by position, which torch_npu itself does not take.
prof = torch_npu.profiler._KinetoProfile(
    activities=[torch_npu.profiler.ProfilerActivity.CPU, torch_npu.profiler.ProfilerActivity.NPU], with_stack=True
)
# vendor
for epoch in range(epochs):
        trian_model_step()
        if epoch == 0:
                prof.start()
        if epoch == 1:
                prof.stop()
prof.export_chrome_trace("result_dir/trace.json")
# end
export_stacks = prof.export_stacks
# vendor
export_stacks("resule_dir/stack.log", metric='self_npu_time_total')
# end
del prof, export_stacks

begin("offline")
os.environ["ASCEND_WORK_PATH"] = "work"
with torch_npu.profiler.profile() as prof:
    train_one_step()
    # vendor
    prof.add_metadata("test_key1", "test_value1")
    # end
    # vendor
    prof.add_metadata("test_key2", [1, 2, 3])
    # end
    key, value = "test_key3", "[1, 2, 3]"
    # vendor
    prof.add_metadata_json(key, value)
    # end
os.rename("work/profiling_data", "result_data")
assert not list(Path().rglob("ASCEND_PROFILER_OUTPUT"))
# vendor
if __name__ == "__main__":
    analyse(profiler_path="./result_data", max_process_number=max_process_number)
# end
