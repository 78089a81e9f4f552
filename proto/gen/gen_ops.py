"""gen_ops.py NATIVE_FUNCTIONS_YAML POINTWISE_YAML REDUCE_YAML OPTIM_YAML DIR -- makes C in DIR from the tables of operators.

    aten.c                  plugin aten: definitions of the operators, those of optim.yaml too
    levels/pw_FAMILY.c      plugin cpu: loops of a family of pointwise.yaml, compiled for each vector level;
                            or pw_FAMILY.c, compiled once
    pointwise_entries.c     plugin cpu: an unboxed kernel for each overload of pointwise.yaml, which calls the loops
    levels/rd_FAMILY.c      plugin cpu: loops of a family of reduce.yaml
    reduce_entries.c        plugin cpu: kernels that call those loops
    composite_variants.c    plugin composite: overloads of pointwise operators that call another overload
    composite_follow.c      plugin composite: the overloads that the field autogen names
    dispatchd/aten.h        a C function for each overload

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


def tag_reads_once(families, reduced):
    """Give the tag reads_once to every overload without out= whose only kernel is a generated loop: such
    a loop uses no element as an address or a count."""
    funcs = [op for listed in families.values() for entry in listed for group in entry.funcs for op in group]
    funcs += [op for listed in reduced.values() for entry in listed for op in entry.funcs]
    for op in funcs:
        if not op.outs() and "reads_once" not in op.tags:
            op.tags = [*op.tags, "reads_once"]


def main(native_path, pointwise_path, reduce_path, optim_path, folder):
    native = ops.native(native_path)
    families, aliases, lists = pointwise(pointwise_path, native)
    reduced = reductions(reduce_path, native)
    tag_reads_once(families, reduced)
    made = {"aten.c": schemas(native, native_path, ops.native(optim_path)), "pointwise_entries.c": entries(families, lists),
            "reduce_entries.c": emit_reduce.entries(reduced),
            "composite_variants.c": forms(native, families, aliases, lists),
            "composite_follow.c": follow(native, ops.forms(native)), "dispatchd/aten.h": calls(native)}
    made.update({f"{'' if once(family, lists) else 'levels/'}pw_{family}.c": loops(family, listed, lists)
                 for family, listed in families.items()})
    made.update({f"levels/rd_{family}.c": emit_reduce.loops(family, listed) for family, listed in reduced.items()})
    for name, text in made.items():  # only now: an error above leaves every file unchanged
        write(os.path.join(folder, name), text)


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
