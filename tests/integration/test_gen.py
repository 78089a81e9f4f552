"""test_gen.py -- the generator of operators: what it makes of its tables, and what it says of wrong ones."""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import ROOT, contains, equal, main

sys.path.insert(0, os.path.join(ROOT, "proto", "gen"))
import ops

NATIVE = """\
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  structured_delegate: add.out
- func: add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
  structured_delegate: add.out
- func: add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
  structured: True
- func: add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
  dispatch: CompositeExplicitAutograd
  autogen: add.Scalar_out
- func: add.Other(Tensor self, Scalar[] other) -> Tensor
- func: add_.Other(Tensor(a!) self, Scalar[] other) -> Tensor(a!)
  autogen: add.Other_out
- func: exp(Tensor self) -> Tensor
  structured_delegate: exp.out
- func: exp.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
"""
END = NATIVE.count("\n") + 1  # where another line of it stands
ADD = """\
arithmetic:
- op: add
  func: add.Tensor
  params: [alpha]
  when: [{alpha: 1, number: self + other}]
  number: self + alpha * other
"""
EXP = """\
unary:
- op: exp
  func: exp
  preset: unary_float
  inexact: exp(self)
"""
SUM_NATIVE = """\
- func: sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
  structured_delegate: sum.IntList_out
- func: sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)
  structured: True
"""
SUM = """\
sums:
- op: sum
  func: sum.IntList_out
  types: any
  acc: {bool: i64, int: i64}
  merge: a + b
  none: 0
  flags: [RD_DTYPE]
"""


def generate(native, pointwise, reduced=""):
    """({file: text}, what it printed)"""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("native.yaml", native), ("pointwise.yaml", pointwise), ("reduce.yaml", reduced or "{}")):
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        program = os.path.join(ROOT, "proto", "gen", "gen_ops.py")
        ran = subprocess.run([sys.executable, program, "native.yaml", "pointwise.yaml", "reduce.yaml", "out"], cwd=folder,
                             capture_output=True, text=True)
        made = {}
        for place, _, names in os.walk(os.path.join(folder, "out")):
            for name in names:
                with open(os.path.join(place, name)) as f:
                    made[name] = f.read()
        return made, ran.stderr


def refused(native, pointwise, *parts, reduced=""):
    made, said = generate(native, pointwise, reduced)
    equal(made, {}, "files of wrong tables")
    for part in parts:
        contains(said, part, "what is said of wrong tables")


def native(text=NATIVE):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(text)
        f.flush()
        return ops.native(f.name)


def test_forms_and_keys():
    found = native()
    equal([found[n].form for n in ("add.Tensor", "add_.Tensor", "add.out")], ["functional", "in_place", "out"])
    equal({n: op.keys for n, op in found.items() if n.startswith("add.S")},
          {"add.Scalar": ["CompositeExplicitAutograd"], "add.Scalar_out": ["CompositeExplicitAutograd"]})
    group = ops.forms(found)[found["add.Tensor"].signature]
    equal({form: op.name for form, op in group.items()},
          {"functional": "add.Tensor", "in_place": "add_.Tensor", "out": "add.out"})


def test_arguments():
    args = native("- func: x.y(Tensor(a!) self, int[2]? dim=[0, 1], *, str mode=\"none\") -> (Tensor, Tensor)\n")["x.y"]
    equal([(a.type, a.name, a.written) for a in args.args][:2],
          [("Tensor", "self", True), ("int[2]?", "dim", False)])
    equal(args.returns, ["Tensor", "Tensor"])


def test_a_loop_for_each_type_and_special_value():
    made, said = generate(NATIVE, ADD)
    equal(said, "")
    loops = made["pw_arithmetic.c"]
    contains(loops, "PW_KERNEL2(add_f32, 3, f32, f32, const T alpha = pw_param_f32(s, 0);, self, other, "
                    "(self + alpha * other))")
    contains(loops, "PW_KERNEL2(add_alpha_1_i8, 3, i8, i8, , self, other, (self + other))")
    equal("add_b8" in loops, False, "a loop for bool, which has no expression")
    contains(made["pointwise_entries.c"], "DP_IMPL_UNBOXED(\"add_.Tensor\", call_add__Tensor, (T, T, s), ())")
    contains(made["composite_forms.c"], "form_wrapped(call, \"aten::add.Tensor\", 0x2)")


def test_what_autogen_names_is_made():
    found = native()
    equal(found["add.Scalar_out"].func,
          "add.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)")
    made, _ = generate(NATIVE, ADD)
    contains(made["aten.c"], found["add.Scalar_out"].func)
    contains(made["composite_follow.c"], '{"aten::add.Other_out", "aten::add.Other", 2, 1, 1, ')  # not add_.Other
    refused(NATIVE + "- func: add.Other_out(Tensor self, Scalar[] other, *, Tensor(a!) out) -> Tensor(a!)\n", ADD,
            "native.yaml:11: add.Other_out is made by autogen of add_.Other: it has no line")


def test_an_out_is_never_made_of_what_writes():
    alone = NATIVE.replace("- func: add.Other(Tensor self, Scalar[] other) -> Tensor\n", "")
    refused(alone, ADD, "add.Other_out is made by autogen of an overload that writes, and there is no other")


def made_of(func, *names):
    found = native(f"- func: {func}\n  autogen: {', '.join(names)}\n")
    return [found[n].func for n in names]


def test_schemas_of_made_overloads():
    options = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
    equal(made_of(f"like(Tensor self, *, {options}, int? m=None) -> Tensor", "like.out"),
          ["like.out(Tensor self, *, int? m=None, Tensor(a!) out) -> Tensor(a!)"])
    equal(made_of("two.x(Tensor self) -> (Tensor a, Tensor b)", "two.x_out"),
          ["two.x_out(Tensor self, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))"])
    equal(made_of("each_(Tensor(a!)[] self, Tensor(b!) found) -> ()", "each", "each.out"),
          ["each(Tensor[] self, Tensor found) -> (Tensor[] self_out, Tensor found_out)",
           "each.out(Tensor[] self, Tensor(b!) found, *, Tensor(a!)[] out) -> ()"])
    equal(made_of("zero_(Tensor(a!) self) -> Tensor(a!)", "zero", "zero.out"),
          ["zero(Tensor self) -> Tensor", "zero.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"])


def test_every_overload_is_a_function():
    head = generate(NATIVE, ADD)[0]["aten.h"]
    for text in ("dp_aten_add_Tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_value alpha, dp_tensor **out)\n",
                 'DP_HANDLE_CALL(dp_call_T_T_s__T, "aten::add.Tensor", "TTs>T", self, other, alpha, out);',
                 "dp_aten_add__Tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_value alpha)\n",
                 "dp_aten_add_Other(dp_ctx *ctx, dp_tensor *self, const dp_value *other, size_t other_n, dp_tensor **out)\n"):
        contains(head, text)


def test_every_operator_has_its_place_in_the_documentation():
    page = generate(NATIVE + SUM_NATIVE, ADD, SUM)[0]["operators.md"]
    contains(page, "## add\nLoops over uint8, int8, int16, int32, int64, float32, float16, bfloat16, float64, complex64, complex128.\n")
    contains(page, "- `add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`  \n"
                   "  CPU, CompositeExplicitAutogradNonFunctional, by `add.out`\n")
    contains(page, "  CompositeExplicitAutograd, made of `add.Scalar` by autogen\n")
    contains(page, "## sum\nLoops over bool, uint8")


def test_functions_are_those_of_the_type():
    made, said = generate(NATIVE, EXP)
    equal(said, "")
    for text in ("exp_f32, 2, f32, f32, , self, (pw_exp_f32(self)))", "(pw_exp_c64(self)))"):
        contains(made["pw_unary.c"], text)


def test_a_family_is_a_file_of_its_own():
    both, _ = generate(NATIVE, ADD + EXP)
    changed, _ = generate(NATIVE, ADD + EXP.replace("exp(self)", "exp(self) + 0"))
    equal([n for n in both if both[n] != changed[n]], ["pw_unary.c"], "files that a changed expression changes")


def test_errors_name_file_line_and_field():
    refused(NATIVE, ADD.replace("number: self + alpha", "numbr: self + alpha"), "pointwise.yaml:2: add: no such field: numbr")
    refused(NATIVE, ADD.replace("func: add.Tensor", "func: add.Tensr"),
            "pointwise.yaml:2: add: func: 'add.Tensr' is not in native_functions.yaml")
    refused(NATIVE, ADD.replace("number: self + alpha * other", "number: self + beta * other"),
            "pointwise.yaml:2: add: expression: no argument 'beta'")
    refused(NATIVE, ADD.replace("{alpha: 1,", "{gamma: 1,"), "pointwise.yaml:5: add: when: no argument 'gamma'")
    refused(NATIVE, EXP.replace("unary_float", "unary_flt"), "pointwise.yaml:2: exp: preset: no such: 'unary_flt'")
    refused(NATIVE, EXP + EXP.replace("unary:\n", ""), "pointwise.yaml:6: op: 'exp' is there twice")
    refused(NATIVE.replace("  structured: True\n", "  structred: True\n", 1), ADD,
            "native.yaml:5: add.out: no such field: structred")
    refused(NATIVE + "- func: exp(Tensor self) -> Tensor\n", ADD, f"native.yaml:{END}: exp is there twice")
    refused(NATIVE + "- func: exp Tensor\n", ADD, f"native.yaml:{END}: func: not a schema")
    refused(NATIVE, "unary: [\n", "pointwise.yaml:")


def test_what_an_entry_cannot_be():
    for wrong, said in (("x", "'x' has no fields, as what stands beside it has"),
                        ("func: 3", "3: func: 3 is no str"),
                        ("func: f(Tensr self) -> Tensor", "func: no such type: 'Tensr'"),
                        ("func: f(int a, int a) -> Tensor", "func: two arguments have one name"),
                        ("{func: f() -> Tensor, dispatch: 3}", "f: dispatch: 3 is no str"),
                        ("{func: f() -> Tensor, dispatch: CPUX}", "f: dispatch: no such key: CPUX"),
                        ("{func: f() -> Tensor, dispatch: CPU, dispatch: CPU}", "a field is there twice"),
                        ("{func: f() -> Tensor, structured: maybe}", "f: structured: 'maybe' is no bool"),
                        ("{func: f() -> Tensor, autogen: g.out}", "f: autogen: no overload of it: 'g.out'"),
                        ("{func: f(Tensor self) -> Tensor, structured_delegate: add.out}",
                         "f: structured_delegate: no structured out= overload of it: 'add.out'")):
        refused(NATIVE + f"- {wrong}\n", ADD, f"native.yaml:{END}: {said}")
    for wrong, said in (("row_major: 7", "row_major: 7 is no bool"), ("params: self", "params: 'self' is no list"),
                        ("defaults: {beta: 1}", "defaults: no param: beta"), ("no_bool: 3", "no_bool: 3 is no str"),
                        ("func: [exp, add.Tensor]", "func: add.Tensor takes other, too")):
        text = EXP if not wrong.startswith("func") else EXP.replace("  func: exp\n", "")
        refused(NATIVE, text + f"  {wrong}\n", f"pointwise.yaml:2: exp: {said}")
    refused(NATIVE, EXP.replace("op: exp", "op: exp-2"), "pointwise.yaml:2: exp-2: op: no name of C: 'exp-2'")
    refused(NATIVE, EXP + EXP.replace("unary:\n", "").replace("op: exp", "op: other"),
            "pointwise.yaml:6: other: func: exp is computed by exp")


def test_a_reduction_for_each_type_and_form():
    made, said = generate(NATIVE + SUM_NATIVE, ADD, SUM)
    equal(said, "")
    loops = made["rd_sums.c"]
    contains(loops, "pw_mem_i64 sum_i8_each_(pw_val_i8 x, pw_val_i64 about, const rd_state *s)")
    contains(loops, "pw_mem_f32 sum_f32_merge_(pw_mem_f32 a, pw_mem_f32 b)")
    entries = made["reduce_entries.c"]
    contains(entries, 'const rd_op rd_sum = {"sum", "sum_cpu", tables_sums, 0, RD_DTYPE, 1};')
    contains(entries, 'DP_IMPL_UNBOXED("sum.dim_IntList", reduce_sum_dim_IntList, (T, oli, b, oi), (T))')
    contains(entries, 'DP_IMPL_UNBOXED("sum.IntList_out", reduce_sum_IntList_out, (T, oli, b, oi, T), ())')


def test_errors_of_reductions():
    for wrong, said in ((SUM.replace("none: 0", "non: 0"), "reduce.yaml:2: sum: no such field: non"),
                        (SUM.replace("func: sum", "func: som"), "reduce.yaml:2: sum: func: 'som.IntList_out' is not in"),
                        (SUM.replace("types: any", "types: every"), "reduce.yaml:2: sum: types: ['every']; kinds are wanted"),
                        (SUM.replace("merge: a + b", "merge: {real: a + b}"), "reduce.yaml:2: sum: merge: nothing for b8"),
                        (SUM.replace("merge: a + b", "merge: {reel: a + b}"), "sum: merge: no kind or type: reel"),
                        (SUM.replace("int: i64", "int: i63"), "reduce.yaml:2: sum: acc: no type: 'i63'"),
                        (SUM.replace("[RD_DTYPE]", "RD_DTYPE"), "reduce.yaml:2: sum: flags: 'RD_DTYPE' is no list"),
                        (SUM + SUM.replace("sums:", ""), "reduce.yaml:10: op: 'sum' is there twice")):
        refused(NATIVE + SUM_NATIVE, ADD, said, reduced=wrong)


main()
