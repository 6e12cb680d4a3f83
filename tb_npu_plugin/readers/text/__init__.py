"""Reads text results of torch_npu and MindSpore: CSV, JSON and settings."""
