"""Private helpers of MindSpore's that programs call: results, and types of exceptions, as MindSpore 2.10 gives them."""

from __future__ import annotations

import importlib
import types
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, compat, nn

compat.install()

VALIDATOR = importlib.import_module("mindspore._checkparam")
TYPING = importlib.import_module("mindspore._c_expression.typing")


@pytest.mark.parametrize(("check", "arguments", "wrong"), [
    ("check_bool", (True,), None), ("check_bool", (1, "x", "Op"), TypeError),
    ("check_positive_int", (3,), None), ("check_positive_int", (0, "n", "Op"), ValueError), ("check_positive_int", (True,), TypeError),
    ("check_positive_int", (np.int32(3),), TypeError), ("check_non_negative_int", (0,), None),
    ("check_positive_float", (0.5,), None), ("check_positive_float", (1, "n"), TypeError),
    ("check_positive_float", (float("nan"),), ValueError), ("check_positive_float", (float("inf"),), ValueError),
    ("check_float_range", (1.0, 0.0, 1.0, VALIDATOR.INC_LEFT), ValueError),
    ("check_float_range", (float("nan"), 0.0, 1.0, VALIDATOR.INC_BOTH), None),
    ("check_int_range", (1, 1, 5, VALIDATOR.INC_NEITHER), ValueError), ("check_int", (3, [1, 3], VALIDATOR.IN), None),
    ("check_string", ("c", ["a", "b"], "n", "Op"), ValueError), ("check_string", (3, ["a"]), ValueError),
    ("check_value_type", ("n", True, [int], "Op"), TypeError), ("check_value_type", ("n", True, [int, bool], "Op"), None),
    ("check_value_type", ("n", None, [int, type(None)]), None), ("check_isinstance", ("n", 3, str), ValueError),
    ("check_type_name", ("n", ms.int32, [ms.float32], "Op"), TypeError), ("check_type_name", ("n", ms.int32, [ms.int32], "Op"), None),
    ("check_subclass", ("n", ms.int32, ms.number, "Op"), None), ("check_subclass", ("n", ms.int32, ms.float32, "Op"), TypeError),
    ("check_tensor_dtype_valid", ("n", ms.TensorType(ms.float32), [ms.float32], "Op"), None),
    ("check_tensor_dtype_valid", ("n", ms.float32, [ms.float32], "Op"), TypeError),
    ("check_positive_int_sequence", ((1, 0), "n", "Op"), ValueError), ("check_element_type_of_iterable", ("n", [1, 2.0], [int]), TypeError),
    ("check_file_name_by_regular", ("a*b",), ValueError), ("check_str_by_regular", ("",), ValueError),
])
def test_a_check_returns_or_raises(check: str, arguments: tuple[Any, ...], wrong: type[Exception] | None) -> None:
    if wrong is None:
        getattr(VALIDATOR, check)(*arguments)
        return
    with pytest.raises(wrong, match="must be"):
        getattr(VALIDATOR, check)(*arguments)


def test_types_of_arguments_are_checked_when_the_function_is_called() -> None:
    @VALIDATOR.args_type_check(size=int, name=(str,))
    def made(size: Any, name: Any = "x") -> tuple[Any, Any]:
        return size, name

    assert made(None) == (None, "x") and made(3, name="y") == (3, "y") and made.__name__ == "made"
    with pytest.raises(TypeError, match="'made', the argument 'name' must be of type str, but got 2"):
        made(1, 2)


def test_dtypes_are_of_kinds() -> None:
    kinds = [kind for kind in ("Float", "BFloat", "Int", "UInt", "Bool", "Number") if isinstance(ms.float32, getattr(TYPING, kind))]
    assert kinds == ["Float", "Number"] and isinstance(ms.bfloat16, TYPING.BFloat) and not isinstance(ms.bfloat16, TYPING.Float)
    assert TYPING.Float(32) is ms.float32 and TYPING.UInt(8) is ms.uint8 and TYPING.Bool() is ms.bool_ and TYPING.Float() is ms.float_
    assert not isinstance(32, TYPING.Int) and TYPING.str_to_type("float32") is ms.float32 and TYPING.type_size_in_bytes(ms.int16) == 2
    with pytest.raises(RuntimeError, match="must be one of"):
        TYPING.Float(7)


def test_fans_and_gains() -> None:
    space = importlib.import_module("mindspore.common.initializer")
    assert space._calculate_fan_in_and_fan_out((4, 5, 3, 3)) == (45, 36) and space._calculate_correct_fan((4, 5), "FAN_OUT") == 4
    assert space._calculate_gain("tanh") == 5 / 3 and space._calculate_gain("leaky_relu", 0.2) == pytest.approx(1.38675049)
    filled = np.zeros((2, 2), np.float32)
    assert space._assignment(filled, 3) is filled and filled.tolist() == [[3, 3], [3, 3]]
    for wrong in (lambda: space._calculate_correct_fan((4, 5), "x"), lambda: space._calculate_fan_in_and_fan_out((4,))):
        with pytest.raises(ValueError, match=r"must (be|have)"):
            wrong()


def test_a_cell_keeps_the_text_of_its_arguments() -> None:
    register = importlib.import_module("mindspore._extends").cell_attr_register

    class Block(nn.Cell):
        @register(attrs=["size"])
        def __init__(self, size: int, *, name: str = "x"):
            super().__init__()

    assert Block(3, name="y").cell_init_args == "Block[3]"
    with pytest.raises(TypeError, match="size"):
        Block()  # pyright: ignore[reportCallIssue]  # the mistake that is tested


def test_operators_of_tensors_by_name() -> None:
    registry = importlib.import_module("mindspore.common._register_for_tensor").tensor_operator_registry
    assert registry.get("abs")(Tensor([-1.0])).tolist() == [1.0] and registry.get("__add__")(Tensor([1.0]), 2).tolist() == [3.0]
    with pytest.raises(AttributeError, match="no operator 'nothing'"):
        registry.get("nothing")
    stub = importlib.import_module("mindspore.common._stub_tensor").StubTensor
    assert not isinstance(Tensor(1.0), stub)


def test_in_a_graph_arguments_of_max_by_position_are_axis_and_keepdims() -> None:
    # As in MindSpore's graphs; eager mode takes them for `dim` and `keepdim`, there too.
    x = Tensor([[0.0, 2.0, 1.0], [3.0, 5.0, 4.0]])

    @ms.jit
    def largest(x: Any) -> Any:
        return x.max(1), x.min(-1, True), x.max(dim=1), x.max(-2).expand_dims(-1)

    along, kept, pair, chained = largest(x)
    assert along.tolist() == [2.0, 5.0] and kept.tolist() == [[0.0], [3.0]] and chained.tolist() == [[3.0], [5.0], [4.0]]
    assert [each.tolist() for each in pair] == [[2.0, 5.0], [1, 1]] == [each.tolist() for each in x.max(1)]


def test_operators_of_mint_as_objects() -> None:
    space = importlib.import_module("mindspore.ops.auto_generate")
    x = Tensor([[0.0, 2.0, 1.0], [3.0, 5.0, 4.0]])

    def made(x: Any) -> Any:
        return (space.AddExt()(x, x, 2), space.SubExt()(x, 1), space.SumExt()(x, (0,), True), space.MeanExt()(x), space.CumsumExt()(x, 1),
                space.SplitWithSize()(x, (1, 2), 1)[1], space.StackExt(1)((x, x)), space.TopkExt()(x, 1)[0], space.SortExt()(x, 1)[1],
                space.IndexSelect()(x, 0, Tensor([1])), space.MatMulExt()(x, x.T), space.SiLU()(x), space.ZerosLikeExt()(x))

    eager, graph = made(x), ms.jit(made)(x)
    assert [y.asnumpy().tobytes() for y in eager] == [y.asnumpy().tobytes() for y in graph]
    assert eager[0].tolist() == [[0.0, 6.0, 3.0], [9.0, 15.0, 12.0]] and eager[2].tolist() == [[3.0, 7.0, 5.0]]
    assert eager[5].tolist() == [[2.0, 1.0], [5.0, 4.0]] and eager[7].tolist() == [[2.0], [5.0]] and eager[6].shape == (2, 2, 3)


def test_settings_of_a_search_are_kept() -> None:
    costs = importlib.import_module("mindspore.parallel._cost_model_context")
    costs.set_cost_model_context(costmodel_alpha=2.0, run_phase=1)
    costs._set_multi_subgraphs()
    assert [costs.get_cost_model_context(name) for name in ("costmodel_alpha", "run_phase", "costmodel_beta")] == [2.0, 1, 400.0]
    costs.reset_cost_model_context()
    assert costs.get_cost_model_context("costmodel_alpha") == 1.0
    with pytest.raises(ValueError, match="the keyword alpha is not recognized"):
        costs.set_cost_model_context(alpha=2.0)


def test_helpers_of_training_scripts() -> None:
    wrap, callbacks = importlib.import_module("mindspore.nn.wrap"), importlib.import_module("mindspore.train.callback")
    assert wrap.cell_wrapper._VirtualDatasetCell(nn.ReLU())(Tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
    assert wrap.loss_scale.grad_scale(Tensor(4.0), Tensor([8.0], ms.float16)).tolist() == [2.0]
    with callbacks._CallbackManager([callbacks.TimeMonitor()]) as several:
        assert isinstance(several.callbacks[0], callbacks.TimeMonitor)
    update = importlib.import_module("mindspore.train.serialization")._update_param
    to = ms.Parameter(Tensor([0.0, 0.0]), name="to")
    update(to, ms.Parameter(Tensor([1.0, 2.0]), name="came"))
    assert to.tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="should have the same shape"):
        update(to, ms.Parameter(Tensor([1.0]), name="came"))


def test_an_initialiser_of_ones_own_is_found_by_name() -> None:
    space = importlib.import_module("mindspore.common.initializer")

    @space._register("halves")
    class Half(space.Initializer):
        def _initialize(self, arr: Any) -> None:
            space._assignment(arr, 0.5)

    try:
        assert space.initializer("halves", [2]).init_data().tolist() == space.initializer("half", [2]).init_data().tolist() == [0.5, 0.5]
    finally:
        for name in ("half", "halves"):
            del space._INITIALIZER_ALIAS[name]


def test_a_cell_of_a_recurrent_layer_may_be_defined_on_the_base_of_ours() -> None:
    base = importlib.import_module("mindspore.nn.layer.rnn_cells").RNNCellBase

    class Own(base):
        def construct(self, x: Any, h: Any) -> Any:
            return ms.ops.matmul(x, self.weight_ih.T) + ms.ops.matmul(h, self.weight_hh.T)

    cell = Own(3, 2, False, num_chunks=4)
    assert [(each.name, each.shape) for each in cell.get_parameters()] == [("weight_ih", (8, 3)), ("weight_hh", (8, 2))]
    assert cell.bias_ih is None and cell(ms.ops.ones((1, 3)), ms.ops.ones((1, 2))).shape == (1, 8)
    with pytest.raises(ValueError, match="hidden_size"):
        base(3, 0, True, 3)


def test_warnings_of_a_function_are_written_at_its_first_call() -> None:
    written: list[str] = []
    logger = types.SimpleNamespace(warning=written.append)
    once = importlib.import_module("mindspore.log")._LogActionOnce

    @once(logger, key="first call")
    def made(x: int) -> int:
        logger.warning(f"made {x}")
        return x

    assert [made(1), made(2)] == [1, 2] and written == ["made 1"]
    logger.warning("after")
    assert written == ["made 1", "after"] and once(logger, "other", no_warning=True)(made)(3) == 3 and len(written) == 2


@pytest.mark.parametrize(("name", "numbers"), [("_random_normal", (1.0, 0.25)), ("_random_uniform", (0.5, 1.5))])
def test_arrays_are_filled_by_a_seed(name: str, numbers: tuple[float, float]) -> None:
    fill = getattr(importlib.import_module("mindspore._c_expression"), name)
    first, again = np.zeros((40, 50), np.float32), np.zeros((40, 50), np.float32)
    fill(7, first, *numbers)
    fill(7, again, *numbers)
    assert (first == again).all() and 0.98 < first.mean() < 1.02 and 0.2 < first.std() < 0.3
    with pytest.raises(RuntimeError, match="float32"):
        fill(7, np.zeros(3), *numbers)


def test_layers_that_draw_have_seeds_of_their_own() -> None:
    seeds = importlib.import_module("mindspore.common.seed")._get_graph_seed
    before = ms.get_seed()
    ms.set_seed(3)
    try:
        assert [seeds(0, "Dropout"), seeds(None, "Dropout"), seeds(5, "Dropout"), seeds(0, "Other")] == [(3, 0), (3, 1), (3, 5), (3, 0)]
    finally:
        ms.set_seed(before or 0)


def test_a_cached_primitive_is_the_same_for_the_same_arguments() -> None:
    cached = importlib.import_module("mindspore.ops._primitive_cache")._get_cache_prim

    @ms.jit
    def f(x: Any) -> Any:
        return cached(ms.ops.MatMul)(False, True)(x, x)

    assert cached(ms.ops.MatMul)(False, True) is cached(ms.ops.MatMul)(False, True)
    assert cached(ms.ops.MatMul)(True) is not cached(ms.ops.MatMul)(False)
    x = ms.ops.ones((2, 3))
    assert [f(x).shape, f(x).shape] == [(2, 2)] * 2 and len(ms.jit_stats(f).graphs) == 1


def test_arrays_of_numbers_are_drawn_by_the_seed() -> None:
    space = importlib.import_module("mindspore.common.initializer")
    before = ms.get_seed()
    try:
        for draw, numbers, mean in ((space._init_random_normal, (1.0, 0.25), 1.0), (space._init_random_uniform, (0.5, 2.5), 1.5)):
            ms.set_seed(5)
            first = draw(*numbers, (40, 50))
            ms.set_seed(5)
            again = draw(*numbers, (40, 50))
            assert first.dtype == np.float32 and first.shape == (40, 50) and (first == again).all()
            assert abs(first.mean() - mean) < 0.05
        assert first.min() >= 0.5 and first.max() < 2.5
    finally:
        ms.set_seed(before or 0)


def test_numbers_and_lists_become_tensors() -> None:
    read = importlib.import_module("mindspore.numpy.utils")._to_tensor

    def made(x: Any) -> Any:
        whole, listed = read(1, [1.0, 2.5])
        return read(x), whole, listed, read(True)

    for found in (made(Tensor([1, 2])), ms.jit(made)(Tensor([1, 2]))):
        assert [(each.dtype, each.tolist()) for each in found] == [
            (ms.int64, [1, 2]), (ms.int32, 1), (ms.float32, [1.0, 2.5]), (ms.bool_, True)]
    assert read() == ()
    for wrong in ("a", np.arange(3)):
        with pytest.raises(TypeError, match="must be a Tensor, a number"):
            read(wrong)


def test_helpers_of_other_frameworks_of_training() -> None:
    model = importlib.import_module("mindspore.train.model")
    x = Tensor([1.0])
    assert model._transfer_tensor_to_tuple(x)[0] is x and model._transfer_tensor_to_tuple([x]) == [x]
    assert isinstance(model._StepSync(), ms.Callback)
    check = importlib.import_module("mindspore.parallel._utils")._device_number_check
    check("stand_alone", 1)
    check("data_parallel", 2)
    with pytest.raises(ValueError, match="'device_number' must be 1 where 'parallel_mode' is 'stand_alone', but got 2"):
        check("stand_alone", 2)
    with pytest.raises(ValueError, match="axis 3"):
        importlib.import_module("mindspore.numpy.utils_const")._raise_value_error("axis ", 3)
    functions = importlib.import_module("mindspore.ops.function.nn_func")
    assert functions._innner_log_softmax(Tensor([[0.0, 0.0]]), 1).tolist() == [[pytest.approx(-np.log(2))] * 2]
    assert functions._get_cache_prim(ms.ops.Neg)() is functions._get_cache_prim(ms.ops.Neg)()


def test_steps_and_iterators_of_pipelines_have_names() -> None:
    space, steps = importlib.import_module("mindspore.dataset"), importlib.import_module("mindspore.dataset.engine.datasets")
    rows = space.NumpySlicesDataset([1, 2, 3], shuffle=False)
    assert isinstance(rows.batch(2), steps.BatchDataset) and isinstance(rows.take(1), steps.TakeDataset)
    assert isinstance(rows.create_tuple_iterator(), space.TupleIterator) and isinstance(rows.create_dict_iterator(), space.DictIterator)
    steps._set_training_dataset(rows)
    assert isinstance(ms.int32, importlib.import_module("mindspore").Int)


def test_relations_are_beside_the_checks() -> None:
    # A program that finds the class of MindSpore 1 reads the relations of it, as it reads them of the module where there is no such class.
    assert VALIDATOR.Validator.EQ == VALIDATOR.EQ and VALIDATOR.Validator.INC_LEFT == VALIDATOR.INC_LEFT
    with pytest.raises(ValueError, match="must be"):
        VALIDATOR.Validator.check("a", 2, "b", 3, VALIDATOR.Validator.EQ)


def test_the_hooks_of_several_callbacks_are_methods() -> None:
    callbacks, heard = importlib.import_module("mindspore.train.callback"), []

    class Older(ms.Callback):
        def step_end(self, run_context: Any) -> None:
            heard.append("older")

    class Newer(ms.Callback):
        def on_train_step_end(self, run_context: Any) -> None:
            heard.append("newer")

    with callbacks._CallbackManager([Older(), Newer()]) as several:
        several.step_end(callbacks.RunContext(callbacks._InternalCallbackParam()))
        several.on_train_step_end(callbacks.RunContext(callbacks._InternalCallbackParam()))
    assert heard == ["older", "older", "newer"]
    with pytest.raises(AttributeError, match="no hook 'step'"):
        several.step  # noqa: B018  # the mistake that is tested


def test_weights_are_loaded_by_the_end_of_their_names() -> None:
    load = importlib.import_module("mindspore.train.serialization")._load_dismatch_prefix_params
    net, missing = nn.Dense(2, 1), ["weight", "bias", "scale"]
    load(net, {f"backbone.{name}": ms.Parameter(Tensor(numbers), name=name) for name, numbers in (
        ("weight", [[3.0, 4.0]]), ("bias", [5.0]), ("other", [6.0]))}, missing, True)
    assert [each.tolist() for each in net.get_parameters()] == [[[3.0, 4.0]], [5.0]] and missing == ["scale"]


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize(("step", "kind"), [
    ("_rnn_tanh_cell", nn.RNNCell), ("_rnn_relu_cell", lambda *sizes: nn.RNNCell(*sizes, nonlinearity="relu")), ("_gru_cell", nn.GRUCell),
    ("_lstm_cell", nn.LSTMCell)])
def test_one_step_of_a_recurrent_layer_is_a_function(step: str, kind: Any, has_bias: bool) -> None:
    cell, draw = kind(3, 2, has_bias), np.random.default_rng(0)
    function = getattr(importlib.import_module("mindspore.nn.layer.rnn_cells"), step)
    x, h, c = (Tensor(draw.standard_normal(shape).astype(np.float32)) for shape in ((4, 3), (4, 2), (4, 2)))
    state = (h, c) if step == "_lstm_cell" else h
    expected = cell(x, state)
    for run in (function, ms.jit(function)):
        found = run(x, state, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
        for one, other in zip(*((each if isinstance(each, tuple) else (each,)) for each in (found, expected)), strict=True):
            np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


def test_a_decorator_that_changes_nothing_may_have_options() -> None:
    decorated = importlib.import_module("mindspore.ops.primitive")._primexpr

    @decorated
    def rank(shape: Any) -> int:
        return len(shape)

    @decorated(get_instance=False)
    def first(shape: Any) -> int:
        return shape[0]

    assert rank((2, 3)) == 2 and first((2, 3)) == 2 and ms.jit(lambda x: x * rank(x.shape))(Tensor([1.0])).tolist() == [1.0]


def test_lists_and_wrappers_of_mixed_precision() -> None:
    amp = importlib.import_module("mindspore.train.amp")
    assert nn.Dense in amp.AMP_WHITE_LIST and nn.BatchNorm2d in amp.AMP_BLACK_LIST
    net, x = nn.SequentialCell(nn.Dense(2, 2), nn.LayerNorm((2,))), Tensor([[1.0, 2.0]])
    assert amp._auto_black_list(net, amp.AMP_BLACK_LIST, ms.float16)(x).dtype is ms.float16
    assert net[0](x).dtype is ms.float16 and amp._OutputTo32(net)(x).dtype is ms.float32


def test_sizes_of_resized_pictures() -> None:
    functions, x = importlib.import_module("mindspore.ops.function.nn_func"), Tensor(np.zeros((1, 2, 3, 5), np.float32))
    assert functions._interploate_ext_make_tuple(x, 2) == (2, 2) and functions._interploate_ext_make_tuple(x, [2, 3]) == [2, 3]
    assert functions._interpolate_ext_scale_factor_convert_size(x, (1.5, 0.5)) == (4, 2)


def test_writing_and_gating_as_objects() -> None:
    generated, x = importlib.import_module("mindspore.ops.auto_generate"), Tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    write = generated.Scatter()
    assert write(x, 1, Tensor([[0], [1]]), Tensor([[9.0], [8.0]])).tolist() == [[9.0, 1.0, 2.0], [3.0, 8.0, 5.0]]
    assert write(x, 1, Tensor([[0], [1]]), Tensor([[9.0], [8.0]]), "add").tolist() == [[9.0, 1.0, 2.0], [3.0, 12.0, 5.0]]
    with pytest.raises(ValueError, match="'reduce' must be 'none' or 'add'"):
        write(x, 1, Tensor([[0], [1]]), Tensor([[9.0], [8.0]]), "mean")
    gated = generated.Swiglu()(Tensor([[1.0, -2.0, 3.0, 4.0]]), -1)
    np.testing.assert_allclose(gated.asnumpy(), [[3 / (1 + np.exp(-1.0)), -8 / (1 + np.exp(2.0))]], rtol=1e-6)
    assert generated.FmodScalar()(Tensor([5.0, -5.0]), 3).tolist() == [2.0, -2.0]


def test_a_search_of_strategies_is_asked_for() -> None:
    asked = importlib.import_module("mindspore.parallel._utils")._is_in_auto_parallel_mode
    assert not asked()
    try:
        ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel")
        assert asked()
    finally:
        ms.reset_auto_parallel_context()


@pytest.mark.parametrize("has_bias", [False, True])
def test_projections_of_attention(has_bias: bool) -> None:
    functions, draw = importlib.import_module("mindspore.ops.function.nn_func"), np.random.default_rng(0)
    q, k, v = (draw.standard_normal((5, 2, 4)).astype(np.float32) for _ in "qkv")
    weight, bias = draw.standard_normal((12, 4)).astype(np.float32), draw.standard_normal(12).astype(np.float32) if has_bias else None
    biases = [None] * 3 if bias is None else np.split(bias, 3)
    given = None if bias is None else Tensor(bias)
    for inputs, same in (((q, k, v), (False, False)), ((q, k, k), (True, False)), ((q, q, q), (True, True))):
        expected = [x @ w.T + (0 if b is None else b) for x, w, b in zip(inputs, np.split(weight, 3), biases, strict=True)]
        tensors = [Tensor(x) for x in inputs]
        for run in (functions._in_projection_packed, ms.jit(functions._in_projection_packed)):
            for one, other in zip(run(*tensors, Tensor(weight), given, *same), expected, strict=True):
                np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-5, atol=1e-5)
        apart = functions._in_projection(*tensors, *map(Tensor, np.split(weight, 3)), *(b if b is None else Tensor(b) for b in biases))
        for one, other in zip(apart, expected, strict=True):
            np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="weight of the key"):
        functions._in_projection(Tensor(q), Tensor(k[..., :2]), Tensor(v), *map(Tensor, np.split(weight, 3)))


def test_masks_of_attention_are_checked() -> None:
    functions = importlib.import_module("mindspore.ops.function.nn_func")
    assert functions._check_qkv_shape(3, 3, 3) and not functions._check_qkv_shape(2, 2, 2)
    for ndims in ((3, 2, 3), (4, 4, 4), (2, 2, 3)):
        with pytest.raises(ValueError, match="must be of 2 dimensions, or of 3"):
            functions._check_qkv_shape(*ndims)
    functions._check_kpm_shape(3, 2)
    with pytest.raises(ValueError, match="'key_padding_mask' must be of 1 dimensions"):
        functions._check_kpm_shape(2, 2)
    functions._check_attn_mask_shape(2, (5, 4), (6, 4), 3, (2, 5, 6), 2)
    for ndim, shape in ((3, (3, 5, 6)), (4, (1, 2, 5, 6))):
        with pytest.raises(ValueError, match="'attn_mask' must be of"):
            functions._check_attn_mask_shape(2, (5, 4), (6, 4), ndim, shape, 2)
    assert functions._inner_pad(Tensor([[True]]), (0, 1)).tolist() == [[True, False]]
    assert functions._inner_pad(Tensor([[2.0]]), (1, 0), 3.0).tolist() == [[3.0, 2.0]]
    x = Tensor(np.ones(1000, np.float32))
    assert functions._inner_dropout(x, 0.5, False) is x and functions._inner_dropout(x, 0.0, True) is x
    assert set(np.unique(functions._inner_dropout(x, 0.5, True).asnumpy())) == {0.0, 2.0}


def test_arrays_of_pictures() -> None:
    functions, picture = importlib.import_module("mindspore.dataset.vision.py_transforms_util"), np.arange(24).reshape(2, 3, 4)
    assert functions.is_numpy(picture) and not functions.is_numpy([1]) and functions.hwc_to_chw(picture[0]) is not picture
    np.testing.assert_array_equal(functions.hwc_to_chw(picture), np.moveaxis(picture, -1, 0))
    for wrong in ([1], picture[None]):
        with pytest.raises(TypeError, match="array of 2 or 3 dimensions"):
            functions.hwc_to_chw(wrong)
