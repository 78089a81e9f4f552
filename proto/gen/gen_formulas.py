"""gen_formulas.py NATIVE_FUNCTIONS_YAML DERIVATIVES_YAML... DIR -- generates DIR/formulas.c, a part of
plugin autograd that registers the formulas of DERIVATIVES_YAML.

The file is written only if its text changes."""

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
