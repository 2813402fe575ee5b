"""The explorer's data: which lines belong together across stages, what is shown of cells, files and runs, and what a page costs."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.cli import main
from adjoint.explorer.explore import explore, program_data
from adjoint.explorer.page import page
from adjoint.ir.print import print_module
from adjoint.runtime.gradients.trace import trace
from adjoint.runtime.graphs.calls.making import parsed

HERE = Path(__file__)


class Data:
    """The data of a program, with its tables looked up.

    stages  by name
    """

    def __init__(self, data: dict[str, Any]):
        self.data = data
        self.stages = {stage["name"]: stage for stage in data["stages"]}

    @classmethod
    def of(cls, target: Any, *inputs: Any, run: bool = False) -> Data:
        # through JSON, as the page reads it
        return cls(json.loads(json.dumps(program_data(target, inputs, "title", "arguments", run=run), allow_nan=False)))

    def text(self, line: dict[str, Any]) -> str:
        tokens = line["text"] if isinstance(line["text"], list) else self.data["texts"][line["text"]]
        return "".join(self.data["tokens"][token][1] if isinstance(token, int) else token[1] for token in tokens)

    def ids(self, line: dict[str, Any]) -> list[int]:
        found = line.get("id", [])
        return found if isinstance(found, list) else self.data["ids"][found]

    def line(self, stage: str, part: str) -> dict[str, Any]:
        """Return the first line of a stage with a text."""
        return next(line for line in self.stages[stage]["lines"] if part in self.text(line))

    def lines_of(self, stage: str, ids: list[int]) -> list[str]:
        """Return the lines of a stage that share one of these identities."""
        return [self.text(line).strip() for line in self.stages[stage]["lines"] if set(self.ids(line)) & set(ids)]

    def places(self, number: int) -> list[tuple[str, int]]:
        """Return the places to which an identity leads: its line, and the calls that led there."""
        found, at = [], self.data["places"][number]
        while at >= 0:
            file, line, _, _, at = self.data["locations"][at]
            found.append((self.data["files"][file]["path"], line))
        return found


def x(*shape: int) -> Tensor:
    return Tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


class LeNet5(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()

    def construct(self, x: Tensor) -> Tensor:
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        x = self.relu(self.fc1(self.flatten(x)))
        return self.fc3(self.relu(self.fc2(x)))


def place(text: str) -> tuple[str, int]:
    """Return the place of the first line of this file with a text."""
    return str(HERE), HERE.read_text(encoding="utf-8").split(text)[0].count("\n") + 1


@pytest.fixture(autouse=True)
def _fusing() -> Iterator[None]:
    before = ms.get_context("background_compile")
    ms.set_context(background_compile="wait")
    yield
    ms.set_context(background_compile=before)


@cache
def lenet_data() -> Data:
    return Data.of(LeNet5(), x(2, 1, 32, 32))


@pytest.fixture
def lenet() -> Data:
    return lenet_data()


# -- identity ----------------------------------------------------------------------------------------------------------------
def test_every_line_of_c_leads_to_parsed_nodes_and_to_python_and_back(lenet: Data) -> None:
    parsed_ids = {number for line in lenet.stages["parsed"]["lines"] for number in lenet.ids(line)}
    reached: set[int] = set()
    for line in lenet.stages["c"]["lines"]:
        ids = lenet.ids(line)
        assert not lenet.text(line) or (ids and set(ids) <= parsed_ids), lenet.text(line)
        assert all(path == str(HERE) for number in ids for path, _ in lenet.places(number))
        reached |= set(ids)
    ops_of = ("convolution(", "relu(", "matmul(")
    computed = [line for line in lenet.stages["parsed"]["lines"] if any(op in lenet.text(line) for op in ops_of)]
    assert len(computed) == 9 and all(set(lenet.ids(line)) & reached for line in computed)


def test_the_calls_of_cells_lead_to_a_line(lenet: Data) -> None:
    convolution = lenet.line("c", "convolution")
    called, construct = place("x = self.pool(self.relu(self.conv1(x)))"), place("def construct(self, x: Tensor) -> Tensor:")
    assert lenet.places(lenet.ids(convolution)[0]) == [called, construct]


def doubled(x: Tensor) -> Tensor:
    return ops.exp(x) * 2.0


def twice_doubled(x: Tensor) -> Tensor:
    return doubled(doubled(x))


def test_the_calls_of_functions_lead_to_a_line() -> None:
    """Two calls of one function on one line differ in their columns."""

    class Net(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return twice_doubled(x) + 1.0

    data = Data.of(Net(), x(3))
    path, helper = place("return ops.exp(x) * 2.0")
    calls = [helper, helper + 4, place("return twice_doubled(x) + 1.0")[1], place("return twice_doubled(x) + 1.0")[1] - 1]
    inner, outer = [line for line in data.stages["parsed"]["lines"] if "exp(" in data.text(line)]
    for line in (inner, outer):
        assert data.places(data.ids(line)[0]) == [(path, number) for number in calls]
    assert inner["at"] != outer["at"]


def test_one_identity_in_all_stages(lenet: Data) -> None:
    """The forward node, its gradient, the fused node that holds it, its launch and its kernel share its identity."""
    ids = lenet.ids(lenet.line("parsed", "= relu("))
    assert lenet.lines_of("adjoint", ids)[0].startswith("r.") and "relu_gradient(" in "".join(lenet.lines_of("adjoint", ids))
    fused = lenet.lines_of("fused", ids)
    assert " = fused carry (" in fused[0] and any("= relu(" in line for line in fused)
    assert any("#" in line and "relu(" in line for line in lenet.lines_of("plan", ids))
    assert any(" = " in line and " > 0.0f ? " in line for line in lenet.lines_of("c", ids))


def test_a_merged_node_keeps_both_identities() -> None:
    def twice(x: Tensor) -> Tensor:
        a = ops.exp(x) * 2.0
        b = ops.exp(x) * 2.0
        return a + b * 1.0

    data = Data.of(twice, x(3))
    first, second, third = (data.ids(line) for line in data.stages["parsed"]["lines"] if "mul(" in data.text(line))
    kept = data.ids(data.line("optimised", "2.0_f32"))
    assert set(kept) == {*first, *second, *third}  # cse merges the first two, simplify takes the second for the third
    assert {line for number in kept for _, line in data.places(number)} == {place("a = ops.exp(x) * 2.0")[1] + i for i in range(3)}


def test_a_rule_of_the_users_leads_to_its_cell() -> None:

    class Halved(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return x * 0.5

        def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
            return (dout * 0.25,)

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.halved = Halved()

        def construct(self, x: Tensor) -> Tensor:
            return ops.sin(self.halved(ops.exp(x)))

    data = Data.of(Net(), x(3))
    rule = data.lines_of("parsed", data.ids(data.line("adjoint", "bprop!")))
    assert rule and not any("sin(" in line for line in rule)


def test_identities_are_kept_out_of_the_text() -> None:
    net = LeNet5()
    data = Data.of(net, x(2, 1, 32, 32))
    text = print_module(parsed(net, x(2, 1, 32, 32)).graph.module, locations=False)
    assert [data.text(line) for line in data.stages["parsed"]["lines"]] == text.splitlines()


def test_gradients_of_loops_lead_to_the_loop() -> None:
    def loop(x: Tensor) -> Tensor:
        y = x
        while y.sum() < 10.0:
            y = y * 2.0
        for _ in range(2):
            y = ops.sin(y)
        return y.sum()

    data = Data.of(loop, Tensor(np.ones(3, np.float32)))
    for line in data.stages["adjoint"]["lines"]:
        if " = " in data.text(line) and "host" not in data.text(line):
            assert data.ids(line), data.text(line)
    cosine = data.ids(data.line("adjoint", "= cos("))
    (sine,) = data.lines_of("parsed", cosine)
    assert " = sin(" in sine


# -- cells, hooks, changes ---------------------------------------------------------------------------------------------------
def test_cells_are_a_tree_with_what_they_hold(lenet: Data) -> None:
    cells = {cell["path"]: cell for cell in lenet.data["cells"]}
    assert cells[""]["type"] == "LeNet5" and cells[""]["parent"] == -1 and cells[""]["parameters"] == 61706 and cells[""]["bytes"] == 246824
    assert cells["conv1"]["parent"] == 0 and cells["conv1"]["parameters"] == 156 and cells["conv1"]["nodes"] == 5
    assert cells[""]["nodes"] == sum(cell["nodes"] for path, cell in cells.items() if path)
    inlined = lenet.line("optimised", "convolution(")
    assert lenet.data["cells"][inlined["cell"]]["path"] == "conv1"


def test_cells_inside_of_cells_keep_their_path() -> None:
    class Block(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Dense(4, 4)

        def construct(self, x: Tensor) -> Tensor:
            return ops.tanh(self.fc(x))

    net = nn.SequentialCell([Block(), Block()])
    data = Data.of(net, x(2, 4))
    products = [line for line in data.stages["optimised"]["lines"] if "matmul(" in data.text(line)]
    assert [data.data["cells"][line["cell"]]["path"] for line in products] == ["0.fc", "1.fc"]
    function = Data.of(lambda x: net(x), x(2, 4))
    assert {cell["path"] for cell in function.data["cells"]} >= {cell.title for _, cell in net.cells_and_names()}


def test_hooks_are_marked_where_they_stand() -> None:
    def seen(gradient: Tensor) -> Tensor:
        return gradient * 2.0

    def hooked(x: Tensor) -> Tensor:
        z = x * x
        z.register_hook(seen)
        return ops.tanh(z)

    data = Data.of(hooked, x(3))
    marked = {name: [data.text(line).split()[0] for line in stage["lines"] if line.get("hook")] for name, stage in data.stages.items()}
    assert marked["parsed"] == ["attach!"] == marked["optimised"] and marked["plan"] and len(marked["adjoint"]) == 1


def test_changes_are_what_a_pass_did() -> None:
    def simple(x: Tensor) -> Tensor:
        return ops.exp(x) * 1.0 + x

    data = Data.of(simple, x(3))
    stage = data.stages["optimised"]
    removed = [data.text(data.stages["parsed"]["lines"][line]).strip() for line, _ in stage["changes"]["removed"]]
    assert stage["changes"]["from"] == "parsed" and stage["changes"]["added"] == [] and len(removed) == 1 and "1.0_f32" in removed[0]
    assert [stage["column"] for stage in data.data["stages"]] == sorted(
        (stage["column"] for stage in data.data["stages"]), key=["ir", "adjoint", "c"].index)


def test_a_forward_hook_has_no_adjoint_in_ir() -> None:
    net = nn.Dense(4, 3)
    net.register_forward_hook(lambda cell, given, output: output * 2.0)
    data = Data.of(net, x(2, 4))
    assert "adjoint" not in data.stages and "The graph has no adjoint" in data.data["notes"][0]
    assert any(line.get("hook") for line in data.stages["parsed"]["lines"])


def test_the_adjoint_of_one_run_stands_for_that_of_a_forward_hook() -> None:
    net = nn.Dense(4, 3)
    net.register_forward_hook(lambda cell, given, output: output * 2.0)
    data = Data.of(net, x(2, 4), run=True)
    product = data.ids(data.line("parsed", "= matmul("))
    assert len(data.lines_of("adjoint", product)) == 3 and data.stages["adjoint"]["title"] == "Adjoint of one run"
    assert "numbers" in data.line("parsed", "func") and "2.0_f32" in "".join(data.text(line) for line in data.stages["adjoint"]["lines"])


# -- runs --------------------------------------------------------------------------------------------------------------------
def test_a_run_shows_numbers_gradients_and_times() -> None:
    def loss(x: Tensor) -> Tensor:
        return (ops.relu(x) * 3.0).sum()

    data = Data.of(loss, Tensor(np.array([-1.0, 2.0, 4.0], np.float32)), run=True)
    relu = data.line("parsed", "= relu(")
    assert relu["numbers"] == "[0., 2., 4.]" and relu["gradient"] == "[3., 3., 3.]"
    assert relu["seen"] == {"zeros": pytest.approx(1 / 3, rel=1e-5), "not_finite": 0, "smallest": 0.0, "largest": 4.0,
                            "norm": pytest.approx(27**0.5, rel=1e-5)}
    assert data.line("parsed", "func")["numbers"] == "x = [-1., 2., 4.]" and data.line("parsed", "func")["gradient"] == "x = [0., 3., 3.]"
    assert data.line("adjoint", "relu_gradient(")["numbers"] == "[0., 3., 3.]"
    heads = [line for line in data.stages["c"]["lines"] if "runs" in line]
    assert heads and all(line["runs"]["calls"] >= 1 and line["runs"]["bytes"] > 0 for line in heads)
    assert any("runs" in line for line in data.stages["plan"]["lines"])


class Summing(nn.Cell):
    """Adds up what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Dense(4, 20)
        self.total = ms.Parameter(Tensor(np.zeros(1, np.float32)), name="total", requires_grad=False)

    def construct(self, x: Tensor) -> Tensor:
        self.total = self.total + x.sum()
        return self.fc(x)


def test_a_run_leaves_parameters_as_they_are_and_calls_hooks() -> None:
    calls: list[int] = []
    net = Summing()
    net.fc.register_backward_hook(lambda cell, grad_input, grad_output: calls.append(1))
    data = Data.of(net, x(2, 4), run=True)
    assert calls and net.total.asnumpy().tolist() == [0.0]
    assert data.line("adjoint", "func")["numbers"].startswith("x = ")
    product = data.line("fused", "matmul(")
    assert product["runs"]["flops"] == 2 * 2 * 4 * 20 and all(data.data["cells"][0][which] > 0 for which in ("seconds", "backward"))


class Scaling(nn.Cell):
    """Writes a Parameter that is trained."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = ms.Parameter(Tensor(np.full(2, 5.0, np.float32)), name="scale")

    def construct(self, x: Tensor) -> Tensor:
        self.scale = self.scale * x
        return self.scale.sum() * 3.0


def test_the_gradient_by_a_parameter_that_is_written_runs_on_its_value() -> None:
    data = Data.of(Scaling(), Tensor(np.array([1.0, 2.0], np.float32)), run=True)
    head = data.line("adjoint", "func")["numbers"]
    assert "scale = [5., 5.]" in head and head.endswith("scale' = [0., 0.]")
    assert [line["numbers"] for line in data.stages["adjoint"]["lines"] if "mul(" in data.text(line)][-2:] == ["[3., 6.]", "[15., 15.]"]


def test_rounds_of_a_loop_are_shown_one_after_the_other_and_not_finite_numbers_counted() -> None:
    def doubled(x: Tensor) -> Tensor:
        y = x
        while y.sum() < 8.0:
            y = y * 2.0
        return ops.log(y - y)

    data = Data.of(doubled, Tensor(np.array([1.0], np.float32)), run=True)
    assert data.line("parsed", "= mul(")["numbers"] == "[2.] → [4.] → [8.]"
    assert data.line("parsed", "= log(")["seen"] == {"zeros": 0.0, "not_finite": 1, "norm": 1.0}


def test_the_gradient_of_a_loop_over_a_cell_runs() -> None:
    """The cell inside of the loop and the one around pass stacks on, whose hooks would not get them."""

    class Repeated(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.scale = Scale()

        def construct(self, x: Tensor) -> Tensor:
            while x.sum() < 8.0:
                x = self.scale(x)
            return x.sum()

    class Scale(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return x * x

    net = Repeated()
    net.scale.register_backward_hook(lambda *_: None)
    data = Data.of(net, Tensor(np.array([2.0], np.float32)), run=True)
    assert data.line("parsed", "= mul(")["numbers"] == "[4.] → [16.]" and data.line("parsed", "func")["gradient"] == "x = [32.]"


# -- limits and what the user's program contains -----------------------------------------------------------------------------
def test_a_deep_network_stays_small() -> None:
    class Block(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.relu = nn.Dense(16, 16), nn.ReLU()

        def construct(self, x: Tensor) -> Tensor:
            return self.relu(self.fc(x)) + x

    data = program_data(nn.SequentialCell([Block() for _ in range(50)]), [x(2, 16)], "deep", "f32[2, 16]")
    assert len(page(data)) < 1_000_000
    counts = [len(line["id"]) if isinstance(line.get("id"), tuple) else 1 for stage in data["stages"] for line in stage["lines"]]
    assert sum(counts) < 3 * len(counts)  # long lists of identities are shared


def test_the_page_of_lenet_is_small(lenet: Data) -> None:
    assert len(page(lenet.data).encode()) < 1_500_000


BREAKING_OUT = "</script><img src=x onerror=alert(1)>"


def test_what_the_program_contains_is_text(tmp_path: Path) -> None:
    """Strings, names, hook names and file names that look like HTML stay in the data, and never reach the page as markup."""

    class Named(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            print(BREAKING_OUT)
            return x * 2.0

    Named.__name__ = BREAKING_OUT
    net = Named()
    hook = lambda cell, grad_input, grad_output: None  # noqa: E731 - its name is what is tested
    hook.__qualname__ = BREAKING_OUT
    net.register_backward_hook(hook)
    path = explore(net, x(3), path=tmp_path / f"{BREAKING_OUT.replace('/', '_')}.html")
    html = Path(path).read_text(encoding="utf-8")
    assert "<img" not in html and html.count("</script>") == html.count("<script")
    assert BREAKING_OUT in json.dumps(Data.of(net, x(3)).data)


def test_notebooks_show_escaped_ir_without_scripts() -> None:
    class Named(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            print(BREAKING_OUT)
            return ops.relu(x)

    net = Named()
    function = ms.jit(net)
    untouched = ms.jit(lambda x: x + 1.0)
    assert "no graph yet" in untouched._repr_html_()  # pyright: ignore[reportFunctionMemberAccess] - notebooks ask for it
    function(x(3))
    for shown in (parsed(net, x(3)), parsed(net, x(3)).graph, function, trace(lambda x: ops.relu(x), [x(3)])):
        html = shown._repr_html_()  # pyright: ignore[reportFunctionMemberAccess] - as above
        assert "relu" in html and "<img" not in html and "<script" not in html and html.startswith("<div>")
    assert "&lt;img" in parsed(net, x(3))._repr_html_()


# -- explore and the command ---------------------------------------------------------------------------------------------------
def test_explore_takes_functions_cells_and_jitted_functions(tmp_path: Path) -> None:
    def plain(x: Tensor) -> Tensor:
        return ops.relu(x)

    class Scaled(nn.Cell):
        def construct(self, x: Tensor, scale: float) -> Tensor:
            return x * scale

    scaled, given = Scaled(), (x(3), 2.0)
    for i, (target, inputs) in enumerate([(plain, given[:1]), (ms.jit(plain), given[:1]), (scaled, given), (scaled.construct, given)]):
        path = tmp_path / f"{i}.html"
        assert ms.explore(target, *inputs, path=path) == str(path) and path.stat().st_size > 10_000
    with pytest.raises(TypeError, match="'fn' must be a function or a Cell, but got int"):
        ms.explore(3, path=tmp_path / "never.html")
    with pytest.raises(TypeError):
        ms.explore(plain, path=tmp_path / "never.html")
    with pytest.raises(OSError, match="nowhere"):
        ms.explore(plain, x(3), path=tmp_path / "nowhere" / "page.html")
    with pytest.raises(ms.CompileError, match="has no `z`"):
        ms.explore(plain, x(3), path=tmp_path / "never.html", wrt=["z"])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0.html", "1.html", "2.html", "3.html"]


PROGRAM = textwrap.dedent("""\
    from mindspore import nn, ops

    def loss(x):
        return ops.exp(x).sum()

    def raises(x):
        raise ValueError("not today")

    class Net(nn.Cell):
        def construct(self, x):
            return ops.relu(x)
    """)


@pytest.mark.parametrize(("target", "arguments", "code", "said"), [
    ("there_is_none.py:f", "f32[3]", 2, "there is no file"),
    ("explored.py:nothing", "f32[3]", 2, "has no 'nothing'; it has loss, raises, Net"),
    ("rates.py:nothing", "f32[3]", 2, "has no 'nothing'; it has neither functions nor Cells"),
    ("explored.py", "f32[3]", 2, "The form is"),
    ("explored.py:loss", "f32[3], f32[3]", 2, "cannot be called with 2 inputs"),
    ("explored.py:loss", "f99[3]", 2, "--args takes types and Python values"),
    ("explored.py:raises", "f32[3]", 1, "not today"),
    ("broken.py:f", "", 1, "SyntaxError"),
])
def test_bad_input_is_one_clear_error_and_writes_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, arguments: str, code: int, said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("explored.py").write_text(PROGRAM, encoding="utf-8")
    Path("broken.py").write_text("def f(:\n", encoding="utf-8")
    Path("rates.py").write_text("rate = 0.5\n", encoding="utf-8")
    assert main(["explore", target, "--args", arguments, "--run"]) == code
    out, err = capsys.readouterr()
    assert said in err and not out and "raised within" not in err
    assert not list(tmp_path.glob("*.html")) and not list(tmp_path.glob("*.tmp"))


def test_the_command_writes_a_page_or_keeps_the_one_before(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("explored.py").write_text(PROGRAM, encoding="utf-8")
    assert main(["explore", "explored.py:Net", "--args", "f32[3]"]) == 0
    assert capsys.readouterr().out.startswith("Net.html: ") and "explored.py:Net" in Path("Net.html").read_text(encoding="utf-8")
    before = Path("Net.html").read_bytes()
    assert main(["explore", "explored.py:raises", "--args", "f32[3]", "--run", "-o", "Net.html"]) == 1
    assert Path("Net.html").read_bytes() == before
    assert main(["explore", "explored.py:loss", "--args", "f32[3]", "-o", "nowhere/page.html"]) == 1
    assert "the page 'nowhere/page.html' cannot be written" in capsys.readouterr().err


def test_dump_ir_has_the_same_structure(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Of parsed code, of a run, and of a text; the texts stay beside it."""
    net = tmp_path / "explored.py"
    net.write_text(PROGRAM, encoding="utf-8")
    for more in ([], ["--trace"], ["--stage", "plan"]):
        assert main(["dump-ir", f"{net}:loss", "--args", "f32[3]", "--json", *more]) == 0
        report = json.loads(capsys.readouterr().out)
        data = Data(report["structure"])
        for name, stage in data.stages.items():
            if stage["kind"] != "c":
                assert "".join(data.text(line) + "\n" for line in stage["lines"]).split() == [
                    word for line in report[name].splitlines() for word in line.partition("  at ")[0].split()] or stage["kind"] == "plan"
                assert any("exp(" in data.text(line) and data.ids(line) for line in stage["lines"])
    first = next(iter(report))
    assert first == "plan" and report[first].startswith("plan @loss")
