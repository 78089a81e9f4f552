"""gen_ops.py NATIVE_FUNCTIONS_YAML POINTWISE_YAML DIR -- operators as tables in, C in DIR out.

    aten.c                  plugin aten: definitions
    levels/pw_FAMILY.c      plugin cpu: loops of one family of pointwise.yaml
    pointwise_entries.c     what calls those loops: unboxed kernels of every overload
    composite_forms.c       plugin composite: overloads that follow from others

A file is only written when its text changes."""

import os
import sys

import ops
from emit import write
from emit_forms import forms
from emit_pointwise import entries, loops
from emit_schemas import schemas


def main(native_path, pointwise_path, folder):
    native = ops.native(native_path)
    families, aliases, composites = ops.pointwise(pointwise_path, native)
    write(os.path.join(folder, "aten.c"), schemas(native, native_path))
    for family, listed in families.items():
        write(os.path.join(folder, "levels", f"pw_{family}.c"), loops(family, listed))
    write(os.path.join(folder, "pointwise_entries.c"), entries(families))
    write(os.path.join(folder, "composite_forms.c"),
          forms(native, families, aliases, composites))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
