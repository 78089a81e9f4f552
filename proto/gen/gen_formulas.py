"""gen_formulas.py NATIVE_FUNCTIONS_YAML DERIVATIVES_YAML... DIR -- formulas as tables in, C in DIR out.

    formulas.c   plugin autograd: records of formulas

A file is only written when its text changes."""

import os
import sys

import ops
from derivatives import derivatives
from emit import write
from emit_formulas import formulas


def main(native_path, *paths):
    *files, folder = paths
    found = derivatives(files[0], ops.native(native_path), *files[1:])
    write(os.path.join(folder, "formulas.c"), formulas(found, ", ".join(files)))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
