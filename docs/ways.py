"""Makes how-a-call-runs.md: the lists of `runtime.graphs.reports.ways`, and for each way a program with the functions that a call passes.

As a program this file records one of its programs, in a new process, and prints JSON: the way, the reason, and the functions.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import runpy
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

from adjoint.runtime.graphs.calls import entry
from adjoint.runtime.graphs.reports import ways

ROOT = Path(__file__).parent.parent

NET = """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layer = nn.Dense(3, 2)

    def construct(self, x):
        return self.layer(x).sum()


net = Net()
"""

PROGRAMS: dict[str, tuple[int, str]] = {
    "one function": (8, """
run = jit(lambda x: (x * 2).sum())
call = lambda: run(x)
"""),
    "with hooks that look": (8, NET + """
net.layer.register_forward_hook(lambda cell, inputs, output: None)
run = jit(net)
call = lambda: run(x)
"""),
    "joint gradient": (8, """
run = jit(lambda x: (x * 2).sum())
call = lambda: ms.grad(run)(x)
"""),
    "in pieces": (1, """
run = jit(lambda x: (x * 2).sum())
call = lambda: run(x)
"""),
    "as parsed": (8, """
weight = ms.Parameter(x, name="weight")
weight.register_hook(lambda grad: None)
run = jit(lambda x: ms.grad(lambda x: (x * weight).sum())(x))
call = lambda: run(x)
"""),
    "new size": (3, """
run = jit(lambda x: (x * 2).sum())
numbers = itertools.count(2)
call = lambda: run(Tensor(np.ones((next(numbers), 3), np.float32)))
"""),
    "in parts, by count": (3, """
run = jit(lambda x: x[x > 1].sum())
numbers = itertools.count(2)
call = lambda: run(Tensor(np.arange(20, dtype=np.float32) % next(numbers)))
"""),
    "on a tape": (8, """
run = jit(lambda x: (x * 2).sum())
call = lambda: ms.grad(lambda x: run(x) * 3)(x)
"""),
    "in two parts": (8, NET + """
other = Net()
for each in (net, other):
    each.layer.register_forward_hook(lambda cell, inputs, output: None)


@jit
def run(x):
    return ms.grad(net)(x), ms.grad(lambda x: other(ops.tanh(x * x) * x) + other(x))(x)


call = lambda: run(x)
"""),
    "along the path": (8, NET + """
net.layer.register_forward_hook(lambda cell, inputs, output: output * 2)
run = jit(lambda x: net(x) if x.sum() > 0 else x.sum())
call = lambda: run(x)
"""),
    "eagerly": (8, NET + """
net.layer.register_forward_hook(lambda cell, inputs, output: output * 2)
run = jit(net)
call = lambda: run(x)
"""),
    "one by one": (1, """
seen = []


def keeps(row):
    seen.append(row)
    return row * 2


run = ms.vmap(keeps)
call = lambda: run(x)
"""),
    "left the graph": (1, NET + """
net.layer.register_forward_hook(lambda cell, inputs, output: output * 2)
run = jit(net)
call = lambda: run(x)
"""),
}
"""For each way the calls before the one that is recorded, and a program that defines `run` and `call`."""


def page() -> str:
    """The text of how-a-call-runs.md."""
    out_of = "\n".join(f"| {way.name} | {'yes' if way.whole else 'no'} | {way.about} |" for way in ways.WAYS)
    said = [(each, _sentence(each.said.replace("{}", "..."))) for each in ways.REASONS if each.said]
    reasons = "\n".join(f"| {each.name} | {sentence} | {each.way_out} |" for each, sentence in said)
    causes = "\n".join(f"| {each.name} | {each.about} | {each.way_out} |" for each in ways.CAUSES)
    choice = "\n".join(line[4:] for line in (entry.__doc__ or "").splitlines() if line.startswith("    "))
    return PAGE.format(choice=choice, ways=out_of, reasons=reasons, causes=causes, journeys="\n".join(map(_journey, ways.WAYS)))


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if not text.endswith("...") else f"{text[0].upper()}{text[1:]}"


def _journey(way: ways.Way) -> str:
    count, program = PROGRAMS[way.name]
    # What runs often has fused kernels: from the first run, so that the lists do not depend on how quick the compiler is.
    environment = {**os.environ, "ADJOINT_BACKGROUND_COMPILE": "wait",
                   "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])}
    done = subprocess.run([sys.executable, __file__, way.name], stdout=subprocess.PIPE, text=True, check=True, env=environment)
    found, why, calls = json.loads(done.stdout)
    assert found == way.name, f"the program of {way.name!r} runs in the way {found!r}"
    passed = [(file, function) for file, function in calls]
    counts = Counter(passed)
    by_file = [(file, [_shown(function, counts[file, function]) for _, function in group])
               for file, group in itertools.groupby(counts, key=lambda call: call[0])]
    width = max((len(file) for file, _ in by_file), default=0)
    lines = [line for file, functions in by_file for line in _wrapped(f"{file:{width}}  ", ", ".join(functions))]
    which = "The first call" if count == 0 else f"Call {count + 1}"
    because = why.replace("program.py:", "line ")
    said = f"{which}{f', because {because}' if why else ''}: {len(passed)} calls of {len(counts)} functions."
    return "\n".join([f"### {way.name[0].upper()}{way.name[1:]}", "", "```python", *program.strip().splitlines(), "```", "", said, "",
                      "```", *lines, "```", ""])


def _wrapped(head: str, text: str) -> list[str]:
    lines = textwrap.wrap(text, 130 - len(head)) or [""]
    return [head + lines[0], *(" " * len(head) + line for line in lines[1:])]


def _shown(function: str, times: int) -> str:
    name = function.replace(".<locals>", "")
    return f"{name} (x{times})" if times > 1 else name


PAGE = """\
# How a call runs

<!-- Made from `adjoint/runtime/graphs/reports/ways.py` by `make docs`. -->

A function under `jit`, and in GRAPH_MODE a Cell or a function whose gradient is taken, runs as a graph. Results, gradients, hooks and
errors are the same in every way below; what differs is the time. `jit_stats` says which way calls took and why, and why each graph was
made:

```python
import adjoint as ms
from adjoint import Tensor, jit, jit_stats

@jit
def scaled(x, k):
    return (x * k).sum()

jit_stats(scaled)                         # calls are counted from now on
for k in (1, 2, 2):
    scaled(Tensor([1.0, 2.0]), k)
for graph in jit_stats(scaled).graphs:
    print(graph.number, graph.cause, graph.detail, [way.count for way in graph.ways])
```

```text
1 first call  [1]
2 other value `k` is 2, was 1 [2]
```

`print(jit_stats(scaled))` shows all of it. `jit_stats(scaled, reset=True)` begins to count from 0. `ADJOINT_LOG=graphs` in the environment
writes each graph, and each change of way, to stderr while a program runs. A function that has been parsed for more than eight graphs logs a
warning with the last cause. `jit(fullgraph=True)` raises where a call would not run whole (E218).

## Ways

| way | whole | what happens |
|---|---|---|
{ways}

Which one a call takes is decided when its graph is called first, in `runtime/graphs/calls/entry.py`, which has a class for each line:

```text
{choice}
```

A graph whose hooks are expected to look turns to one of the last two classes when several calls have left it, and where a run of it cannot
begin.

A jitted function that another one calls becomes a part of that one's graph, and has no call of its own. Without a C compiler the kernels
of each way are NumPy's, one by one (`adjoint doctor` says whether one is found).

## Reasons for a way

| reason | what is said | what can be done |
|---|---|---|
{reasons}

## Causes of a graph

| cause | when | how to do without |
|---|---|---|
{causes}

## Journeys

For each way a program, and the functions of adjoint that one of its calls enters, by files, in the order in which each is first entered.
All programs begin with

```python
import itertools

import numpy as np

from adjoint import nn, ops

x = Tensor(np.ones((2, 3), np.float32))
```

{journeys}"""


def main(name: str) -> None:
    """Run a program twice: once to record a call, once to ask for its way."""
    import numpy as np

    import adjoint as ms

    before, program = PROGRAMS[name]

    def made() -> dict[str, Any]:
        space: dict[str, Any] = {"itertools": itertools, "np": np, "ms": ms, "nn": ms.nn, "ops": ms.ops, "Tensor": ms.Tensor, "jit": ms.jit,
                                 "x": ms.Tensor(np.ones((2, 3), np.float32)), "__name__": "program"}
        path = Path.cwd() / "program.py"
        path.write_text(program.strip(), encoding="utf-8")
        exec(compile(program.strip(), str(path), "exec"), space)  # our own
        return space

    recorded = runpy.run_path(str(Path(__file__).with_name("journeys.py")))["recorded"]
    space = made()
    for _ in range(before):
        space["call"]()
    gc.collect()
    gc.disable()  # a collection may call finalisers in the middle
    calls = recorded(space["call"])
    gc.enable()
    space = made()
    ms.jit_stats(space["run"])
    for _ in range(before):
        space["call"]()
    ms.jit_stats(space["run"], reset=True)
    space["call"]()
    (found,) = [each for graph in ms.jit_stats(space["run"]).graphs for each in graph.ways]
    print(json.dumps((found.way, found.why.replace(f"{Path.cwd()}/", ""), calls)))


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        main(sys.argv[1])
