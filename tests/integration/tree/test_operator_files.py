"""test_operator_files.py -- a search for an operator's name, or for the file of PyTorch that defines it, finds the
source that registers its kernel.

A word of the operator's name, or of an ATen file that the head of the source names, occurs in the folder or the name
of the source; or a word of the name ends with the source's name, as addmm with mm.  Kernels that are made from a table name
the line of the table instead, and are not looked at."""

import os
import re

from harness import ROOT, equal, less, main
from where import running

HEAD = re.compile(r"/\*.*?\*/", re.S)
ATEN_FILE = re.compile(r"[\w{},*/]+\.(?:cpp|h)\b")
# Words that many names have: they find nothing.
COMMON = {"backward", "forward", "native", "helper", "tensor", "cpp", "cpu"}

# Operators whose source is found by none of these words.  The list only shrinks: a file that is split takes its
# operators off it.
EXCEPTIONS = {
    "cpu": {"_symeig_helper"},
    "composite": set("""
        arange cummaxmin_backward diag_backward diagonal_backward empty empty_strided eye full gather_backward
        linspace logspace masked_fill nonzero_numpy ones randint randint_like randn randn_like randperm range
        scalar_tensor slice_backward take_along_dim trace_backward tril_indices triu_indices
        value_selecting_reduction_backward zeros
    """.split()),
}


def words(name):
    """The words of a name: split at _ . and digits, and where a capital follows a small letter."""
    parts = re.split(r"[^A-Za-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name))
    return {p.lower() for p in parts if len(p) > 1} - COMMON


def aten_words(source):
    """Words of the ATen files that the first comment of a source names."""
    head = HEAD.search(source)
    named = ATEN_FILE.findall(head[0].split("--", 1)[-1]) if head else []
    return set().union(*(words(path.rsplit("/", 1)[-1] if "{" not in path else path[path.index("{"):])
                         for path in named))


def occurs(word, path):
    """Is the word a part of the path?  One of two letters has to be a whole word of it."""
    return word in path.lower() if len(word) > 2 else word in words(path)


def found(op, path, source):
    name = os.path.splitext(os.path.basename(path))[0]
    return any(occurs(word, path) for word in words(op) | aten_words(source)) or \
        any(word.endswith(name) for word in words(op))


def kernels(ops):
    """(plugin, operator without its overload, path below the plugin) of each kernel that a source registers."""
    for name, op in ops.items():
        for _, plugin, place in op.kernels:
            if plugin in EXCEPTIONS and place.startswith(f"plugins/{plugin}/"):
                yield plugin, name.split("::")[1].split(".")[0], place.split("/", 2)[2].rsplit(":", 1)[0]


def test_what_finds_a_source():
    head = "/* unary.c -- all (aten/src/ATen/native/{ReduceOps,TensorCompare}.cpp, SoftMax.cpp). */"
    equal(aten_words(head), {"reduce", "ops", "compare", "soft", "max"})
    equal(found("_linalg_det", "matmul/product.c", ""), False)
    equal(found("_linalg_det", "matmul/det.c", ""), True)
    equal(found("mm", "linalg/comma.c", ""), False)
    equal(found("mm", "matmul/mm.c", ""), True)
    equal(found("addmm_", "matmul/mm.c", ""), True)
    equal(found("isin", "sort/compare.c", head), True)


def test_each_kernel_is_found_by_its_name():
    listed = set(kernels(running()))
    less(500, len(listed), "kernels")
    texts = {}
    for plugin, _, path in listed:
        with open(os.path.join(ROOT, "plugins", plugin, path)) as f:
            texts.setdefault((plugin, path), f.read())
    hidden = {plugin: {} for plugin in EXCEPTIONS}
    for plugin, op, path in sorted(listed):
        if not found(op, path, texts[plugin, path]):
            hidden[plugin].setdefault(path, []).append(op)
    for plugin, excepted in EXCEPTIONS.items():
        ops = {op for listed in hidden[plugin].values() for op in listed}
        equal({path: left for path, listed in hidden[plugin].items() if (left := sorted(set(listed) - excepted))}, {},
              f"sources of {plugin} that no word of these operators finds")
        equal(sorted(excepted - ops), [], f"exceptions of {plugin} that are none")


main()
