"""Time a fresh process to its first LeNet gradient."""

import nets_adjoint as nets

nets.step_of(nets.LeNet(), nets.images(32))()
