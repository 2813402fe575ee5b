"""The runtime: tensors, cells, the tape, hooks, and the executor that runs kernels."""
