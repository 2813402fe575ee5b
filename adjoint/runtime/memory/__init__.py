"""Buffers of tensors, and for each op and operand types the function that computes it.

    early     buffers made before the run-time library has been compiled
    machine   buffers, the run-time library and the kernels of this process
    watching  observers: functions that are called after each launch of a kernel
    finite_results  checks of results for NaN and infinities, after each launch
    tuning    the replacement of plain kernels (quick to compile) by tuned ones (quick to run)
    op_plans  for an op and operand types: the result types and the function that computes them
"""
