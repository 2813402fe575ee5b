"""The name of the files begins the names of all C functions."""
import adjoint as ms

ms.export(lambda x: x * 2, ms.Tensor([1.0, -2.0]), file_name="out/my-net")
