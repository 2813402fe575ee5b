"""The commands: what they print, and their exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import adjoint as ms
from adjoint import nn, ops
from adjoint.cli import main
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_module
from adjoint.runtime.graphs.running.binding import bind

NET = '''
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter


def clip(grad):
    return ops.clamp(grad, -1.0, 1.0)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(4, 3)
        self.fc.register_backward_hook(lambda cell, gi, go: None)
        self.scale = Parameter(Tensor([2.0]), name="scale")

    def construct(self, x):
        h = self.fc(x) * self.scale
        h.register_hook(clip)
        return ops.tanh(h * 0.5)


class Plain(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(4, 3)

    def construct(self, x):
        return ops.tanh(self.fc(x))


class NeedsArguments(nn.Cell):
    def __init__(self, size):
        super().__init__()


def loss(x, y):
    return ((x - y) * (x - y)).sum()


net = Net()
number = 3
forward_hook = Net()
forward_hook.fc.register_forward_hook(lambda cell, args, out: out * 2)


def refused(x):
    with open("x") as file:
        return x


def counted(x):
    print("counted", x.shape)
    return x + 1


class Counter(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count = Parameter(Tensor([2.0]), name="count")
        self.kept = Parameter(Tensor([1.0]), name="kept", requires_grad=False)

    def construct(self, x):
        ops.assign(self.count, self.count * 2.0)
        return (x * self.count * self.kept).sum()


@ms.jit
def jitted(x, k):
    print("the sum is", x.sum())
    total = x * 0.0
    for i in range(k):
        if x.sum() > 0:
            total = total + x * i
        else:
            total = total - x
    while total.sum() < 10.0:
        total = total + 1.0
    return total
'''


@pytest.fixture
def net(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(NET)
    return str(path)


def run(capsys, *arguments):
    code = main(arguments)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.parametrize("name", ["Net", "net"])
def test_dump_ir_of_a_cell(capsys, net, name):
    """Forward and adjoint can be parsed and print the same; hooks are visible; source lines are the user's."""
    code, out, _ = run(capsys, "dump-ir", f"{net}:{name}", "--args", "f32[2, 4]", "--json")
    assert code == 0
    stages = json.loads(out)
    assert set(stages) == {"parsed", "optimised", "adjoint", "c", "structure"}
    for stage in ("parsed", "optimised", "adjoint"):
        assert print_module(parse_module(stages[stage])) == stages[stage]
    for stage in ("parsed", "optimised"):
        assert "param @fc.weight : f32[3, 4]" in stages[stage] and "read @scale" in stages[stage]
        assert "attach! @h.hook" in stages[stage] and 'cell "fc" with @fc' in stages[stage]
    assert "callback! @h.hook" in stages["adjoint"] and "backward! @fc" in stages["adjoint"]
    line = NET[: NET.index("return ops.tanh")].count("\n") + 1
    assert f"at {net}:{line}:" in stages["parsed"] and f"at grad[tanh]({net}:{line}:" in stages["adjoint"]
    assert "0.5_f32" in stages["parsed"]
    kernels = {kernel["name"] for kernel in stages["c"]}
    assert any("matmul" in name for name in kernels) and any("tanh" in name for name in kernels)


def test_dump_ir_stages_as_text(capsys, net):
    code, out, _ = run(capsys, "dump-ir", f"{net}:loss", "--args", "f32[3], f32[3]", "--stage", "c")
    assert code == 0 and "sub_f32" in out and "// sub(f32[3], f32[3]) -> f32[3]" in out and "\x1b" not in out
    code, out, _ = run(capsys, "dump-ir", f"{net}:loss", "--args", "f32[3], f32[3]", "--stage", "plan")
    assert code == 0 and out.startswith("plan @loss: ") and "launches, an arena of 128 bytes\n" in out
    assert out.splitlines()[-1].startswith("results #")
    code, out, _ = run(capsys, "dump-ir", f"{net}:loss", "--args", "f32[3], f32[3]", "--stage", "adjoint", "--wrt", "y", "--no-locations")
    assert code == 0 and "@loss.grad(x: f32[3], y: f32[3], s" in out and net not in out
    code, out, _ = run(capsys, "dump-ir", f"{net}:loss", "--args", "f32[3], f32[3]", "--stage", "parsed", "--passes", "cse,dce", "--diff")
    assert code == 0 and "-  " in out and "after cse" in out


def test_dump_ir_as_a_file_of_c(capsys, net):
    """The output is the C file; the gradient is by the arguments that --wrt names."""
    code, out, _ = run(capsys, "dump-ir", f"{net}:loss", "--args", "f32[3], f32[3]", "--stage", "c", "--standalone", "--wrt", "y")
    assert code == 0 and out.startswith("/* loss, loss_grad: ") and out.count("#include <stdint.h>") == 1
    assert "int loss(\n" in out and "    float *restrict y_bar) {" in out and "restrict x_bar" not in out
    assert "/* net.py:" in out and ": return ((x - y) * (x - y)).sum() */" in out


def test_dump_ir_of_what_is_parsed(capsys, net):
    """A jitted function with control flow is shown completely and runs as a graph; Python values are possible inputs."""
    code, out, _ = run(capsys, "dump-ir", f"{net}:jitted", "--args", "f32[3], 2", "--run", "--json")
    stages = json.loads(out)
    assert code == 0 and stages["parsed"].count("= if ") == 2 and "while carry" in stages["parsed"]
    assert """host @print = "print('the sum is', f32)\"""" in stages["parsed"] and "apply! @print(s)" in stages["optimised"]
    assert stages["results"].startswith("the sum is ") and "Tensor(shape=[3]" in stages["results"]
    assert "x * 1" not in stages["parsed"] and "mul(x, 1.0_f32)" in stages["parsed"] and "mul(x, 1.0_f32)" not in stages["optimised"]
    assert any(served.endswith(f"at {net}:{line_of('total = total + 1.0')}") for kernel in stages["c"] for served in kernel["serves"])
    code, out, _ = run(capsys, "dump-ir", f"{net}:jitted", "--args", "f32[3], 2", "--stage", "optimised", "--diff", "--no-locations")
    assert code == 0 and "# after simplify" in out and "-    m.1: f32[3] = mul(x, 1.0_f32)\n" in out
    code, out, _ = run(capsys, "dump-ir", f"{net}:jitted", "--args", "f32[3], 2", "--trace", "--stage", "forward", "--no-locations")
    assert code == 0 and "while" not in out and "print" not in out


def test_dump_ir_lifts_what_is_written(capsys, net):
    code, out, _ = run(capsys, "dump-ir", f"{net}:Counter", "--args", "f32[3]", "--stage", "adjoint", "--no-locations")
    assert code == 0 and out.startswith("# @count: written, and differentiated by. lift-state makes it an argument")
    assert "@Counter.grad(x: f32[3], count: f32[1], " in out and "write!" not in out and "kept'" not in out
    assert print_module(parse_module(out)) == out.partition("\n")[2]
    code, out, _ = run(capsys, "dump-ir", f"{net}:Counter", "--args", "f32[3]", "--stage", "adjoint", "--json")
    stages = json.loads(out)
    assert stages["notes"]["adjoint"][0].startswith("@count") and set(stages) == {"adjoint", "notes", "structure"}
    code, out, _ = run(capsys, "dump-ir", f"{net}:Counter", "--args", "f32[3]", "--stage", "adjoint", "--wrt", "x", "--no-locations")
    assert code == 0 and "write! @count" in out and "#" not in out


def test_dump_ir_of_integers_has_no_adjoint(capsys, net):
    code, out, _ = run(capsys, "dump-ir", f"{net}:counted", "--args", "i32[3]", "--json")
    assert code == 0 and set(json.loads(out)) == {"parsed", "optimised", "c", "structure"}


def test_dump_ir_shows_what_can_be_shown(capsys, net):
    """Without an adjoint, the graph and its kernels are still shown."""
    code, out, err = run(capsys, "dump-ir", f"{net}:forward_hook", "--args", "f32[2, 4]", "--json")
    stages = json.loads(out)
    assert code == 1 and "E144" in err and stages["error"] in err and set(stages) == {"parsed", "optimised", "c", "error", "structure"}
    code, out, _ = run(capsys, "dump-ir", f"{net}:forward_hook", "--args", "f32[2, 4]", "--json", "--trace")
    assert code == 0 and set(json.loads(out)) == {"forward", "optimised", "adjoint", "c", "structure"}


def line_of(text):
    return NET[: NET.index(text)].count("\n") + 1


def test_dump_ir_expands_gradients_inside_of_a_function(capsys, tmp_path):
    text = tmp_path / "f.ir"
    text.write_text(
        "func @f(a: f32) -> f32 {\n  y: f32, x': f32 = gradient of=1 carry (x: f32 = a) {\n    s: f32 = sin(x)\n    yield s\n  }\n"
        "  return x'\n}\n"
    )
    code, out, _ = run(capsys, "dump-ir", str(text), "--run")
    assert code == 0
    parsed, optimised, adjoint = re.split("# optimised|# adjoint", out)
    assert "gradient of=1" in parsed and "value= 0.992" in optimised and "gradient of=1" not in optimised and "gradient of=1" not in adjoint
    assert "// cos(f32) -> f32" in adjoint and "// neg(f32) -> f32" in adjoint


def test_dump_ir_of_text_at_every_stage(capsys, tmp_path, net):
    """The output can be dumped again as text, and the passes show their changes to it."""
    text = tmp_path / "saved.ir"
    code, out, _ = run(capsys, "dump-ir", f"{net}:Counter", "--args", "f32[3]", "--stage", "parsed")
    text.write_text(out)
    code, again, _ = run(capsys, "dump-ir", str(text), "--stage", "parsed")
    assert code == 0 and again == out
    code, out, _ = run(capsys, "dump-ir", str(text), "--json")
    assert code == 0 and set(json.loads(out)) == {"parsed", "optimised", "adjoint", "c", "notes", "structure"}
    for arguments in (["--stage", "optimised"], ["--stage", "parsed", "--passes", "lift-state,cse"]):
        code, out, _ = run(capsys, "dump-ir", str(text), "--diff", "--no-locations", *arguments)
        assert code == 0 and "# no change\nby " in out and "cse" in out
    code, out, _ = run(capsys, "dump-ir", str(text), "--diff", "--stage", "adjoint", "--wrt", "x,@count")
    assert code == 0 and "# adjoint, after lift-state{symbols=[@count]}" in out and "+++ after grad{" in out
    code, _, err = run(capsys, "dump-ir", str(text), "--trace")
    assert code == 2 and "graph already" in err


def test_dump_ir_names_passes_that_change_nothing_once(capsys, net):
    code, out, _ = run(capsys, "dump-ir", f"{net}:Plain", "--args", "f32[2, 4]", "--stage", "optimised", "--diff", "--no-locations")
    assert code == 0 and '-  plain: f32[2, 3] = cell "Plain"' in out and out.count("# ") == 2
    assert out.endswith("\n# no change\nby inline, differentiate, simplify, hoist, cse, dce{failing=true}\n")
    code, out, _ = run(capsys, "dump-ir", f"{net}:loss", "--args", "f32[3], f32[3]", "--stage", "adjoint", "--diff", "--no-locations")
    assert code == 0 and "# adjoint, after grad{" in out and "no change" not in out


@pytest.mark.parametrize(("target", "arguments"), [("Net", "f32[2, 4]"), ("jitted", "f32[3], 2"), ("Counter", "f32[3]")])
def test_dump_ir_runs_the_graph_that_it_shows(capsys, monkeypatch, net, target, arguments):
    """The text shown is that of the graph that runs, and it computes the same as the parsed one."""
    ran = []
    def seen(graph, **guarded):
        ran.append(print_module(graph.module))
        return bind(graph, **guarded)

    monkeypatch.setattr("adjoint.runtime.graphs.calls.bound_graph.bind", seen)
    shown = {}
    for stage, choice in (("parsed", ["--stage", "parsed"]), ("optimised", ["--stage", "optimised"]), ("after dce", ["--passes", "dce"])):
        ms.set_seed(1)
        code, out, err = run(capsys, "dump-ir", f"{net}:{target}", "--args", arguments, *choice, "--run", "--json")
        assert code == 0, err
        shown[stage] = json.loads(out)
        assert ran[-1] == shown[stage][stage]
    assert shown["parsed"]["results"] == shown["optimised"]["results"] == shown["after dce"]["results"]


OWN_GRADIENT = """import mindspore as ms
from mindspore import nn


class Square(nn.Cell):
    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (dout * 7,)


square = Square()


def slope(x):
    return ms.grad(square)(x)
"""


def test_dump_ir_runs_gradients_that_passes_leave_as_the_program_does(capsys, tmp_path):
    path = tmp_path / "own_gradient.py"
    path.write_text(OWN_GRADIENT)
    for passes in ("simplify,dce", "differentiate,simplify,dce"):
        code, out, err = run(capsys, "dump-ir", f"{path}:slope", "--args", "f32", "--stage", "parsed", "--passes", passes, "--run")
        assert code == 0 and "value= 7)" in out, err


def test_dump_ir_runs_a_text_after_its_passes(capsys, tmp_path):
    text = tmp_path / "f.ir"
    text.write_text("func @f(x: f32) -> f32 {\n  y: f32 = mul(x, x)\n  return y\n}\n")
    code, out, _ = run(capsys, "dump-ir", str(text), "--passes", "grad{wrt=[x]}", "--args", "3.0, 1.0", "--run")
    assert code == 0 and "# results\nTensor(shape=[], dtype=Float32, value= 6)\n" in out
    code, _, err = run(capsys, "dump-ir", str(text), "--passes", "grad{wrt=[x]}", "--args", "3.0", "--run")
    assert code == 2 and "@f.grad takes 2 inputs, and --args has 1" in err


@pytest.mark.parametrize(("choice", "text"), [
    (["--passes", "grad{wrt=[x]}"], "@loss.grad: save it as FILE.ir"), (["--trace", "--stage", "optimised"], "the function itself is run"),
])
def test_dump_ir_does_not_run_what_it_does_not_show(capsys, net, choice, text):
    code, out, err = run(capsys, "dump-ir", f"{net}:loss", "--args", "f32[3], f32[3]", *choice, "--run")
    assert code == 2 and text in err and "# results" not in out


def test_dump_ir_of_text_and_its_run(capsys, tmp_path):
    text = tmp_path / "f.ir"
    text.write_text('host @h = "hooks:h"\n\nfunc @f(x: f32[2]) -> f32[2] {\n  y: f32[2] = apply! @h(x)\n  return y\n}\n')
    hosts = tmp_path / "hooks.py"
    hosts.write_text("def h(x):\n    return x * 10\n")
    code, out, _ = run(capsys, "dump-ir", str(text), "--stage", "parsed", "--run", "--hosts", f"h={hosts}:h")
    assert code == 0 and "Tensor(shape=[2]" in out
    code, _, err = run(capsys, "dump-ir", str(text), "--stage", "parsed", "--run")
    assert code == 2 and "@h" in err and "--hosts" in err


@pytest.mark.parametrize(("arguments", "code", "text"), [
    (["dump-ir", "nowhere.py:f"], 2, "there is no file"),
    (["dump-ir", "{net}"], 2, "which function or Cell"),
    (["dump-ir", "{net}:Missing"], 2, "has no 'Missing'"),
    (["dump-ir", "{net}:number"], 2, "neither a function nor a Cell"),
    (["dump-ir", "{net}:NeedsArguments"], 2, "make an instance"),
    (["dump-ir", "{net}:loss"], 2, "--args"),
    (["dump-ir", "{net}:loss", "--args", "f32[3], f99"], 2, "error[E"),
    (["dump-ir", "{net}:loss", "--args", "f32[3], f32[3]", "--stage", "forward"], 2, "--trace"),
    (["dump-ir", "{net}:loss", "--args", "f32[3], f32[3]", "--stage", "parsed", "--trace"], 2, "`forward`"),
    (["dump-ir", "{net}:loss", "--args", "f32[3], f32[4]"], 1, "For 'Sub'"),
    (["dump-ir", "{net}:refused", "--args", "f32[3]"], 1, "error[E2"),
    (["dump-ir", "{net}:forward_hook", "--args", "f32[2, 4]"], 1, "`--trace` shows"),
    (["dump-ir", "{net}:counted", "--args", "i32[3]", "--stage", "adjoint"], 2, "--wrt"),
    (["dump-ir", "{net}:loss", "--args", "f32[3], f32[3]", "--passes", "nonsense"], 2, "error[E140]"),
    (["dump-ir", "{net}:loss", "--args", "f32[3], f32[3]", "--wrt", "z"], 2, "error[E141]"),
    (["dump-ir", "{net}:loss", "--args", "f32[3], f32[3]", "--standalone"], 2, "--stage c"),
    (["dump-ir", "{net}:loss", "--args", "f32[3], f32[3]", "--plain"], 2, "--standalone"),
    (["dump-ir", "{net}:Net", "--args", "f32[2, 4]", "--stage", "c", "--standalone"], 1, "error[E160]"),
    (["run"], 2, "the following arguments are required: script\n"),
    ([], 2, "dump-ir"),
    (["run", "nowhere.py"], 2, "there is no file"),
    (["explain", "E999"], 2, "there is no code"),
])
def test_wrong_command_lines(capsys, net, arguments, code, text):
    try:
        got, _, err = run(capsys, *(a.replace("{net}", net) for a in arguments))
    except SystemExit as left:  # of argparse
        got, err = left.code, capsys.readouterr().err
    assert got == code and text in err


def test_a_text_with_a_mistake(capsys, tmp_path):
    path = tmp_path / "bad.ir"
    path.write_text("func @f(x: f32) -> f32 {\n  y: f32 = nosuchop(x)\n  return y\n}\n")
    code, _, err = run(capsys, "dump-ir", str(path))
    assert code == 1 and f"{path}:2:" in err and "^" in err


def test_explain(capsys):
    code, out, _ = run(capsys, "explain")
    assert code == 0 and "E100" in out
    code, out, _ = run(capsys, "explain", "e100")
    assert code == 0 and out.startswith("E100: ")


def test_doctor():
    done = subprocess.run([sys.executable, "-m", "adjoint", "doctor", "--json"], capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert done.returncode == 0, report
    assert "right numbers" in report["self test"]["result"] and report["self test"]["passed"] is True
    assert re.search(r"\d+\.\d+", report["compiler"]["version"])
    assert report["compiler"]["found"] != "none" and report["settings"]["ADJOINT_CACHE_DIR"]
    page = (Path(__file__).parents[2] / "docs" / "debugging.md").read_text(encoding="utf-8")
    assert [title[0].lower() + title[1:] for title in re.findall(r"^## (.*)", page, re.MULTILINE)] == list(report["tools"])


def script(tmp_path, text, *arguments):
    path = tmp_path / "script.py"
    path.write_text(text)
    return subprocess.run([sys.executable, "-m", "adjoint", "run", str(path), *arguments], capture_output=True, text=True, check=False)


def test_run_passes_arguments_and_exit_codes(tmp_path):
    done = script(tmp_path, "import sys\nimport mindspore as ms\nfrom mindspore.nn import Dense\n"
                  "from mindspore.common.initializer import Normal\nimport mindspore.ops.operations as P\n"
                  "print(ms.Tensor([1.0]), sys.argv[1:], __name__)\nsys.exit(3)\n", "a", "b")
    assert done.stdout == "[1.] ['a', 'b'] __main__\n" and done.returncode == 3, done.stderr


def test_run_watches_a_script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text("import sys\nimport mindspore as ms\nx = ms.Tensor([1.0, 0.0])\n"
                    "print(x * 2, sys.argv[1:])\nms.ops.log(x)\nprint('on')\n")
    def run(*options):
        command = [sys.executable, "-m", "adjoint", "run", *options, str(path), "--times"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = run("--times")
    assert done.returncode == 0 and done.stdout == "[2. 0.] ['--times']\non\n"
    assert "mul  script.py:4  print(x * 2" in done.stderr and "log  script.py:5  ms.ops.log(x)" in done.stderr
    done = run("--check-finite")
    assert done.returncode == 1 and done.stdout == "[2. 0.] ['--times']\n"
    assert "line 5, in <module>" in done.stderr
    assert "FloatingPointError: For 'Log'" in done.stderr and "1 infinity in 2 numbers" in done.stderr


@pytest.mark.parametrize(("line", "kind", "close"), [
    ("from mindspore import Tensr", "ImportError", "Tensor"),
    ("import mindspore as ms; ms.tensr", "AttributeError", "Tensor"),
    ("import mindspore.nn as nn; nn.Conv2D", "AttributeError", "Conv2d"),
    ("from mindspore.ops import relU6", "ImportError", "ReLU6"),
    ("import mindspore.tools", "ModuleNotFoundError", "adjoint has no module"),
    ("import mindspore.ir.core", "ModuleNotFoundError", "adjoint has no module 'mindspore.ir'."),
    ("import mindspore.cli", "ModuleNotFoundError", "adjoint has no module 'mindspore.cli'."),
    ("from mindspore.runtime import cell", "ImportError", "adjoint has no 'cell' in 'mindspore.runtime'."),
    ("import mindspore.nn.normalization", "ModuleNotFoundError", "Close to it is 'mindspore.nn.layer.normalization'."),
    ("import mindspore.commons.tensor", "ModuleNotFoundError", "Close to it is 'mindspore.common'."),
    ("import mindspore.ops.operation", "ModuleNotFoundError", "Close to it is 'mindspore.ops.operations'."),
])
def test_a_name_we_lack_says_so_and_what_is_close(tmp_path, line, kind, close):
    done = script(tmp_path, line)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1 and last.startswith(kind) and "adjoint" in last and close in last


def test_ways_out_lead_somewhere():
    """Every suggestion for a missing name is a name that exists."""
    for module in (nn, ops):
        assert not set(module.INSTEAD) & set(module.__all__)
        for way in module.INSTEAD.values():
            for space, name in re.findall(r"\b(ms|nn|ops)\.(\w+)", way):
                assert hasattr({"ms": ms, "nn": nn, "ops": ops}[space], name), way


def test_modules_whose_place_is_another(tmp_path):
    done = script(tmp_path, "from mindspore.train.serialization import load_checkpoint\nfrom mindspore import load_checkpoint as other\n"
                  "print(load_checkpoint is other)\n")
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("broken", ["def f(x:\n    return x\n", "def f(x):\n    return x\n\nraise ValueError('boom')\n"])
def test_a_script_that_fails_is_shown_as_python_shows_it(tmp_path, broken):
    """The traceback has the frames of the script, and none of those that ran it."""
    path = tmp_path / "script.py"
    done = script(tmp_path, broken)
    plain = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, plain.stderr) and str(path) in done.stderr
    shown = subprocess.run([sys.executable, "-m", "adjoint", "dump-ir", f"{path}:f"], capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stderr) == (1, plain.stderr)


def test_an_excepthook_of_the_script_is_called(tmp_path):
    done = script(tmp_path, "import sys\nsys.excepthook = lambda kind, raised, frames: print('mine', raised)\nraise ValueError('boom')\n")
    assert (done.returncode, done.stdout, done.stderr) == (1, "mine boom\n", "")


def test_dump_ir_of_a_file_that_exits(capsys, tmp_path):
    path = tmp_path / "script.py"
    path.write_text("import sys\ndef f(x):\n    return x\nsys.exit(0)\n")
    code, _, err = run(capsys, "dump-ir", f"{path}:f", "--args", "f32[2]")
    assert code == 1 and "sys.exit(0)" in err and "__main__" in err


def test_a_closed_pipe_is_no_failure(net):
    """`adjoint dump-ir ... | head -1` is not a failure."""
    words = [sys.executable, "-m", "adjoint", "dump-ir", f"{net}:Net", "--args", "f32[2, 4]"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout and running.stderr
        running.stdout.close()
        assert (running.stderr.read(), running.wait()) == ("", 0)


def test_version(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0 and re.fullmatch(r"adjoint \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_importing_is_silent_and_compiles_nothing(tmp_path):
    code = "import adjoint, sys; assert 'lark' not in sys.modules and 'rich' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                          env={"PATH": "/nonexistent", "ADJOINT_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.iterdir())


def test_the_mistakes_of_every_layer_are_explained():
    # In a process of its own: other tests load what adds them.
    for code in ("E100", "E147", "E160", "E203"):
        found = subprocess.run([sys.executable, "-m", "adjoint", "explain", code], capture_output=True, text=True, timeout=60)
        assert found.returncode == 0 and code in found.stdout, found.stderr
