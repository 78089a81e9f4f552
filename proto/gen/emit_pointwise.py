"""emit_pointwise.py -- emits the loops of pointwise.yaml for plugin cpu, and the kernels that run
them."""

from emit import line, literal
from expr import TYPES
from tables import Fault, check

HEAD = "/* Made by proto/gen from pointwise.yaml. */\n"


# -- loops -----------------------------------------------------------------------------------------

def result_type(p, cls):
    if p.result == "bool":
        return "b8"
    real = {"c64": "f32", "c128": "f64"}
    if p.result == "real":
        return real.get(cls, cls)
    if p.result == "complex":
        return {v: k for k, v in real.items()}.get(cls, cls)
    return cls


# By number of inputs: sets of inputs that are broadcast along a row in a specialised loop.
BROADCAST = {1: [], 2: [{2}, {1}], 3: [{2, 3}]}
IVDEP = "#pragma GCC ivdep"  # allowed: an output is exactly an input's memory, or overlaps no input
# In a WHOLE loop n0 is a multiple of PW_VECTOR.  The mask tells this to the compiler, which then emits no
# loop for remaining elements.
EACH, WHOLE = "i < n0", "i < (n0 & -PW_VECTOR)"


class Loop:
    """The text of one dp_iter_loop2d with `operands` operands: inputs `args` of type `cls`, a
    result of type `out`."""

    def __init__(self, name, operands, cls, out, params, args, where):
        self.name, self.operands, self.cls, self.out = name, operands, cls, out
        self.params, self.args, self.where = params, args, where

    def load(self, k, way):
        """Return C that loads input k into a local of its name.  way: "packed" (element i of contiguous
        memory), "strided" (element i by its stride) or "row" (one element for the whole row)."""
        memory, value = f"const pw_mem_{self.cls} *", f"(pw_val_{self.cls})"
        element = {"packed": f"(({memory})p{k})[i]", "strided": f"*({memory})(p{k} + i * step{k})",
                   "row": f"(({memory})p{k})[0]"}[way]
        return f"const T {self.args[k - 1]} = {value}{element};"

    def loads(self, way, inputs=None):
        return " ".join(self.load(k, way) for k in range(1, len(self.args) + 1) if inputs is None or k in inputs)

    def store(self, expr, way="packed"):
        to = {"packed": f"((pw_mem_{self.out} *)p0)[i]", "strided": f"*(pw_mem_{self.out} *)(p0 + i * step0)"}[way]
        return f"{to} = (pw_val_{self.out})({expr});"

    def each(self, body, limit=EACH, ivdep=True):
        """Return a loop over a row, on one line of C; #line makes compilers and backtraces name the
        yaml."""
        head = f"for (int64_t i = 0; {limit}; i++)"
        return ([IVDEP] if ivdep else []) + [line(self.where), f"        {head} {{ {body} }}"]

    def is_packed(self, k):
        return f"st[{k}] == (int64_t)sizeof(pw_mem_{self.cls if k else self.out})"

    def by_strides(self, expr):
        """Return loops for contiguous operands, for each set of inputs broadcast along a row, and
        for any strides."""
        n, out = len(self.args), []
        for row in [set(), *BROADCAST[n]]:
            tests = [self.is_packed(0)] + [f"st[{k}] == 0" if k in row else self.is_packed(k) for k in range(1, n + 1)]
            out.append(f"        {'} else ' if out else ''}if ({' && '.join(tests)}) {{")
            out += ["        " + self.load(k, "row") for k in sorted(row)]
            packed = self.loads("packed", set(range(1, n + 1)) - row)
            out += self.each(f"{packed} {self.store(expr)}")
        return out + ["        } else {"] + self.strided(expr, ivdep=True) + ["        }"]

    def strided(self, expr, ivdep=False):
        return self.each(f"{self.loads('strided')} {self.store(expr, 'strided')}", ivdep=ivdep)

    def packed(self, expr):
        """Return a loop for contiguous operands only, over a multiple of PW_VECTOR elements."""
        return self.each(f"{self.loads('packed')} {self.store(expr)}", WHOLE)

    def near_or_far(self, expr, near, far):
        """Return loops like packed(): the vectorised `near` if `far` is 0 for all elements, else
        `expr`."""
        return ["        uint64_t far = 0;"] + self.each(f"{self.loads('packed')} far |= ({far});", WHOLE) + \
            ["        if (far == 0) {"] + self.packed(near) + ["        } else {"] + \
            self.each(f"{self.loads('packed')} {self.store(expr)}", ivdep=False) + ["        }"]

    def text(self, body):
        """Return the C function that runs `body` for each row.  Strides are read into locals,
        because the compiler must assume that a store changes them."""
        rows = [f"        char *p{k} = data[{k}] + j * st[{self.operands + k}];\n"
                f"        const int64_t step{k} __attribute__((unused)) = st[{k}];" for k in range(len(self.args) + 1)]
        return "\n".join([line(self.where), f"static void {self.name}(char **data, const int64_t *st, int64_t n0, "
                          "int64_t n1, void *user)", "{",
                          f"    typedef pw_val_{self.cls} T __attribute__((unused));", "    pw_state *s = user;",
                          "    int fault = 0;", *("    " + p for p in self.params),
                          "    for (int64_t j = 0; j < n1; j++) {", *rows, *body, "    }", "    pw_finish(s, fault);", "}"])


def parameters(p, expr, cls):
    """Return C statements that read the parameters which `expr` names."""
    out = [f"const T {name} = pw_param_{cls}(s, {i});" for i, name in enumerate(p.params) if name in expr.names]
    out += [f"const double {name}_d = s->param[{i}].d;" for i, name in enumerate(p.params) if f"{name}_d" in expr.names]
    # the largest finite number of the dtype that the result is rounded to
    if "limit" in expr.names:
        out.append("const T limit = (T)s->limit;")
    return out


def kernel(p, row, cls, called):
    """Return the text of one loop."""
    expr, args = row.exprs[cls], p.args
    used = [a for a in p.args if a in expr.names]
    if len(args) > 1 and used == p.args[:1]:  # unused inputs get no pointers
        args = used
    loop = Loop(f"{row.name}_{cls}", 1 + len(p.args), cls, result_type(p, cls), parameters(p, expr, cls), args, row.where)
    if expr.far:
        return loop.text(loop.near_or_far(expr.text, expr.near, expr.far))
    text = "".join(f"(void){a}, " for a in args if a not in expr.names) + expr.text
    form = loop.packed if expr.packed else loop.strided if called else loop.by_strides
    return loop.text(form(text))


def once(family, lists):
    """Is `family` compiled once, instead of once per vector instruction level?"""
    return family in lists["called"] and family not in lists["to_v3"]


def loops(family, entries, lists):
    called = family in lists["called"]
    out = [HEAD + '#include "pointwise/loops/pointwise.h"\n' + ('#include "special/loops/special.h"\n' if called else "")]
    table = []
    for p in (p for p in entries if not p.choose):
        for row in p.rows:
            out += [kernel(p, row, cls, called) for cls in TYPES if cls in row.exprs]
            cells = ", ".join(f"{row.name}_{c}" if c in row.exprs else "0" for c in TYPES)
            packed = sum(1 << i for i, c in enumerate(TYPES) if c in row.exprs and row.exprs[c].packed)
            table.append(f"    {{{{{cells}}}, {packed:#x}}},")
    name = f"pw_{family}" if once(family, lists) else f"DP_ISA_NAME(pw_{family})"
    return "\n".join(out + [f"\nconst pw_row {name}[] = {{"] + table + ["};"]) + "\n"


# -- operators -------------------------------------------------------------------------------------

def as_value(arg, p, where):
    """Return a C expression that converts the argument to a dp_value."""
    default = p.defaults.get(arg.name)
    made = {"T": f"dp_tensor_value({arg.name})", "oT": f"dp_tensor_value({arg.name})", "s": arg.name,
            "f": f"dp_double({arg.name})", "i": f"dp_int({arg.name})", "b": f"dp_bool({arg.name})"}
    if arg.letter in made:
        return made[arg.letter]
    if arg.letter == "os":
        none = "dp_none()" if default is None else f"dp_double({default})"
        return f"({arg.name} ? *{arg.name} : {none})"
    if arg.letter in ("of", "oi") and default is not None:
        kind = "double" if arg.letter == "of" else "int"
        return f"dp_{kind}({arg.name} ? *{arg.name} : {default})"
    raise Fault(where, f"cannot generate a kernel with a {arg.type} '{arg.name}'")


def run(p, op):
    """Return C statements that run pointwise operation `p` with the arguments of overload `op`."""
    by_name = {a.name: a for a in op.args}
    for name in p.args + p.params:
        check(name in by_name, p.where, f"{op.name}: no argument '{name}', which op '{p.name}' takes")
    values = {n: as_value(by_name[n], p, p.where) for n in p.args + p.params}
    out = [f"const dp_value ins[] = {{{', '.join(values[n] for n in p.args)}}};"]
    if p.params:
        out.append(f"const dp_value params[] = {{{', '.join(values[n] for n in p.params)}}};")
    given = "params" if p.params else "NULL"
    written = op.outs()
    call = f"pw_write(ctx, &pw_{p.name}, ins, {given}, {written[0].name})" if written else \
        f"pw_new(ctx, &pw_{p.name}, ins, {given}, ret)"
    return out + [f"return {call};"]


def condition(arg, case, where):
    """Return the C condition: does the argument have the value of this case of a `choose`?"""
    if arg.letter in ("S", "oS"):
        return f"{arg.name}.s == NULL" if case is None else \
            f"{arg.name}.s != NULL && strcmp({arg.name}.s, {literal(case)}) == 0"
    raise Fault(where, f"choose: by a {arg.type} '{arg.name}'")


def chosen(p, op):
    """Return C statements that run one of several operations, chosen by a str argument or by the
    optional arguments that are given."""
    by_name = {a.name: a for a in op.args}
    out = []
    for key, choice in p.choose.items():
        if isinstance(choice, dict):
            check(key in by_name, p.where, f"{op.name}: choose: no argument '{key}'")
            tests = [(condition(by_name[key], case, p.where), name) for case, name in choice.items()]
            named = f", {key}.s"
        else:
            given = key.split()
            check(set(given) <= set(by_name), p.where, f"{op.name}: choose: no arguments '{key}'")
            tests = [(" && ".join(f"{g} != NULL" for g in given), choice)]
            named = ""
        for test, name in tests:
            out += [f"if ({test}) {{"] + ["    " + s for s in run(p.known[name], op)] + ["}"]
    text = literal(p.otherwise or f"{op.name}: no such choice")
    return out + [f"return dp_fail(ctx, DP_ERUNTIME, {text}{named if '%s' in text else ''});"]


def entry(p, op):
    """Return the text of an unboxed kernel of one overload, and its DP_IMPL_UNBOXED item."""
    fn = "call_" + op.name.replace(".", "_")
    for arg in op.args:
        check(arg.letter, op.where, f"{op.name}: cannot generate a kernel with a {arg.type} '{arg.name}'")
    arguments = ", ".join(f"DP_T_L{a.letter} {a.name}" for a in op.args)
    written = op.outs()
    ret = "" if written else ", dp_tensor **ret"  # a written argument is returned by the host
    body = chosen(p, op) if p.choose else run(p, op)
    used = " ".join(body)
    unused = [f"(void){a.name};" for a in op.args if a.name not in used]
    text = f"static int {fn}(dp_ctx *ctx, {arguments}{ret})\n{{\n    " + "\n    ".join(unused + body) + "\n}"
    letters = ", ".join(a.letter for a in op.args)
    return text, f"DP_IMPL_UNBOXED({literal(op.name)}, {fn}, ({letters}), ({'' if written else 'T'}))"


def describe(p, first_row):
    """Return the C definition of the pw_op of `p`."""
    names = ", ".join(literal(n) for n in p.params) or "NULL"
    inputs = {n: i for i, n in enumerate(p.args)} | {n: f"PW_INPUTS_MAX + {i}" for i, n in enumerate(p.params)}
    out = []
    if p.when:
        cells = ", ".join(f"{{{inputs[name]}, {first_row + 1 + i}, {value!r}}}"
                          for i, (name, value, _) in enumerate(p.when))
        out.append(f"static const pw_when when_{p.name}[] = {{{cells}}};")
    fields = [literal(p.name), f"tables_{p.family}", str(first_row), " | ".join(p.flags) or "0",
              str(len(p.args)), str(len(p.params)), str(len(p.when)),
              f"{sum(1 << i for i, n in enumerate(p.params) if n in p.rounded):#x}", f"{{{names}}}",
              f"when_{p.name}" if p.when else "NULL", literal(p.no_bool) if p.no_bool else "NULL",
              literal(p.fault) if p.fault else "NULL", f"pw_check_{p.check}" if p.check else "NULL"]
    return out + [f"const pw_op pw_{p.name} = {{{', '.join(fields)}}};"]


def entries(families, lists):
    out = [HEAD + '#include "pointwise/pointwise.h"\n#include <math.h>\n#include <string.h>\n']
    for family, listed in families.items():
        out.append(f"extern const pw_row pw_{family}[];\nstatic const pw_row *const tables_{family}[DP_ISA_LEVELS] = "
                   f"{{pw_{family}, pw_{family}, pw_{family}}};" if once(family, lists) else
                   f"DP_ISA_TABLE(pw_row, pw_{family})\n"
                   f"static const pw_row *const tables_{family}[DP_ISA_LEVELS] = "
                   f"{'CPU_TABLES_TO_V3' if family in lists['to_v3'] else 'DP_ISA_TABLES'}(pw_{family});")
        row = 0
        for p in (p for p in listed if not p.choose):
            out += [line(p.where)] + describe(p, row)
            row += len(p.rows)
    for p in (p for listed in families.values() for p in listed):
        made = [entry(p, op) for group in p.funcs for op in group if "CPU" in op.keys]
        if made:
            out += [line(p.where)] + [text for text, _ in made]
            out += [line(p.where), "DP_LIBRARY_META(aten, CPU, " + ", ".join(i for _, i in made) + ")\n"]
    return "\n".join(out) + "\n"
