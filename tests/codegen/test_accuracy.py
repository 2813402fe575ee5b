"""The double-precision elementary functions at their hardest arguments, against values of higher precision."""

from __future__ import annotations

import json
from fractions import Fraction
from math import ulp
from pathlib import Path

import numpy as np
import pytest

from adjoint import Tensor
from adjoint.codegen.accuracy import ULP
from adjoint.codegen.toolchain import Toolchain
from adjoint.ir.op import registry
from adjoint.runtime.tensor.tensor import apply

EXACT = {
    "erf": {
        1e-300: "1.128379167095512602172316e-300",
        0.3: "0.328626759459127416189618",
        -0.9877164151243818: "-0.8375388958102950348412761",
        0.9905461776319276: "0.8387392239187604034039432",
        1.0: "0.8427007929497148693412206",
        -1.0124562162580453: "-0.8478073238068529709816561",
        1.3: "0.9340079449406524458501854",
        2.5: "0.9995930479825550410604358",
        4.0: "0.9999999845827420997199811",
        -5.9: "-0.9999999999999999280959022",
        6.5: "0.9999999999999999999615785",
    },
    "erfc": {
        -0.7: "1.677801193837418442276858",
        0.49743563110985284: "0.4817565318475673564670498",
        0.8208630981143294: "0.2456924415854051458380542",
        1.532753667413153: "0.03018600986121801208229803",
        1.5345992868316423: "0.02998782703270512780192425",
        15.580702699929146: "1.346974652105104295426496e-107",
        19.857772076849926: "1.574416681194843105684733e-173",
        21.40142991558573: "3.194689467041962942236292e-201",
        26.9: "1.152240567263921887384117e-316",
    },
    "acosh": {
        1.0: "0.0",
        1.0000000000000002: "2.10734242554470155035478e-8",
        1.0001208218193531: "0.01554473457130620296405912",
        1.0310821671568764: "0.2486864359675683717257633",
        1.5: "0.9624236501192068949955178",
        2.5: "1.566799236972411078664057",
        10000000000.0: "23.71899811050040214959465",
        1e+300: "691.4686750787736505673194",
    },
}
"""By function: arguments, and the values there, rounded to 25 digits."""


@pytest.mark.skipif(Toolchain.find() is None, reason="there is no C compiler")
@pytest.mark.parametrize("name", EXACT)
def test_the_error_is_as_stated(name: str) -> None:
    arguments = np.array(list(EXACT[name]))
    found = apply(registry()[name](), Tensor(arguments)).asnumpy()
    assert found.dtype == np.float64
    for x, value, exact in zip(arguments, found, EXACT[name].values(), strict=True):
        error = abs(Fraction(float(value)) - Fraction(exact)) / Fraction(ulp(float(exact)))
        assert error <= Fraction(str(ULP[name, "f64"])), f"{name}({x!r}) is {float(error):.2f} units off"


def test_errors_are_at_most_two_units() -> None:
    assert {key: error for key, error in ULP.items() if error > 2.0} == {}


SPECIAL_ULPS = {"igamma": 16.0, "igammac": 16.0, "betainc": 32.0}
"""Errors of special functions in units of the last place of what special.json says, 3 where they are not listed."""


@pytest.mark.skipif(Toolchain.find() is None, reason="there is no C compiler")
@np.errstate(over="ignore")  # float64 arguments that float32 lacks are left out
def test_special_functions_are_as_exact_as_their_docstrings_say() -> None:
    recorded = json.loads((Path(__file__).parent.parent / "oracle" / "special.json").read_text(encoding="utf-8"))
    wrong: list[str] = []
    for name, rows in recorded.items():
        for dtype in (np.float64, np.float32):
            columns = [np.array(column) for column in zip(*(given for given, _, _ in rows), strict=True)]
            tensors = [Tensor(column if column.dtype.kind == "i" else column.astype(dtype)) for column in columns]
            found = apply(registry()[name](), *tensors).asnumpy()
            for (given, exact, size), value in zip(rows, found.tolist(), strict=True):
                if dtype is np.float32 and (any(float(np.float32(x)) != x for x in given) or not 1e-30 < abs(float(exact)) < 1e38):
                    continue  # another argument, or beyond the range
                unit = ulp(size) if dtype is np.float64 else float(np.spacing(np.float32(size)))
                error = float(abs(Fraction(value) - Fraction(exact)) / Fraction(unit))
                if error > (SPECIAL_ULPS.get(name, 3.0) if dtype is np.float64 else 0.6):
                    wrong.append(f"{name}{tuple(given)}, {dtype.__name__}: {error:.2f} units off")
    assert not wrong, "\n".join(wrong)
