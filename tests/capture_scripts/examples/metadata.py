from training import train_one_step

from tb_npu_plugin.capture.pytorch import torch_npu

handler = torch_npu.profiler.tensorboard_trace_handler("./result")
with torch_npu.profiler.profile(on_trace_ready=handler) as prof:
    train_one_step()
    # vendor
    prof.add_metadata("test_key1", "test_value1")
    # end
    # vendor
    prof.add_metadata("test_key2", [1, 2, 3])
    # end
    prof.add_metadata_json("test_key3", "[1, 2, 3]")
