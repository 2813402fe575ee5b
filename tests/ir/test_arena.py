"""Arenas: parts in use never share bytes, and parts are chosen as the docstring says, whatever the order of taking and giving back."""

from __future__ import annotations

import random

from adjoint.ir.arena import Arena


class Searched:
    """The same choices, made by searching a list of the free parts, of which the one given back last is at the end."""

    def __init__(self) -> None:
        self.nbytes, self.free = 0, list[tuple[int, int]]()

    def take(self, nbytes: int) -> int:
        fitting = [i for i, (begin, end) in enumerate(self.free) if end - begin >= nbytes]
        if fitting:
            begin, end = self.free[fitting[-1]]
            self.free[fitting[-1] : fitting[-1] + 1] = [(begin + nbytes, end)] if end - begin > nbytes else []
            return begin
        last = [part for part in self.free if part[1] == self.nbytes]
        self.free = [part for part in self.free if part not in last]
        begin = last[0][0] if last else self.nbytes
        self.nbytes = begin + nbytes
        return begin

    def give_back(self, begin: int, nbytes: int) -> None:
        beside = [part for part in self.free if part[1] == begin or part[0] == begin + nbytes]
        self.free = [part for part in self.free if part not in beside]
        self.free.append((min([begin, *(part[0] for part in beside)]), max([begin + nbytes, *(part[1] for part in beside)])))


def test_choices_are_those_of_a_search() -> None:
    for seed in range(100):
        draw, arena, searched = random.Random(seed), Arena(), Searched()
        held: list[tuple[int, int]] = []
        for _ in range(120):
            if held and draw.random() < 0.5:
                begin, nbytes = held.pop(draw.randrange(len(held)))
                arena.give_back(begin, nbytes)
                searched.give_back(begin, nbytes)
                continue
            nbytes = draw.choice((1, 2, 3, 4, 8, 16, 64))
            begin = arena.take(nbytes)
            assert begin == searched.take(nbytes)
            assert all(begin + nbytes <= other or other + size <= begin for other, size in held)
            held.append((begin, nbytes))
            assert arena.nbytes == searched.nbytes >= begin + nbytes


def test_no_bytes_take_no_place() -> None:
    arena = Arena()
    assert arena.take(0) == arena.nbytes == 0
    arena.give_back(0, 0)
    assert arena.take(8) == 0
