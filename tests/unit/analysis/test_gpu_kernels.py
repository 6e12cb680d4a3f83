"""Types of GPU kernels by their names, as frameworks and libraries write them."""

from __future__ import annotations

import pytest

from tb_npu_plugin.analysis.kernels.classes import CLASSES, class_of, classes
from tb_npu_plugin.analysis.kernels.gpu import type_of
from tb_npu_plugin.schema.kineto import KERNEL_COLUMNS
from tb_npu_plugin.tables import from_lists

AT = "at::native::"
NAMES = {
    # cuBLAS, CUTLASS, hipBLASLt
    "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32_stage3_execute_kernel__5x_cublas": "MatMul",
    "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn": "MatMul",
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8>(T::Params)": "MatMul",
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int>, X>>(X::Params)": "MatMul",
    "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4>(float*)": "MatMul",
    "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT": "MatMul",
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x128x64_MI16x16x1": "MatMul",
    # cuDNN
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(cudnnTensorStruct)": "Norm",
    "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, int)": "ConvBackward",
    "cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1": "ConvForward",
    "void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, true>(int)": "ConvForward",
    "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_cudnn": "ConvForward",
    "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true, 0>(P)": "Transpose",
    # attention
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>, false, true>(Params)": "Attention",
    "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t>)": "Attention",
    # ATen
    f"void {AT}vectorized_elementwise_kernel<4, {AT}CUDAFunctor_add<float>, at::detail::Array<char*, 3>>(int)": "Elementwise",
    f"void {AT}vectorized_elementwise_kernel<4, {AT}FillFunctor<float>, at::detail::Array<char*, 1>>(int)": "Fill",
    f"void {AT}elementwise_kernel<128, 4, {AT}gpu_kernel_impl_nocast<{AT}direct_copy_kernel_cuda(I&)::{{lambda()#3}}>>(int)": "Cast",
    f"void {AT}reduce_kernel<512, 1, {AT}ReduceOp<float, {AT}NormTwoOps<float, float, float>, unsigned int>>(R)": "Reduce",
    f"void {AT}(anonymous namespace)::multi_tensor_apply_kernel<{AT}TensorListMetadata<2>, {AT}CopyFunctor>(T)": "ApplyOptimizer",
    f"void {AT}(anonymous namespace)::indexSelectSmallIndex<float, long, unsigned int, 2, 2, -2>(T)": "Index",
    f"void {AT}(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 128, 1>(float*)": "Concat",
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, true, false>(float*)": "Softmax",
    f"void {AT}(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float)": "Norm",
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfEEEEvT1_": "Reduce",
    f"void {AT}(anonymous namespace)::conv_depthwise2d_grad_weight_kernel<float>(P)": "ConvBackward",
    f"void {AT}sbtopk::gatherTopK<float, unsigned int, 2, false>(T)": "Sort",
    # MIOpen, Composable Kernel, apex, Transformer Engine, vLLM, FlashInfer
    "igemm_fwd_gtcx2_nhwc_fp16_bx0_ex1_bt256x128x32": "ConvForward",
    "igemm_wrw_gtcx2_nhwc_fp16_bx0": "ConvBackward",
    "void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<X>>(P)": "Attention",
    "void cuComputePartGradGammaBeta<float, float>(P)": "Norm",
    "void transformer_engine::normalization::ln_fwd_tuned_kernel<X>(P)": "Norm",
    "void flashinfer::BatchDecodeWithPagedKVCacheKernel<X>(P)": "Attention",
    # fbgemm, TorchRec
    "void fbgemm_gpu::permute_2D_sparse_data_kernel<false, long, long, std::nullptr_t>(int, int)": "Transpose",
    "split_embedding_codegen_forward_unweighted_v2_kernel<float, float, long, true>(float*)": "Embedding",
    "void fbgemm_gpu::jagged_unary<float>(int)": None,
    # thrust, CUB
    "void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long>::Policy800, false, long>(long*)": "Sort",
    "void cub::DeviceScanKernel<cub::DeviceScanPolicy<int>::Policy600, int*, int*>(int*)": "Reduce",
    "void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<F, long>>(F)": None,
    # Triton, TensorRT
    "triton_poi_fused_add_relu_0": "Elementwise",
    "triton_per_fused__softmax_2": "Softmax",
    "triton_tem_fused_convolution_2": "ConvForward",
    "triton_poi_fused_convolution_relu_3": "Elementwise",
    "triton_poi_fused_cat_3": "Concat",
    "triton_poi_fused__to_copy_0": "Cast",
    "triton_poi_fused__to_copy_add_mul_9": "Elementwise",
    "triton_red_fused__to_copy_mean_pow_rsqrt_0": "Reduce",
    "triton_red_fused__to_copy_native_layer_norm_backward_12": "Norm",
}


@pytest.mark.parametrize(("name", "kind"), NAMES.items(), ids=[name[:50] for name in NAMES])
def test_the_own_name_of_a_function_tells_its_type(name: str, kind: str | None) -> None:
    assert type_of(name) == kind


def test_names_that_are_cut_or_broken_are_no_error() -> None:
    for name in ("", "<", "void ", "a<b", "a<b>::", "_Z", "_ZN99999999999x", "::", "void f<g<h>(", "operator->"):
        type_of(name)


def test_types_are_filed_with_the_operators_of_an_npu() -> None:
    kinds = {"MatMul": "matmul", "Embedding": "vector", "ConvBackward": "conv_backward", "Norm": "normalisation"}
    assert {kind: class_of(kind, "KERNEL") for kind in kinds} == kinds


def test_the_name_of_a_kernel_without_a_type_decides_its_class_on_an_npu_only() -> None:
    name = "void fbgemm_gpu::bounds_check_indices_kernel<long>(P)"
    rows = {"name": [name, "MatMulV2"], "type": [None, None], "core": ["KERNEL", "AI_CORE"]}
    columns = [column for column in KERNEL_COLUMNS if column.key in rows]
    assert [CLASSES[code] for code in classes(from_lists(columns, rows)).tolist()] == ["vector", "matmul"]
