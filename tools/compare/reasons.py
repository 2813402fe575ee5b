"""Why answers differ where they are meant to: the one place of it.  docs/decisions/0006-where-we-differ.md decides.

A rule is a sentence, the kinds of findings it explains, and what the call must look like: a regular expression that is searched in
`name: call; operands => answer here | answer there`.  The first rule that fits counts.
"""

from __future__ import annotations

import re
from typing import Any

from judging import Verdict

RANDOM = re.compile(
    r"rand(?!om_state)|[Nn]ormal\(|uniform|[Dd]ropout|bernoulli|multinomial|with_mask|ChoiceWithMask|Uniform|initializer\.|Random|shuffle|"
    r"^nn\.(Transformer|MultiheadAttention)\(.*dropout=|\.Normal|HeNormal|empty|Vocab\.from_dict|LogNormalReverse|exponential_")
"""Calls that draw numbers: only dtypes and shapes are compared."""

NUMBERS = ("values", "gradients")
ANY = ("values", "gradients", "dtype", "shape")
RULES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("MindSpore computes Float64 in Float32 on the way, or converts to it", ANY,
     r"^(?!train)[^>]*(float64|dtype=float\b)"),
    ("Metrics are Python's numbers here", ("dtype",), r"^train\."),
    ("Here every result has the whole derivative; MindSpore's gradients by labels, targets, weights of losses and running statistics are 0",
     ("gradients",), r"(?i)^(ops|nn|Tensor)\.\w*(kl_?div|nll_?loss|cross_?entropy|bce|batch_?norm|LayerNorm)"),
    ("MindSpore's gradient of CTC is that by logits whose softmax was taken before; here it is the derivative by what is given",
     ("gradients",), r"(?i)^(ops|nn)\.ctc_?loss"),
    ("`log_alpha` of CTC beyond the lengths of a sample is not -inf here; nothing reads it", ("values",), r"ops\.ctc_loss"),
    ("MindSpore's gradient of `Mod` by the divisor is that of `FloorMod`", ("gradients",), r"ops\.Mod:"),
    ("MindSpore's CPU version of these optimisers leaves the parameters as they are", ("values",), r"^mint\.optim"),
    ("A bare `names()` lists the metrics that are here", ("shape",), r"train\.names"),
    ("MindSpore's gradient of SeLU below 0 takes the result for the operand", ("gradients",), r"(?i)^(ops|nn|Tensor)\.selu"),
    ("The gradient by an old value that was written over is 0 here, and of equal values `max` and `min` share it", ("gradients",),
     r"(?i)^(ops|Tensor)\.(tensor_?)?(scatter|assign)"),
    ("MindSpore's primitives and losses cut results of integers to integers; here they are Float32", ANY,
     r"(?i)^(nn|ops|Tensor)\.(mse|l1|With(Loss|Eval)|Inv:|tensor_div|RealDiv|clip_by_global).*(int|bool)"),
    ("An integer divided by 0 is 0 here, its remainder too", NUMBERS, r"(?i)(div|mod|fmod|remainder|floor|reciprocal)\w*: .*(int|bool)"),
    ("MindSpore's `tanh` and `sigmoid` on the CPU are off by up to 1e-4: recurrent layers and attention show it", NUMBERS,
     r"^nn\.(RNN|LSTM|GRU|Transformer|MultiheadAttention)"),
    ("Where the exact answer is 0, MindSpore leaves what cancellation leaves", NUMBERS, r"(?i)cosine"),
    ("`ops.full` without a dtype takes that of its value; MindSpore's is Int64", ("dtype",), r"^ops\.full"),
    ("Methods that end in _ write their tensor, as the manual says; MindSpore's CPU version leaves it as it is", ANY,
     r"^Tensor\.[a-z]\w*[a-z]_: "),
    ("The gradient of `maximum` and `minimum` at a tie is halved; MindSpore gives it to both", ("gradients",),
     r"(?i)(maximum|minimum|margin|hinge|clip|clamp)"),
    ("At a length of 0 the gradient of a root is left out; MindSpore's is NaN", ("gradients",), r"(?i)(norm|clip|std|var).*(zeros|ties)"),
    ("A tensor without elements: MindSpore's result is what its memory held", ANY, r"; .*empty"),
    ("MindSpore reads or writes beside the tensor", ANY, r"(?i)(embeddinglookup|strided_?slice|tile:)"),
    ("A tensor that is no Parameter is not written", ("values",), r"index_add"),
    ("MindSpore's `nextafter` of Float32 steps as in Float64, which leaves the number as it is", ("values",), r"(?i)next_?after"),
    ("The manual's formula; MindSpore's kernel for CPUs takes |gradient_accumulator - l1 * global_step|", NUMBERS,
     r"^ops\.ApplyAdagradDA: "),
    ("The manual's formula; MindSpore's kernel for CPUs divides by sqrt(accum + epsilon)", NUMBERS, r"^ops\.SparseApplyAdagradV2: "),
    ("A NaN of the sum stays; MindSpore's kernel for CPUs takes it for 0", NUMBERS, r"^ops\.(ApplyProximalAdagrad|SparseApplyFtrl): .*nan"),
    ("MindSpore's kernel packs Bool in the other order", NUMBERS, r"^ops\.CompareAndBitpack: .*bool"),
    ("MindSpore's gradients of `inplace_add`, `inplace_sub` and `inplace_update` are 0", ("gradients",), r"(?i)inplace_?(add|sub|update)"),
    ("`Print` returns its operand, also in PYNATIVE_MODE", ("dtype",), r"ops\.Print"),
    ("`any` and `all` take every number but 0 as true", ("values",), r"(?i)\.(reduce)?(any|all): "),
    ("Fewer elements than `ddof`: the variance is infinite, as NumPy's; MindSpore's is negative", ("values",), r"\.(std|var).*ddof"),
    ("Operands with NaN, infinities or zeros, and answers that differ in these: here `maximum`, `relu` and pooling keep NaN, quotients by "
     "-0.0 and signs of 0 are IEEE 754's", NUMBERS,
     r"(special|kinks|zeros|nan\)|mnp\.).*=>.*(nan|inf|-0\.)"),
)


def reason(verdict: Verdict, name: str, call: dict[str, Any]) -> str:
    """Return why a finding is as it is meant to be; empty if no rule fits."""
    changed = ", ".join(f"{operand} {how}" for operand, how in call["given"].items())
    text = f"{name}: {call['text']}; {changed} => {verdict.ours} | {verdict.theirs}"
    return next((why for why, kinds, pattern in RULES if verdict.kind in kinds and re.search(pattern, text)), "")


EXAMPLES: tuple[tuple[str, str], ...] = (
    ("An operator that writes a Parameter returns it, and a Parameter is printed by its name: `p.value()` shows the numbers",
     r"=> [^|]*Parameter \(name=[^|]*\| (?!.*Parameter \(name=)"),
    ("Numbers drawn at random are others for the same seed",
     r"^mindspore\.set_seed|^train\.History|^dataset\.text\.WordpieceTokenizer|^ops\.Multinomial(WithReplacement)? |"
     r"^nn\.SampledSoftmaxLoss |^ops\.SampleDistortedBoundingBoxV2 "),
    ("A condition that is false raises in the call; MindSpore's call returns first", r"^ops\.Assert "),
    ("While a graph is made, the numbers of an argument are not known", r"^mindspore\.tensor "),
    ("`type` is an attribute: the tensor's type; `astype` converts", r"^Tensor\.type "),
    ("An index beyond the rows is an error; MindSpore reads or writes beside the tensor", r"^ops\.SparseApplyFtrl "),
    ("An object tells its class and its address", r"<adjoint\.[^|]* object at [^|]*\| <mindspore\."),
    ("The message names this package", r"^mindspore\.run_check "),
    ("The CPU is in use from the start", r"^context\.is_initialized "),
    ("A CPU has no cores of these kinds; MindSpore's number is what its memory held", r"^runtime\.get_device_limit "),
    ("Labels whose sum is not 1: here the gradient is the derivative of the loss, MindSpore's takes the sum for 1",
     r"^nn\.ForwardValueAndGrad "),
    ("Methods that end in _ write their tensor, as the manual says; MindSpore's CPU version leaves it as it is",
     r"^Tensor\.[a-z]\w*[a-z]_ "),
    ("Metrics are Python's numbers here", r"^(nn|train)\.\w+ => (numpy )?float[^|]*\| numpy float"),
    ("A layer shows the arguments that it was given: None, where MindSpore shows the initial values that it chose",
     r"weight_init=None[^|]*\|.*weight_init=<mindspore|^nn\.SequentialCell\.append "),
    ("Classes tell the module that defines them", r"<class 'adjoint\.[^|]*\|.*<class 'mindspore\."),
    ("A bare `names()` lists the metrics that are here", r"^nn\.names "),
    ("Singular vectors are determined up to their sign", r"^ops\.[Ss]vd "),
    ("MindSpore's `tanh` on the CPU is off by up to 1e-4", r"\.tanh "),
    ("Where the exact answer is 0, MindSpore leaves what cancellation leaves", r"(?i)cosine_?embedding"),
    ("`ops.full` without a dtype takes that of its value; MindSpore's is Int64", r"^ops\.full "),
    ("The quotient of a Float32 and an int is a Float32 in NumPy 2, a Float64 in NumPy 1, with which MindSpore runs", r"^nn\.Metric "),
    ("MindSpore reads the variables of its log when it is imported, here they are read when they are asked for",
     r"^mindspore\.get_(level|log_config) "),
    ("Labels that are the blank: the result has no meaning", r"^ops\.CTCLoss "),
    ("MindSpore's focal loss is off by 1e-5", r"^nn\.FocalLoss "),
    ("MindSpore's `nextafter` of Float32 steps as in Float64, which leaves the number as it is", r"^ops\.nextafter "),
    ("The smallest and largest number is NaN if there is one, wherever it stands; MindSpore's depends on its place", r"^ops\.aminmax "),
    ("The elements of a tensor are always in row-major order", r"^Tensor\.is_contiguous "),
    ("PNG files of one image may have other bytes: Pillow compresses them, MindSpore has OpenCV do it", r"^dataset\.vision\.encode_png "),
    ("Callbacks of `map` are told of each row when it is requested; MindSpore makes rows ahead", r"^dataset\.DSCallback "),
)
"""Why examples print something else where they are meant to: a sentence, and a regular expression that is searched in
`name => output here | output there`."""


def example_reason(name: str, ours: str, theirs: str) -> str:
    """Return why an example prints something else; empty if no rule fits."""
    text = f"{name} => {ours} | {theirs}"
    return next((why for why, pattern in EXAMPLES if re.search(pattern, text)), "")
