import mindspore as ms
from mindspore import ops
from mindspore import Tensor
from mindspore.ops import GradOperation
ms.set_context(mode=ms.PYNATIVE_MODE)
def hook_fn(grad):
    print(grad)

hook = ops.HookBackward(hook_fn)
def hook_test(x, y):
    z = x * y
    z = hook(z)
    z = z * y
    return z

grad_all = GradOperation(get_all=True)
def backward(x, y):
    return grad_all(hook_test)(x, y)

output = backward(Tensor(1, ms.float32), Tensor(2, ms.float32))
print(output)
