"""emit_reduce.py -- emits the loops of reduce.yaml for plugin cpu, and the kernels that run
them."""

from emit import line, literal
from tables import check

HEAD = "/* Made by proto/gen from reduce.yaml. */\n"


# -- loops -----------------------------------------------------------------------------------------

PARTS = {"c64": "f32", "c128": "f64"}
# By type: the integer of the same size, whose bits tell whether an element is 0.
BITS = {"b8": "u8", "i8": "u8", "f32": "i32", "f64": "i64", "c64": "i64"}


class Loops:
    """The loops of a family.  Equal text of two reductions or types is emitted once: mean uses the
    loops of sum, and argmax those of amax."""

    def __init__(self):
        self.out, self.made = [], {}

    def once(self, name, text):
        """Emit `text`, in which @ stands for `name`, unless the same text exists; return its
        name."""
        if text not in self.made:
            self.made[text] = name
            self.out.append(text.replace("@", name))
        return self.made[text]

    def fold(self, name, cls, acc, each, merge, about=None, none=None):
        """Emit an inclusion of loops/fold.h, which reduces elements `cls` in accumulators `acc`.
        each, merge: C expressions; about: type of the value that `each` may use besides x; none: the
        result for no elements, if the text is a whole reduction.  A sum of complex numbers is emitted
        as two sums of real numbers."""
        about, result = about or acc, acc
        parts = cls in PARTS and acc in PARTS and (each, merge) == ("x", "a + b")
        if parts:
            cls, acc, about = PARTS[cls], PARTS[acc], PARTS[about]
        text = [f"RD_INLINE pw_mem_{acc} @_each_(pw_val_{cls} x, pw_val_{about} about, const rd_state *s)\n"
                f"{{\n    (void)about, (void)s;\n    return (pw_mem_{acc})({each});\n}}",
                f"RD_INLINE pw_mem_{acc} @_merge_(pw_mem_{acc} a, pw_mem_{acc} b)\n{{\n    return (pw_mem_{acc})({merge});\n}}"]
        if none is not None:
            text += [f"RD_INLINE pw_mem_{result} @_none_(void)\n{{\n    return {none};\n}}\n#define RD_STEP"]
        text += [f"#define RD_NAME @\n#define RD_X {cls}\n#define RD_A {acc}\n#define RD_M {about}"
                 + (f"\n#define RD_PARTS 2\n#define RD_R {result}" if parts else ""), '#include "reduce/loops/fold.h"']
        return self.once(name, "\n".join(text))

    def plain(self, r, name, cls):
        acc, out, each = r.acc(cls), r.out(cls), r.expr("each", cls, "x")
        if r.bits:
            cls = BITS.get(cls, cls)
            each = f"(x & (pw_val_{cls})s->bits) != 0" if cls in BITS.values() else each
            name = f"{r.name}_{cls}"
        by = self.fold(name, cls, acc, each, r.expr("merge", cls), none=r.expr("none", cls, "0"))
        end = self.once(name, f"RD_INLINE pw_mem_{out} @_finish_(pw_mem_{acc} a, const rd_state *s)\n"
                        f"{{\n    typedef pw_val_{acc} A __attribute__((unused));\n    (void)s;\n"
                        f"    return (pw_mem_{out})({r.expr('finish', cls, 'a')});\n}}\n"
                        f'#define RD_NAME @\n#define RD_R {acc}\n#define RD_O {out}\n#include "reduce/loops/finish.h"')
        return by, end, f"sizeof(pw_mem_{acc})", [out]

    def variance(self, r, name, cls):
        mean, out = ("c128" if cls[0] == "c" else "f64"), {"c64": "f32", "c128": "f64"}.get(cls, cls)
        square = "creal(d) * creal(d) + cimag(d) * cimag(d)" if mean == "c128" else "d * d"
        self.out.append(f"RD_INLINE double {name}_square_(pw_val_{mean} d)\n{{\n    return {square};\n}}")
        self.fold(name + "_sum", cls, mean, "x", "a + b")
        self.fold(name + "_dev", cls, "f64", f"{name}_square_((pw_val_{mean})x - about)", "a + b", mean)
        self.out.append(f"#define RD_NAME {name}\n#define RD_X {cls}\n#define RD_M {mean}\n#define RD_O {out}\n"
                        '#include "reduce/loops/var.h"')
        return name, name, f"sizeof({name}_acc)", [out, cls]

    def index(self, r, name, cls):
        best = self.fold(name + "_best", cls, cls, "x", r.expr("merge", cls), none="0")
        name = self.once(name, f"RD_INLINE bool @_beats_(pw_val_{cls} a, pw_val_{cls} b)\n{{\n    return {r.expr('beats', cls)};\n}}\n"
                         f'#define RD_NAME @\n#define RD_BEST {best}\n#define RD_X {cls}\n#include "reduce/loops/extremum.h"')
        return name, name, f"sizeof({name}_acc)", [cls, "i64"][r.outputs == 1:]


def loops(family, entries):
    made, table = Loops(), []
    for r in (r for r in entries if not r.same):
        made.out.append(line(r.where))
        cells = []
        for cls in r.types:
            by, end, size, results = {None: made.plain, "var": made.variance, "place": made.index}[r.variant](r, f"{r.name}_{cls}", cls)
            dtypes = ", ".join(f"RD_DTYPE_{t}" for t in results)
            cells.append(f"        [RD_PLACE_{cls}] = {{{by}_begin, {by}_step, {by}_merge, {end}_finish, {size}, {{{dtypes}}}}},")
        table += ["    {"] + cells + ["    },"]
    head = HEAD + '#include "reduce/loops/reduce.h"\n#include <string.h>\n'
    return "\n".join([head] + made.out + [f"\nconst rd_row DP_ISA_NAME(rd_{family})[] = {{"] + table + ["};"]) + "\n"


# -- operators -------------------------------------------------------------------------------------

LISTS = {"li", "oli"}
FIELDS = {  # argument: {letter of its type: C that sets members of rd_args}
    "keepdim": {"b": ".keepdim = keepdim"},
    "dtype": {"oi": ".dtype = dtype"},
    "unbiased": {"b": ".correction = unbiased"},
    "correction": {"oi": ".correction = correction ? (double)*correction : 1"},
    "dim": {"i": ".dims = &dim, .n_dims = 1", "oi": ".dims = dim, .n_dims = dim ? 1 : 0",
            "li": ".dims = dim, .n_dims = dim_n", "oli": ".dims = dim, .n_dims = dim_n"},
}


def entry(r, op):
    """Return the text of an unboxed kernel of one overload, and its DP_IMPL_UNBOXED item."""
    fn = "reduce_" + op.name.replace(".", "_")
    parameters, fields = [], [".self = self"]
    for a in op.args:
        if a.letter in LISTS:
            parameters += [f"const int64_t *{a.name}", f"size_t {a.name}_n"]
        else:
            check(a.letter, op.where, f"{op.name}: cannot generate a kernel with a {a.type} '{a.name}'")
            parameters.append(f"DP_T_L{a.letter} {a.name}")
        if a.written or a.name == "self":
            continue
        check(a.letter in FIELDS.get(a.name, {}), op.where, f"{op.name}: cannot reduce with a {a.type} '{a.name}'")
        fields.append(FIELDS[a.name][a.letter])
    written = op.outs()
    outs = [a.name for a in written] or [f"*ret{i}" for i in range(len(op.returns))]
    check(len(outs) == r.outputs, op.where, f"{op.name}: {len(outs)} results, op '{r.name}' has {r.outputs}")
    parameters += [] if written else [f"dp_tensor **ret{i}" for i in range(len(op.returns))]
    body = [f"rd_args args = {{{', '.join(fields)}}};",
            f"dp_tensor *outs[] = {{{', '.join(outs) if written else ', '.join(['NULL'] * len(outs))}}};",
            f"int rc = rd_run(ctx, &rd_{r.name}, &args, outs);"]
    body += [] if written else [f"if (rc == 0)\n        {', '.join(f'{o} = outs[{i}]' for i, o in enumerate(outs))};"]
    text = f"static int {fn}(dp_ctx *ctx, {', '.join(parameters)})\n{{\n    " + "\n    ".join(body + ["return rc;"]) + "\n}"
    letters = ", ".join(a.letter for a in op.args)
    returned = "" if written else ", ".join("T" for _ in op.returns)
    return text, f"DP_IMPL_UNBOXED({literal(op.name)}, {fn}, ({letters}), ({returned}))"


def entries(families):
    out = [HEAD + '#include "reduce/reduce.h"\n']
    for family, listed in families.items():
        out.append(f"DP_ISA_TABLE(rd_row, rd_{family})\n"
                   f"static const rd_row *const tables_{family}[DP_ISA_LEVELS] = DP_ISA_TABLES(rd_{family});")
        rows = [r.name for r in listed if not r.same]
        for r in listed:
            fields = [literal(r.name), literal(r.error), f"tables_{r.of.family}", str(rows.index(r.of.name)),
                      " | ".join(r.flags) or "0", str(r.outputs)]
            out += [line(r.where), f"const rd_op rd_{r.name} = {{{', '.join(fields)}}};"]
    for r in (r for listed in families.values() for r in listed):
        made = [entry(r, op) for op in r.funcs if "CPU" in op.keys]
        if made:
            out += [line(r.where)] + [text for text, _ in made]
            out += [line(r.where), "DP_LIBRARY_META(aten, CPU, " + ", ".join(i for _, i in made) + ")\n"]
    return "\n".join(out) + "\n"
