from training import train_one_step

from tb_npu_plugin.capture.pytorch import torch_npu

with torch_npu.profiler.profile(with_stack=True) as prof:
    train_one_step()
export_stacks = prof.export_stacks
# vendor
export_stacks("resule_dir/stack.log", metric='self_npu_time_total')
# end
