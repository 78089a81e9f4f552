"""gen_ops.py NATIVE_FUNCTIONS_YAML POINTWISE_YAML REDUCE_YAML DIR -- operators as tables in, C in DIR out.

    aten.c                  plugin aten: definitions
    levels/pw_FAMILY.c      plugin cpu: loops of one family of pointwise.yaml; pw_FAMILY.c where they are compiled once
    pointwise_entries.c     what calls those loops: unboxed kernels of every overload
    levels/rd_FAMILY.c      ... loops of one family of reduce.yaml
    reduce_entries.c        what calls those
    composite_variants.c       plugin composite: pointwise overloads that follow from others
    composite_follow.c      ... and what autogen names
    dispatchd/aten.h        a function of C for every overload

A file is only written when its text changes."""

import os
import sys

import emit_reduce
import ops
from emit import write
from emit_calls import calls
from emit_follow import follow
from emit_variants import forms
from emit_pointwise import entries, loops, once
from emit_schemas import schemas
from pointwise import pointwise
from reduce import reductions


def main(native_path, pointwise_path, reduce_path, folder):
    native = ops.native(native_path)
    families, aliases, lists = pointwise(pointwise_path, native)
    reduced = reductions(reduce_path, native)
    made = {"aten.c": schemas(native, native_path), "pointwise_entries.c": entries(families, lists),
            "reduce_entries.c": emit_reduce.entries(reduced),
            "composite_variants.c": forms(native, families, aliases, lists),
            "composite_follow.c": follow(native, ops.forms(native)), "dispatchd/aten.h": calls(native)}
    made.update({f"{'' if once(family, lists) else 'levels/'}pw_{family}.c": loops(family, listed, lists)
                 for family, listed in families.items()})
    made.update({f"levels/rd_{family}.c": emit_reduce.loops(family, listed) for family, listed in reduced.items()})
    for name, text in made.items():  # when nothing was wrong
        write(os.path.join(folder, name), text)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
