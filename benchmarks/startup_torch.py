"""Time a fresh process to its first LeNet gradient."""

import nets_torch as nets

nets.step_of(nets.lenet(), nets.images(32))()
