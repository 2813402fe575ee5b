"""Peak memory, in MiB, of a process that takes 20 LeNet steps."""

import resource

import nets_torch as nets

step = nets.step_of(nets.lenet(), nets.images(32))
for _ in range(20):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
