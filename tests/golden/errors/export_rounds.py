"""The gradient of a loop keeps values of each round; C needs to know how many there can be."""
import adjoint as ms


def growing(x):
    while x.sum() < 20:
        x = x * x + 1
    return x.sum()


ms.export(growing, ms.Tensor([1.0, 2.0]), file_name="out/net", gradient=True)
