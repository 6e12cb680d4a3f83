"""Summary events of MindSpore, converted into event files of TensorBoard."""
