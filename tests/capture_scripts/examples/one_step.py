from training import steps, train_one_step

from tb_npu_plugin.capture.pytorch import torch_npu

# vendor
prof = torch_npu.profiler.profile(
on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("./result"))
for step in range(steps):
    if step == 5:
        prof.start()
    train_one_step()
    if step == 5:
        prof.stop()
# end
