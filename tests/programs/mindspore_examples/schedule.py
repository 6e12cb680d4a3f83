"""Document 003, a schedule in PyNative mode: between "# vendor" and "# end" is its code. Two lines are no Python there: one
argument of the schedule has no value, and the colon behind `with` is missing."""

import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.profiler import AicoreMetrics, ProfilerActivity, ProfilerLevel


def Net():
    return nn.SequentialCell(nn.Dense(8, 16), nn.ReLU(), nn.Dense(16, 4))


def train(net):
    gradients = mindspore.value_and_grad(lambda x: net(x).square().mean(), None, net.trainable_params())
    loss, _ = gradients(Tensor(np.ones((2, 8), np.float32)))
    loss.asnumpy()


# vendor
import mindspore

# Define model training times
STEP_NUM = 15
# end
mindspore.set_device("Ascend")
mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
steps = STEP_NUM
# vendor
# Define the training model network
net = Net()

# Configure the extensibility parameters
experimental_config = mindspore.profiler._ExperimentalConfig(
                        profiler_level=ProfilerLevel.Level0,
                        aic_metrics=AicoreMetrics.AiCoreNone,
                        l2_cache=False,
                        mstx=False,
                        data_simplification=False)

# Initialize profile
with mindspore.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
# end
                                    schedule=mindspore.profiler.schedule(wait=0, warmup=0, active=2,
# vendor
                                            repeat=1, skip_first=0),
                                    on_trace_ready=mindspore.profiler.tensorboard_trace_handler("./data"),
                                    profile_memory=False,
# end
                                    experimental_config=experimental_config) as prof:
# vendor
        for step in range(steps):
            train(net)
            # Call step collection
            prof.step()
# end
