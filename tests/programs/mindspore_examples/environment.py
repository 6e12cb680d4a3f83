"""Document 003, method 3: no line of the profiler; environment.sh has the settings."""

import mindspore
import numpy as np
from mindspore import Tensor, nn

mindspore.set_device("Ascend")
net = nn.SequentialCell(nn.Dense(8, 16), nn.ReLU(), nn.Dense(16, 4))
for _ in range(3):
    net(Tensor(np.ones((2, 8), np.float32))).asnumpy()
