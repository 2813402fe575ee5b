"""Tables: the launches of a straight piece, with the branches and loops nested in it, run by one C call.

A straight piece is a part of a plan with no Python of the user's in it.  Its table holds, for each launch, the bound kernel and the places
of its operands: a block of memory and an offset.  The blocks of a run are the arena (memory for values that only the piece uses), the
values that come from outside, and the results that are used outside.

A call with a loop returns to Python from time to time, so that it can be interrupted.

State is read before the call and written after it, in the order of the program.  A new value that is handed over becomes the tensor's
memory, without a copy; a value computed in place is in that memory already (`in_place.py`).

A table is made when its piece is first reached, so that a branch that is never taken compiles nothing.

If a function is a row of straight pieces, one function runs their tables (`written_calls`): it takes the arguments and returns the result,
without a list of values.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from adjoint.foundation import collector, ownership
from adjoint.foundation.ownership import OF_ATTRIBUTE, OF_VARIABLE
from adjoint.ir.core import tensor_type
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.conversion import StopGradient
from adjoint.ir.ops.fused import kernel_op
from adjoint.ir.ops.state import Read
from adjoint.ir.plan import Access, Launch, Nested, PythonAccess, Slot, Straight, Transfer, aliases, continues
from adjoint.ir.types import StackType, TensorType
from adjoint.runtime.execution.batches import batches
from adjoint.runtime.execution.buffers import aligned
from adjoint.runtime.execution.checks import Explanations, explained
from adjoint.runtime.execution.in_place import writes_of
from adjoint.runtime.execution.nested_stages import Blocks, NestedStages
from adjoint.runtime.execution.python_numbers import PythonNumbers
from adjoint.runtime.execution.run import Deviation, Run, Step
from adjoint.runtime.execution.stacks import nbytes_of, stack_stage
from adjoint.runtime.execution.stages import BufferPlace, Jump, LaunchStage, Rotation, Stage
from adjoint.runtime.memory import watching
from adjoint.runtime.memory.machine import TableStep, ffi, machine
from adjoint.runtime.memory.op_plans import OpPlan, plan_for, prepare
from adjoint.runtime.process.function_text import PythonText, function_of
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["PieceTable", "Variables", "table_step"]


_STEP_BITS = 32
"""If a stage fails, `adjoint_run` returns its index shifted left by this many bits, plus the kernel's status."""

_MANY = 8
"""From how many tensors of state on the text does not name the type of each: it would take long to compile."""
_MOST_OPERANDS = 6
"""How many buffers a single kernel may have to be called with pointers as arguments, without a table."""


def table_step(
    piece: Straight, operands: Sequence[tuple[int, ...]], slots: Sequence[Slot] | Mapping[int, Slot], tensors: Collection[int],
    state: Mapping[str, Tensor], explanations: Explanations, run: Run,
) -> Step | None:
    """Return the step that runs a straight piece (consecutive nodes with no Python between them) by one C call; None if an op has no
    kernel.

    piece     the piece
    operands  for each entry of the piece the positions of its operands (indices in the list of values)
    slots     the slots of the plan
    tensors   the positions that hold tensors; the others hold memory
    state     the tensors that the piece reads and writes, by symbol
    explanations  the functions that raise the exceptions of its checks, by symbol
    run       the present execution: it adds a note, with the line of the node, to the exception if a kernel cannot be made
    """
    prepare((kernel_op(launch.node), [tensor_type(x) for x in launch.node.operands]) for launch in piece.launches)
    table = PieceTable(piece, slots, tensors, state, explanations).filled(operands, run)
    return None if table is None else table.step()


class Variables(PythonText):
    """Names the Python variables of a generated function that runs one or more tables (lists of stages for a C call).

    In such a function each value is in a variable, not in a list of values.

    arguments  the variables of the function's arguments, which are tensors
    constants  the constants, by position
    tables     the number of tables so far
    """

    def __init__(self, arguments: Sequence[str], constants: Mapping[int, Any]):
        super().__init__("object")
        self.arguments, self.constants = arguments, constants
        self.tables = 0

    def value(self, position: int) -> str:
        """Return the expression for the value at a position (an index in the list of values), such as `a0` or `v7`."""
        return self.arguments[position] if position < len(self.arguments) else f"v{position}"

    def memory(self, position: int, tensor: bool) -> str:
        """Return the expression for the memory of the value at a position (an index in the list of values).

        tensor  True if the value is held as a tensor
        """
        constant = self.constants.get(position)
        if constant is not None:
            self.objects[f"m{position}"] = constant.memory if tensor else constant
            return f"m{position}"
        return self.value(position) + (".memory" if tensor or position < len(self.arguments) else "")


class PieceTable:
    """Builds the table of one straight piece, and the Python statements that run it.

    A slot or position is the number of a value in the plan.  The fields collect what is needed for the statements:

    blocks  for each block of memory, a Python expression for it
    places  for each position or slot, the block and the offset of its buffer
    names   for each slot, the local variable that holds the memory of a result used outside, or of the operand that it is an alias of
    states  for each symbol, the local variable that holds its tensor
    accesses  for each symbol the first access, in the same order
    current for each symbol, the position of its present value
    same    for each slot read after a write, the position of the written value
    done    for each write, the number of stages before it, and the statement that makes it
    shared  for the block of a result computed in place, the block of the value that it replaces
    own     the blocks that belong to the table
    given_on  the slots whose memory is used after the piece, by this name or another one
    stacks  the number of stacks that only the table uses
    plans   the kernels of each launch
    numbers the numbers that Python computes
    before, after  the statements before and after the writes of state; the C call is the last of `before`
    around  the variables of a generated function; None if the step finds values in a list
    suffix  the ending of names that are unique to this table within a function
    """

    def __init__(
        self, piece: Straight, slots: Sequence[Slot] | Mapping[int, Slot], tensors: Collection[int], state: Mapping[str, Tensor],
        explanations: Explanations, around: Variables | None = None,
    ):
        self.piece, self.slots, self.tensors, self.explanations = piece, slots, tensors, explanations
        self.around, self.suffix = around, ""
        self.made: dict[str, Any] = {}
        if around is not None:
            self.made, self.suffix, around.tables = around.objects, f"_{around.tables}" if around.tables else "", around.tables + 1
        self.made |= {"new": object.__new__, "Tensor": Tensor}
        self.plans: Mapping[Launch, OpPlan] = {}
        self.writes, self.given_on = writes_of(piece, slots, tensors), _given_on(piece)
        self.states: dict[str, str] = {}
        self.accesses: list[Access] = []
        self.current: dict[str, int] = {}
        self.same: dict[int, int] = {}
        self.done: list[tuple[int, str]] = []
        self.blocks = [self.own_name("arena")]
        self.places: dict[int, tuple[int, int]] = {}
        self.names: dict[int, str] = {}
        self.scratch = self.stacks = 0
        self.shared: dict[int, int] = {}
        self.own = Blocks()
        self.stages: list[Stage] = []
        self.before: list[str] = []
        self.after: list[str] = []
        self.numbers = PythonNumbers(self.made)
        if piece.entries != piece.launches:
            self.made |= {"state": state, "Deviation": Deviation, "holders": ownership.holders, "wrap": wrap}

    @collector.paused(lasting=False)
    def filled(self, operands: Sequence[tuple[int, ...]], run: Run) -> PieceTable | None:
        """Append all entries of the piece (nodes that one C call runs) to the table, and return the table; None if an op has no kernel.

        operands, run  as for `table_step`
        """
        plans: dict[Launch, OpPlan] = {}
        for launch in self.piece.launches:
            try:
                plan = plan_for(kernel_op(launch.node), [tensor_type(x) for x in launch.node.operands])
            except BaseException as raised:
                run.note(raised, launch.node)
                raise
            if plan.stages is None:
                return None
            plans[launch] = plan
        self.plans = plans
        for entry, given in zip(self.piece.entries, operands, strict=True):
            if isinstance(entry, Launch):
                self.launch(entry, given)
            elif isinstance(entry, PythonAccess):
                self.python_access(entry, given)
            elif isinstance(entry, Transfer):
                self.transfer(entry, given)
            elif isinstance(entry, Nested):
                self.nested(entry, given)
            elif isinstance(entry.node.op, Read):
                self.read(entry)
            else:
                self.write(entry, given)
        return self

    # -- state --------------------------------------------------------------------------------------------------------
    def read(self, entry: Access) -> None:
        """Add a read of state (a tensor that stays between calls), which is done before the C call.

        After a write of the same state in this piece, the value is the written one.
        """
        symbol, (slot,) = entry.node.op.symbol, entry.results
        tensor = self.tensor(entry)
        if symbol in self.current:
            self.same[slot] = self.current[symbol]
        else:
            self.current[symbol] = slot
            self.names[slot] = f"m{slot}"
            self.before.append(f"m{slot} = {tensor}.memory")
        if slot in self.piece.kept:
            self.after.append(f"{self.value(slot)} = {tensor if slot in self.tensors else self.name(slot)}")

    def write(self, entry: Access, operands: Sequence[int]) -> None:
        """Add a write of state (a tensor that stays between calls), which is done after the C call.

        operands  the position of the value that is written (an index in the list of values)
        """
        (slot,), (position,) = entry.operands, operands
        tensor, memory = self.tensor(entry), self.name(position)
        self.current[entry.node.op.symbol] = self.same.get(position, position)
        if slot in self.writes.handed:
            statement = f"{tensor}.memory = {memory}"
        else:
            self.made[f"type_{slot}"] = self.type_of(slot)
            statement = f"{tensor}.overwrite(wrap(type_{slot}, {memory}))"
        self.done.append((len(self.stages), statement))

    def python_access(self, entry: PythonAccess, operands: Sequence[int]) -> None:
        """Append a read or a write of numbers that Python holds, such as a counter."""
        access, given = self.explanations[entry.node.op.symbol], list[str]()
        if getattr(access, "number", None) is not None:
            if entry.results and self.piece.kept.isdisjoint(entry.results):
                self.before += self.numbers.read(entry, access)
                return
            if not entry.results and operands[0] in self.numbers.names:
                self.done.append((len(self.stages), self.numbers.write(operands[0], access)))
                return
        call = f"python{len(self.made)}"
        self.made[call] = access
        for slot, position in zip(entry.operands, operands, strict=True):
            self.made[f"type_{slot}"] = self.type_of(slot)
            given.append(f"wrap(type_{slot}, {self.name(position)})")
        if not entry.results:
            self.done.append((len(self.stages), f"{call}({', '.join(given)})"))
            return
        self.before.append(f"{', '.join(f'read{slot}' for slot in entry.results)}, = {call}({', '.join(given)})")
        for slot in entry.results:
            self.names[slot] = f"m{slot}"
            self.before.append(f"m{slot} = read{slot}.memory")
            if slot in self.piece.kept:
                self.after.append(f"{self.value(slot)} = {f'read{slot}' if slot in self.tensors else f'm{slot}'}")

    def tensor(self, entry: Access) -> str:
        """Return the variable that holds the tensor which an access of state reads or writes; `of_state` sets it."""
        symbol = entry.node.op.symbol
        if symbol not in self.states:
            self.states[symbol] = self.own_name(f"t{len(self.states)}")
            self.accesses.append(entry)
        return self.states[symbol]

    def of_state(self) -> list[str]:
        """Return the statements that set the variables of the tensors of state; they raise Deviation if the type of one has changed."""
        accesses = tuple(self.accesses)
        names, symbols = [*self.states.values()], tuple(self.states)
        types = [self.type_of((*entry.results, *entry.operands)[0]) for entry in accesses]

        def deviation(tensors: Sequence[Tensor]) -> Deviation:
            entry, x = next((entry, x) for entry, x, type_ in zip(accesses, tensors, types, strict=True) if x.type is not type_)
            return Deviation(entry.node, (x,) if entry.results else ())

        if len(names) > _MANY:
            found, given, wanted, raised = map(self.own_name, ("tensors", "symbols", "types", "deviation"))
            self.made |= {given: symbols, wanted: types, raised: deviation}
            return [f"{found} = [state[symbol] for symbol in {given}]",
                    f"if [x.type for x in {found}] != {wanted}: raise {raised}({found})",
                    f"{', '.join(names)}, = {found}"]
        self.made.update({f"symbol_{name}": symbol for name, symbol in zip(names, symbols, strict=True)})
        self.made.update({f"type_{name}": type_ for name, type_ in zip(names, types, strict=True)})
        self.made.update({f"node_{name}": entry.node for name, entry in zip(names, accesses, strict=True)})
        return [line for name, entry in zip(names, accesses, strict=True)
                for line in (f"{name} = state[symbol_{name}]",
                             f"if {name}.type is not type_{name}: raise Deviation(node_{name}, {f'({name},)' if entry.results else '()'})")]

    # -- launches -----------------------------------------------------------------------------------------------------
    def launch(self, launch: Launch, operands: Sequence[int]) -> None:
        """Append a launch; `operands` are the positions of its operands (indices in the list of values)."""
        if self.piece.kept.isdisjoint(launch.results) and (computed := self.numbers.computed(launch, operands)) is not None:
            self.before += computed
            return
        given = [self.place(position) for position in operands]
        if aliases(launch):
            (result,) = launch.results
            self.places[result] = given[0]
            if self.slots[result].offset is None:
                self.names[result] = self.name(operands[0])
                self.store(result, stopped=isinstance(launch.node.op, StopGradient))
        else:
            self.launched(launch, [*given, *(self.define(slot) for slot in launch.results)])

    def launched(self, launch: Launch, given: Sequence[BufferPlace]) -> None:
        """Append the stages (parts of the C call) of a node that kernels compute, one for each kernel.

        given  where its buffers are: first the operands, then the results
        """
        plan, scratch, offset = self.plans[launch], list[BufferPlace](), self.piece.arena
        for nbytes in plan.scratch:
            scratch.append((0, offset))
            offset += aligned(nbytes)
        self.scratch = max(self.scratch, offset - self.piece.arena)
        sizes = *(self.type_of(slot).nbytes for slot in (*launch.operands, *launch.results)), *plan.scratch
        failure = launch.node.op.failure if launch.node.op.may_fail else None
        for kernel in plan.stages or ():
            self.stages.append(LaunchStage(kernel, (*given, *scratch), sizes, len(launch.operands), launch.node, failure))

    def transfer(self, entry: Transfer, operands: Sequence[int]) -> None:
        """Append the stages for a node that makes a stack of values, pushes to it or pops from it.

        entry     the node, with the slots of its operands and results, as it is in the plan
        operands  the positions of its operands (indices in the list of values)
        """
        given = [self.place(position) for position in operands]
        if continues(entry):
            stack = entry.results[0]
            self.places[stack] = given[0]
            if stack in self.given_on:
                self.names[stack] = self.name(operands[0])
                self.store(stack)
        self.transferred(entry, [*given, *(self.define(slot) for slot in entry.results[continues(entry):])])

    def transferred(self, entry: Transfer, given: Sequence[BufferPlace]) -> None:
        """Append the stage (a part of the C call) of a node on stacks.

        given  where its stack is, then the item that is pushed or popped
        """
        stage = stack_stage(entry.node, given)
        if stage is not None:
            self.stages.append(stage)

    def nested(self, entry: Nested, operands: Sequence[int]) -> None:
        """Append the stages (parts of the C call) of a branch or loop; `operands` are the positions of the values (indices in the list of
        values) that it reads from outside.
        """
        for read in entry.reads:
            self.read(read)
        for position in operands:
            self.place(position)  # before the state gets other memory, into which it is to be written
        written = {access.node.op.symbol: self.written(access) for access in entry.writes}
        for slot in entry.results:
            self.define(slot)
        NestedStages(self, entry, dict(zip(entry.operands, operands, strict=True)), written).add()

    def written(self, entry: Access) -> BufferPlace:
        """Return where in memory the state is that a nested branch or loop writes; before the call, its tensor becomes the only holder of
        that memory.
        """
        tensor = self.tensor(entry)
        name = f"m{tensor}"
        if name not in self.blocks:
            self.made["alone"] = _alone
            self.before += [f"{name} = {tensor}.memory", f"if holders({name}) > {OF_VARIABLE + 1}: {name} = alone({tensor})"]
            return self.block(name)
        return self.blocks.index(name), 0

    def place(self, position: int) -> BufferPlace:
        """Return where the value at a position (an index in the list of values) has its buffer: a block and an offset in it."""
        position = self.same.get(position, position)
        if position not in self.places:
            self.places[position] = self.block(self.name(position))
        return self.places[position]

    def name(self, position: int) -> str:
        """Return the local variable that holds the memory of the value at a position (an index in the list of values); append the statement
        that sets it, if there is none yet.
        """
        position = self.same.get(position, position)
        if position not in self.names:
            name = self.names[position] = f"m{position}"
            if position in self.numbers.names:
                value = self.numbers.packed(position)
            elif self.around is not None:
                value = self.around.memory(position, position in self.tensors)
            else:
                value = self.value(position) + (".memory" if position in self.tensors else "")
            if value != name:
                self.before.append(f"{name} = {value}")
        return self.names[position]

    def value(self, position: int) -> str:
        """Return the Python expression for a value outside of the piece, to read or to assign it: a variable in a generated function,
        otherwise `values[position]`.
        """
        return f"values[{position}]" if self.around is None else self.around.value(position)

    def block(self, expression: str) -> BufferPlace:
        self.blocks.append(expression)
        return len(self.blocks) - 1, 0

    def define(self, slot: int) -> BufferPlace:
        """Choose where in memory a result of the piece is computed, in the arena or in memory of its own, and return this place.

        slot  the number of the result
        """
        offset = self.slots[slot].offset
        if offset is not None:
            self.places[slot] = 0, offset
        elif self.is_stack(slot) and slot not in self.given_on:
            self.places[slot] = self.stack()
        else:
            self.names[slot] = f"m{slot}"
            if self.is_stack(slot):
                self.made["allocate_stacks"] = machine().allocate_stacks
                self.before.append(f"m{slot} = allocate_stacks(1)")
            else:
                self.allocate(f"m{slot}", self.nbytes(slot), self.alone(slot))
            self.places[slot] = block, _ = self.block(f"m{slot}")
            if slot in self.writes.in_place:
                before, _ = self.place(self.writes.in_place[slot])
                self.shared[block] = self.shared.get(before, before)
            self.store(slot)
        return self.places[slot]

    def alone(self, slot: int) -> str:
        """Return the beginning of an expression that yields memory for a result: that of the state's old value if nothing else holds it, so
        that the result is computed in place.  "" if it cannot be.

        The caller appends `else` and the expression for new memory.

        slot  the number of the result
        """
        before = self.writes.in_place.get(slot)
        if before is None:
            return ""
        symbol = self.slots[before].state
        if symbol is None:
            return f"{self.names[before]} if True"  # an earlier result that is handed over to the same tensor
        tensor = self.states[symbol]
        # An earlier piece may have read the same state into a value that is not needed any more; `values` and a variable still refer to it.
        gone = [f" + 2 * (m{i} is m{before})" for i in self.writes.gone[slot] if i not in self.tensors and i in self.names]
        return f"m{before} if holders({tensor}.memory) <= {OF_ATTRIBUTE + 1}{''.join(gone)}"

    def allocate(self, name: str, nbytes: int, first: str = "") -> None:
        """Append the statement that sets the variable `name` to new memory.

        first   the beginning of an expression that yields memory to use instead if nothing else holds it (`alone`); "" for none
        nbytes  how much memory
        """
        self.made[f"allocate_{name}"], self.made[f"size_{name}"] = machine().allocator(nbytes)
        self.before.append(f"{name} = {first}{' else ' if first else ''}allocate_{name}(size_{name})")

    def store(self, slot: int, *, stopped: bool = False) -> None:
        """Append the statements that pass a result on to later pieces, if it is needed there.

        stopped  True for a result of `stop_gradient`, on which no hook can be registered
        """
        if slot not in self.piece.kept:
            return
        if slot not in self.tensors:
            self.after.append(f"{self.value(slot)} = {self.names[slot]}")
            return
        self.made[f"type_{slot}"] = self.type_of(slot)
        self.after += [f"{self.value(slot)} = result = new(Tensor)", f"result.type = type_{slot}", f"result.memory = {self.names[slot]}"]
        if stopped:
            self.after.append("result._takes_gradient = False")

    def is_stack(self, slot: int) -> bool:
        """Return True for a slot (value number) that holds a stack."""
        return isinstance(self.slots[slot].type, StackType)

    def stack(self) -> BufferPlace:
        """Return the place of a new stack that no other piece (ops that one C call runs) uses."""
        if not self.stacks:
            self.block("stacks")
            self.made["allocate_stacks"] = machine().allocate_stacks
        self.stacks += 1
        return self.blocks.index("stacks"), (self.stacks - 1) * machine().stack_bytes

    def nbytes(self, slot: int) -> int:
        """Return how many bytes of memory the value in a slot (value number) needs."""
        return nbytes_of(self.slots[slot].type)

    def type_of(self, slot: int) -> TensorType:
        type_ = self.slots[slot].type
        assert isinstance(type_, TensorType)
        return type_

    def step(self) -> Step:
        """Return the step that runs the table: a generated function of the list of values, which is faster than a loop over them."""
        self.call()
        freed = [f"values[{slot}] = None" for slot in self.freed()]
        return function_of("step(values, run)", [*self.statements(), *freed], self.made, __file__)

    def part(self, *, last: bool) -> list[str]:
        """Return the Python statements that run the table, as a part of a function that does a whole call.

        last  True for the last part of the function: after it, variables need not be freed
        """
        self.call(alone=True)
        if last:
            return self.statements()
        assert self.around is not None
        own = [name for name in (*self.names.values(), self.blocks[0]) if name not in self.made]
        gone = dict.fromkeys([*own, *(self.value(slot) for slot in self.freed() if slot >= len(self.around.arguments))])
        return [*self.statements(), *(f"{name} = None" for name in gone)]

    def freed(self) -> list[int]:
        """Return the slots (value numbers) of values from outside that nothing reads after this piece, so that they can be freed."""
        own = {slot for entry in self.piece.entries for slot in entry.results}
        return [slot for entry in self.piece.entries for slot in entry.freed if slot not in own]

    def own_name(self, name: str) -> str:
        """Return a variable's name with an ending that no other table in the same function has."""
        return f"{name}{self.suffix}"

    def call(self, *, alone: bool = False) -> None:
        """Append the C call, and the statements that raise its failure.

        alone  True if a single kernel may be launched without a table
        """
        if not self.stages:
            return
        here = machine()
        blocks = self.blocks
        single = self.stages[0] if alone and len(self.stages) == 1 else None
        empty = not self.piece.arena + self.scratch  # a kernel may have scratch of no bytes
        if (isinstance(single, LaunchStage) and len(single.places) <= _MOST_OPERANDS
                and all((block > 0 or empty) and not offset for block, offset in single.places)):
            kernel, launch = self.own_name("kernel"), f"adjoint_launch{len(single.places)}"
            self.made[blocks[0]] = ffi.NULL
            self.made[kernel] = watching.copy_for(single.node, single.kernel)
            self.made[launch] = getattr(here.library, launch)
            given = f"[None, {', '.join(blocks[1:])}]"
            self.before.append(f"failed = {launch}({kernel}, {', '.join(blocks[block] for block, _ in single.places)})")
        else:
            if self.stacks:
                self.before.append(f"stacks = allocate_stacks({self.stacks})")
            if self.piece.arena + self.scratch:
                self.allocate(blocks[0], self.piece.arena + self.scratch)
            else:
                self.made[blocks[0]] = ffi.NULL
            table, self.made[self.own_name("kept")] = here.table(self.packed(), len(self.blocks), self.own.begin)
            self.made[self.own_name("table")] = table
            watching.describe_table(table, [stage.node for stage in self.stages])
            if all(isinstance(stage, LaunchStage) for stage in self.stages):
                self.made["adjoint_run"] = here.library.adjoint_run
                given = f"[{', '.join(blocks)}]"
                self.before.append(f"failed = adjoint_run({self.own_name('table')}, {given})")
            else:
                given = "blocks"
                self.before += self.resumed()
        failure = self.own_name("failure")
        self.made[failure] = self.failure()
        self.before.append("if failed:")
        if any(isinstance(stage, LaunchStage) and stage.failure is not None for stage in self.stages):
            self.before += [f"    if failed >> {_STEP_BITS} >= {steps}: {statement}" for steps, statement in self.done]
        self.before += ["    run = Run(None)"] if self.around is not None else []
        self.before.append(f"    raise {failure}(failed, run, {given})")

    def resumed(self) -> list[str]:
        """Return the statements that run a table with branches.  Its C call returns from time to time, so that Python can be interrupted.
        """
        library, blocks = machine().library, ", ".join(self.blocks)
        arena, table, interrupted = self.blocks[0], self.own_name("table"), self.own_name("interrupted")
        self.made |= {"new_blocks": functools.partial(ffi.new, ffi.typeof("void *[]")), "place": library.adjoint_place,
                      "resume": library.adjoint_resume, interrupted: self.interrupted()}
        return [
            f"blocks = new_blocks([{blocks}]" + (f" + {len(self.own.begin)} * [{arena}]" if self.own.begin else "") + ")",
            f"place({table}, blocks)",
            f"failed = resume({table}, blocks, 0)",
            "if failed < 0:",
            "    try:",
            f"        while failed < 0: failed = resume({table}, blocks, -1 - failed)",
            "    except BaseException as raised:",
            *(["        run = Run(None)"] if self.around is not None else []),
            f"        {interrupted}(failed, raised, run)",
            "        raise",
        ]

    def statements(self) -> list[str]:
        """Return all Python statements for the table, in order: those that look up tensors of state, the preparation and the C call, the
        writes of state, then those that pass results on.
        """
        return [*self.of_state(), *self.before, *(statement for _, statement in self.done), *self.after]

    def packed(self) -> list[TableStep]:
        """Return the stages (parts of the C call) in the form in which the run-time library takes them."""
        steps: list[TableStep] = []
        for stage, batch in zip(self.stages, batches(self.stages, self.shared, self.own.bytes), strict=True):
            match stage:
                case LaunchStage():
                    steps.append(TableStep("LAUNCH", stage.places, stage.kernel, batch))
                case Rotation():
                    steps.append(TableStep("EXCHANGE", [(block, 0) for block in stage.blocks]))
                case Jump():
                    steps.append(TableStep("BRANCH", [] if stage.condition is None else [stage.condition], target=stage.target))
        return steps

    def failure(self) -> Any:
        stages, count, explanations = tuple(self.stages), len(self.blocks), self.explanations

        def failure(failed: int, run: Run, blocks: Sequence[Any]) -> BaseException:
            stage = stages[failed >> _STEP_BITS]
            node = stage.node
            raised = watching.failure(getattr(stage, "failure", None) or node.op.failure, failed & (1 << _STEP_BITS) - 1)
            if isinstance(stage, LaunchStage) and isinstance(node.op, Check):
                # The table's own blocks come after the blocks that were passed in.
                places = [(blocks[block if block >= 0 else count - 1 - block], offset) for block, offset in stage.places]
                operands = [_copied(tensor_type(x), *place) for x, place in zip(node.operands, places)]
                raised = explained(raised, node.op, operands, explanations)
            run.note(raised, node)
            return raised

        return failure

    def interrupted(self) -> Any:
        nodes = tuple(stage.node for stage in self.stages)

        def interrupted(failed: int, raised: BaseException, run: Run) -> None:
            run.note(raised, nodes[-1 - failed])

        return interrupted


def _alone(tensor: Tensor) -> Any:
    """Give a tensor new memory with the same numbers, which nothing else holds, and return that memory.  A write to it then changes only
    this tensor.
    """
    tensor.memory = memory = _bytes_of(tensor.memory, tensor.type.nbytes)
    return memory


def _bytes_of(memory: Any, nbytes: int) -> Any:
    copy = machine().allocate(nbytes)
    ffi.memmove(copy, memory, nbytes)
    return copy


def _given_on(piece: Straight) -> set[int]:
    found = set(piece.kept)
    for entry in reversed(piece.entries):
        if continues(entry) and entry.results[0] in found:
            found.add(entry.operands[0])
    return found


def _copied(type_: TensorType, block: Any, offset: int) -> Tensor:
    """Return a new tensor with a copy of the bytes that begin at an offset in a block of memory."""
    return wrap(type_, _bytes_of(ffi.cast("char *", block) + offset, type_.nbytes))
