from training import epochs, trian_model_step

from tb_npu_plugin.capture.pytorch import torch_npu

# The example passes its arguments by position, which torch_npu itself does not take.
prof = torch_npu.profiler._KinetoProfile(
    activities=[torch_npu.profiler.ProfilerActivity.CPU, torch_npu.profiler.ProfilerActivity.NPU], record_shapes=True
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
