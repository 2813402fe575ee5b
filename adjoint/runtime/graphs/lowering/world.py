"""The runtime as the frontend sees it: each method of `frontend.world.World` is a method of one of the objects that make a graph."""

from __future__ import annotations

from adjoint.foundation.diagnostics import Loc, Within
from adjoint.ir.build import Builder
from adjoint.runtime.graphs.lock import lowering_lock
from adjoint.runtime.graphs.lowering.cell_calls import CellCalls
from adjoint.runtime.graphs.lowering.hosts import Hosts
from adjoint.runtime.graphs.lowering.library_instances import LibraryInstances
from adjoint.runtime.graphs.lowering.python_objects import PythonObjects
from adjoint.runtime.graphs.lowering.python_state import PythonState
from adjoint.runtime.graphs.lowering.reads import Reads
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.graphs.lowering.run_time_numbers import RunTimeNumbers
from adjoint.runtime.graphs.lowering.values import Values

__all__ = ["GraphWorld"]


class GraphWorld:
    """The interface through which the frontend uses the runtime while one function is made into a graph.

    The frontend needs it to be made, and most of the objects that do the work need the frontend; so `connect` adds their methods later.

    regions  the open regions (bodies of nodes) and the running line; it is there before `connect` is called
    """

    def __init__(self, regions: Regions):
        self._regions = regions
        self.open, self.reopen, self.close, self.catch_up = regions.open_path, regions.reopen, regions.close, regions.catch_up
        self.is_outermost, self.emit_region = regions.is_outermost, regions.emit_region

    def connect(self, values: Values, hosts: Hosts, numbers: RunTimeNumbers, reads: Reads, python: PythonState,
                objects: PythonObjects, instances: LibraryInstances, cells: CellCalls) -> None:
        """Set the methods of this object: each one is the method of the same name of one of the given objects, which does the work."""
        self._hosts = hosts
        self.kind, self.is_dynamic, self.is_tensor = values.kind, values.is_dynamic, values.is_tensor
        self.python_types = values.python_types
        self.atom, self.wrapped, self.renamed, self.hint = values.atom, values.wrapped, values.renamed, values.hint
        self.is_here, self.index, self.rows = values.is_here, values.index, values.rows
        self.number, self.truth, self.position = numbers.number, numbers.truth, numbers.position
        self.joins, self.atom_as = numbers.joins, numbers.atom_as

        self.is_cell, self.is_cell_class, self.is_cells = objects.is_cell, objects.is_cell_class, objects.is_cells
        self.is_library, self.is_region, self.parsed_function = objects.is_library, objects.is_region, objects.parsed_function
        self.check_call, self.call_depth = objects.check_call, objects.call_depth
        self.place, self.is_outside = objects.place, objects.is_outside

        self.convert, self.new_cell, self.initialise = instances.convert, instances.new_cell, instances.initialise
        self.part_of_cells = instances.part_of_cells
        self.check_parts, self.store_attribute = instances.check_parts, instances.store_attribute
        self.of_each_run = instances.of_each_run
        self.call_cell, self.effect = cells.call_cell, hosts.effect
        self.cell_calls, self.count_again = cells.count, cells.count_again

        self.read_name, self.read_closure, self.read_attribute = reads.read_name, reads.read_closure, reads.read_attribute
        self.read_object, self.read_identity, self.read_outcome = reads.read_object, reads.read_identity, reads.read_outcome
        self.read_contents = reads.read_contents
        self.can_write, self.can_keep, self.write_later = python.can_write, python.can_keep, python.write
        self.keep_attributes, self.expose, self.saw = python.keep_attributes, lowering_lock.expose, reads.saw
        self.is_written_later, self.refuse_write = python.is_written, python.refuse
        self.refresh, self.change = python.refresh, python.change
        self.found_in, self.want = python.containers.found, python.containers.want
        self.read_count, self.unread = reads.count, reads.forget

    @property
    def builder(self) -> Builder:
        return self._regions.builder

    @property
    def loc(self) -> Loc:
        return self._regions.loc

    @loc.setter
    def loc(self, loc: Loc) -> None:
        self._regions.loc = loc

    def enter_call(self) -> Within:
        regions = self._regions
        around = regions.within
        regions.within = Within(around.cell, around.finite_ok, around.training, (regions.loc, around.callers))
        return around

    def leave_call(self, around: Within) -> None:
        self._regions.within = around

    @property
    def raises_late(self) -> bool:
        return self._hosts.raises_late

    def end(self) -> None:
        """Drop the methods, which refer to the frontend and through it to this object, so that all are freed at once."""
        vars(self).clear()
