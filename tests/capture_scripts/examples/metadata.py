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

key, value = "test_key4", '{"a": 1}'
with torch_npu.profiler._KinetoProfile() as prof:
    # vendor
    prof.add_metadata_json(key, value)
    # end
    prof.add_metadata(key + "_text", value)
    kept = dict(prof.metadata)
assert kept == {"test_key4": {"a": 1}, "test_key4_text": value}, kept
