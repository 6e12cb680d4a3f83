"""Records to the files that torch_npu writes."""
