from __future__ import annotations

import pytest

from tb_npu_plugin.capture.simulation.chips import CHIPS, Chip
from tb_npu_plugin.capture.simulation.kernels import KernelFactory
from tb_npu_plugin.capture.simulation.rules import RULES

BF16 = "c10::BFloat16"


@pytest.fixture
def factory() -> KernelFactory:
    return KernelFactory(CHIPS["910B2"])


def test_a_matrix_product(factory: KernelFactory) -> None:
    (launch,) = factory.launches("aten::mm", ((2048, 4096), (4096, 11008)), (BF16, BF16))
    kernel = launch.kernel
    assert (kernel.name, kernel.type, kernel.core) == ("aclnnMm_MatMulV3Common_MatMulV3", "MatMulV3", "AI_CORE")
    assert (kernel.inputs, kernel.outputs) == ("2048,4096;4096,11008", "2048,11008")
    assert (kernel.input_types, kernel.output_types) == ("DT_BF16;DT_BF16", "DT_BF16")
    assert kernel.input_formats == "FORMAT_ND;FORMAT_ND" and kernel.block == 24
    flops = 2 * 2048 * 4096 * 11008
    assert kernel.work.cube_flops == flops
    assert 0.5 < flops / (launch.ns * 1e-9) / CHIPS["910B2"].cube_flops < 0.8  # what large products reach


def test_a_relu_in_the_cache_is_as_fast_as_on_a_real_910b(factory: KernelFactory) -> None:
    """24.8 MB in and out took 15.5 us in the public sample, 17.9 MB 13.0 us."""
    for shape, us in (((32, 64, 55, 55), 15.5), ((32, 192, 27, 27), 13.0)):
        (launch,) = factory.launches("aten::relu_", (shape,), ("float",))
        assert launch.ns / 1000 == pytest.approx(us, rel=0.4)


def test_convolutions_are_compiled_and_change_formats(factory: KernelFactory) -> None:
    """Kernels, shapes and formats are those of the first convolution of the public sample."""
    shapes = ((32, 3, 224, 224), (64, 3, 11, 11), (32, 64, 55, 55))
    launches = factory.launches("aten::convolution", shapes, ("float",) * 3)
    assert [launch.compiled for launch in launches] == [False, False, True, False]
    found = [(k.name, k.inputs, k.input_formats, k.outputs, k.output_formats) for k in (x.kernel for x in launches)]
    assert found == [
        ("trans_TransData_0", "32,3,224,224", "NCHW", "32,1,224,224,8", "NC1HWC0"),
        ("trans_TransData_1", "64,3,11,11", "NCHW", "121,4,16,8", "FRACTAL_Z"),
        ("Conv2D1", "32,1,224,224,8;121,4,16,8", "NC1HWC0;FRACTAL_Z", "32,8,55,55,8", "NC1HWC0"),
        ("trans_TransData_2", "32,8,55,55,8", "NC1HWC0", "32,64,55,55", "NCHW"),
    ]
    assert launches[2].kernel.hf32


def test_gradients_of_convolutions_are_two_graphs(factory: KernelFactory) -> None:
    """As in the public sample, without its MemSet."""
    shapes = ((32, 192, 13, 13), (384, 192, 3, 3), (32, 384, 13, 13))
    kernels = [launch.kernel for launch in factory.launches("aten::convolution_backward", shapes, ("float",) * 3)]
    image, filters, result = "32,24,13,13,8", "216,24,16,8", "32,48,13,13,8"
    found = [
        (k.type[14:] or "Trans", k.inputs, k.input_types, k.input_formats, k.outputs, k.output_formats) for k in kernels
    ]
    assert found == [
        ("Trans", "384,192,3,3", "FLOAT", "NCHW", filters, "FRACTAL_Z"),
        ("Trans", "32,384,13,13", "FLOAT", "NCHW", result, "NC1HWC0"),
        ("Input", f"4;{filters};{result}", "INT32;FLOAT;FLOAT", "NCHW;FRACTAL_Z;NC1HWC0", image, "NC1HWC0"),
        ("Trans", image, "FLOAT", "NC1HWC0", "32,192,13,13", "NCHW"),
        ("Trans", "32,192,13,13", "FLOAT", "NCHW", image, "NC1HWC0"),
        ("Trans", "32,384,13,13", "FLOAT", "NCHW", result, "NC1HWC0"),
        ("Filter", f"{image};4;{result}", "FLOAT;INT32;FLOAT", "NC1HWC0;NCHW;NC1HWC0", filters, "FRACTAL_Z"),
        ("Trans", filters, "FLOAT", "FRACTAL_Z", "384,192,3,3", "NCHW"),
    ]
    assert {kernel.output_types for kernel in kernels} == {"FLOAT"}


@pytest.mark.parametrize("chip", CHIPS.values(), ids=lambda chip: chip.name)
def test_cores_are_those_of_the_chip(chip: Chip) -> None:
    factory = KernelFactory(chip)
    for name in RULES:
        shapes = {"conv": 4, "conv_grad": 4, "attention": 4}.get(RULES[name].kind, 2)
        launches = factory.launches(name, ((8, 8, 8, 8)[:shapes],) * 3, (BF16,) * 3)
        assert launches
        for launch in launches:
            kernel = launch.kernel
            cores = {"AI_CORE", "AI_CPU", "DSA_SQE"}
            assert kernel.core in (cores | {"AI_VECTOR_CORE", "MIX_AIC", "MIX_AIV"} if chip.split else cores)
            assert kernel.block <= (
                chip.cube_cores if kernel.core in ("AI_CORE", "MIX_AIC") and chip.split else chip.vector_cores
            )
            assert all(0 <= share <= 1 for share in kernel.pipes.values()), kernel.name
