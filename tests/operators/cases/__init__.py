"""What each operator is called with: a file for each family of plugins/cpu that has operators.

inputs.py has what several families share, plain.py makes the cases of pointwise operators from their schemas.  None has a
bool for an int or in a list of them: torch.ops takes it, torch.* does not; here it is an error."""

import importlib
import os
import pathlib
import time
from random import seed  # not `random`, which is a family here

import torch

from cases.inputs import CASES, EDGES, operator
from cases.plain import plain

FAMILIES = sorted({path.stem for path in pathlib.Path(__file__).parent.glob("*.py")} - {"__init__", "inputs", "plain"})
PART = int(os.environ.get("PART", 1))
TODAY = int(os.environ.get("DAY", time.time() // 86400))
FEW = 24  # cases of one operator that are all tried
FAMILY = {}  # of each operator that a family has cases for

for _family in FAMILIES:
    torch.manual_seed(0)  # the same values whatever other families draw
    importlib.import_module("cases." + _family)
    FAMILY.update((name, _family) for name in CASES.keys() | EDGES.keys() if name not in FAMILY)
degrees = importlib.import_module("cases.special").degrees


def family_of(name):
    """Return the family whose file has the operator's cases: pointwise if they follow from its schema."""
    return FAMILY.get(name) or ("special" if "_polynomial_" in name else "pointwise")


def cases_of(name):
    """Return (arguments, keyword arguments) of each call: every PART-th if there are more than FEW, and all of EDGES."""
    torch.manual_seed(0)  # the same values whatever else is tried
    seed(0)
    made = CASES[name]() if name in CASES else degrees(name) if "_polynomial_" in name else plain(operator(name)._schema)
    cases = list(made)
    return (cases if len(cases) <= FEW else cases[PART - 1::PART]) + EDGES.get(name, [])
