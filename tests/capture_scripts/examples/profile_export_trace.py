from training import criterion, model, optimizer, steps, train_loader, train_one_step

from tb_npu_plugin.capture.pytorch import torch_npu

# vendor
with torch_npu.profiler.profile() as prof:
        for step in range(steps):
                train_one_step(step, steps, train_loader, model, optimizer, criterion)
prof.export_chrome_trace('./chrome_trace_14.json')
# end

import os

# vendor
pid = os.getpid()
prof.export_chrome_trace(f'./chrome_trace_{pid}.json')
# end
