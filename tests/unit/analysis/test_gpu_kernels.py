"""Meanings of GPU kernels by their names, as frameworks and libraries write them."""

from __future__ import annotations

import pytest

from tb_npu_plugin.schema.kernel_meaning import meaning_of_kernel

AT = "at::native::"
NAMES = {
    # cuBLAS, CUTLASS, hipBLASLt
    "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32_stage3_execute_kernel__5x_cublas": "matmul",
    "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn": "matmul",
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8>(T::Params)": "matmul",
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int>, X>>(X::Params)": "matmul",
    "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4>(float*)": "matmul",
    "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT": "matmul",
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x128x64_MI16x16x1": "matmul",
    # cuDNN
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(cudnnTensorStruct)": "normalization",
    "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, int)": "conv_backward",
    "cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1": "conv_forward",
    "void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, true>(int)": "conv_forward",
    "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_cudnn": "conv_forward",
    "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true, 0>(P)": "cast_format",
    # attention
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>, false, true>(Params)": "attention",
    "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t>)": "attention",
    # ATen
    f"void {AT}vectorized_elementwise_kernel<4, {AT}CUDAFunctor_add<float>, at::detail::Array<char*, 3>>(int)": "other",
    f"void {AT}vectorized_elementwise_kernel<4, {AT}FillFunctor<float>, at::detail::Array<char*, 1>>(int)": "copy_memory",
    f"void {AT}elementwise_kernel<128, 4, {AT}gpu_kernel_impl_nocast<{AT}direct_copy_kernel_cuda(I&)::{{lambda()#3}}>>(int)": "cast_format",
    f"void {AT}reduce_kernel<512, 1, {AT}ReduceOp<float, {AT}NormTwoOps<float, float, float>, unsigned int>>(R)": "reduction",
    f"void {AT}(anonymous namespace)::multi_tensor_apply_kernel<{AT}TensorListMetadata<2>, {AT}CopyFunctor>(T)": "optimizer",
    f"void {AT}(anonymous namespace)::indexSelectSmallIndex<float, long, unsigned int, 2, 2, -2>(T)": "copy_memory",
    f"void {AT}(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 128, 1>(float*)": "copy_memory",
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, true, false>(float*)": "loss_softmax",
    f"void {AT}(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float)": "normalization",
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfEEEEvT1_": "reduction",
    f"void {AT}(anonymous namespace)::conv_depthwise2d_grad_weight_kernel<float>(P)": "conv_backward",
    f"void {AT}sbtopk::gatherTopK<float, unsigned int, 2, false>(T)": "copy_memory",
    # MIOpen, Composable Kernel, apex, Transformer Engine, vLLM, FlashInfer
    "igemm_fwd_gtcx2_nhwc_fp16_bx0_ex1_bt256x128x32": "conv_forward",
    "igemm_wrw_gtcx2_nhwc_fp16_bx0": "conv_backward",
    "void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<X>>(P)": "attention",
    "void cuComputePartGradGammaBeta<float, float>(P)": "normalization",
    "void transformer_engine::normalization::ln_fwd_tuned_kernel<X>(P)": "normalization",
    "void flashinfer::BatchDecodeWithPagedKVCacheKernel<X>(P)": "attention",
    # fbgemm, TorchRec
    "void fbgemm_gpu::permute_2D_sparse_data_kernel<false, long, long, std::nullptr_t>(int, int)": "copy_memory",
    "split_embedding_codegen_forward_unweighted_v2_kernel<float, float, long, true>(float*)": "embedding",
    "void fbgemm_gpu::jagged_unary<float>(int)": None,
    # thrust, CUB
    "void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long>::Policy800, false, long>(long*)": "reduction",
    "void cub::DeviceScanKernel<cub::DeviceScanPolicy<int>::Policy600, int*, int*>(int*)": "reduction",
    "void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<F, long>>(F)": None,
    # Triton, TensorRT
    "triton_poi_fused_add_relu_0": "activation",
    "triton_per_fused__softmax_2": "loss_softmax",
    "triton_tem_fused_convolution_2": "conv_forward",
    "triton_poi_fused_convolution_relu_3": "activation",
    "triton_poi_fused_cat_3": "copy_memory",
    "triton_poi_fused__to_copy_0": "cast_format",
    "triton_poi_fused__to_copy_add_mul_9": "other",
    "triton_red_fused__to_copy_mean_pow_rsqrt_0": "reduction",
    "triton_red_fused__to_copy_native_layer_norm_backward_12": "normalization",
}


@pytest.mark.parametrize(("name", "meaning"), NAMES.items(), ids=[name[:50] for name in NAMES])
def test_the_name_of_a_function_tells_what_it_does(name: str, meaning: str | None) -> None:
    """Namespaces do not: fbgemm_gpu::permute_... multiplies nothing."""
    found = meaning_of_kernel(name, None, is_gpu=True)
    assert (found and found.meaning) == meaning
