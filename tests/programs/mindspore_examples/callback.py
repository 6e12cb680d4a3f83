"""Document 003, a callback of graph mode: between "# vendor" and "# end" is its code."""

# vendor
import mindspore

class StopAtStep(mindspore.Callback):
    def __init__(self, start_step, stop_step):
        super(StopAtStep, self).__init__()
        self.start_step = start_step
        self.stop_step = stop_step
        experimental_config = mindspore.profiler._ExperimentalConfig()
        self.profiler = mindspore.profiler.profile(start_profile=False, experimental_config=experimental_config,
                                                   on_trace_ready=mindspore.profiler.tensorboard_trace_handler("./data"))

    def on_train_step_begin(self, run_context):
        cb_params = run_context.original_args()
        step_num = cb_params.cur_step_num
        if step_num == self.start_step:
            self.profiler.start()

    def on_train_step_end(self, run_context):
        cb_params = run_context.original_args()
        step_num = cb_params.cur_step_num
        if self.start_step <= step_num <= self.stop_step:
            self.profiler.step()
        if step_num == self.stop_step:
            self.profiler.stop()
# end

import numpy as np
from mindspore import dataset, nn

mindspore.set_context(mode=mindspore.GRAPH_MODE, device_target="Ascend")
net = nn.Dense(8, 4)
data = dataset.NumpySlicesDataset((np.ones((24, 8), np.float32), np.ones((24, 4), np.float32)), ["data", "label"]).batch(2)
model = mindspore.train.Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), 0.01, 0.9))
model.train(1, data, callbacks=[StopAtStep(2, 5)], dataset_sink_mode=False)
