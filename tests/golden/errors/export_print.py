"""C has no Python: a print in what is exported."""
import adjoint as ms


def step(x):
    y = x * 2
    print("doubled", y)
    return y


ms.export(step, ms.Tensor([1.0, 2.0]), file_name="out/net")
