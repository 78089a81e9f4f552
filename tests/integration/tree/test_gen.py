"""test_gen.py -- the generators of operators and of methods: what they make of their tables, and what they say of
wrong ones."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from harness import ROOT, contains, equal, main

sys.path.insert(0, os.path.join(ROOT, "proto", "gen"))
import gen_ops
import ops
import proto_schemas

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
OPTIM = """\
- func: step_(Tensor(a!)[] params, *, float lr) -> ()
  dispatch: CPU
- func: clip_(Tensor(a!)[] grads) -> ()
  dispatch: CPU
"""


def generate(native, pointwise, reduced=""):
    """({file: text}, what was wrong)"""
    with tempfile.TemporaryDirectory() as folder:
        place, said = os.getcwd(), ""
        os.chdir(folder)
        try:
            for name, text in (("native.yaml", native), ("pointwise.yaml", pointwise), ("reduce.yaml", reduced or "{}"),
                               ("optim.yaml", OPTIM)):
                with open(name, "w") as f:
                    f.write(text)
            gen_ops.main("native.yaml", "pointwise.yaml", "reduce.yaml", "optim.yaml", "out")
        except SystemExit as e:
            said = str(e)
        finally:
            os.chdir(place)
        made = {}
        for place, _, names in os.walk(os.path.join(folder, "out")):
            for name in names:
                with open(os.path.join(place, name)) as f:
                    made[name] = f.read()
        return made, said


def refused(native, pointwise, said, reduced=""):
    """Nothing is made, and this is how what is said begins."""
    made, got = generate(native, pointwise, reduced)
    equal(made, {}, "files of wrong tables")
    if not got.startswith(said):
        raise AssertionError(f"got  {got}\n  want {said}")


def native(text=NATIVE):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(text)
        f.flush()
        return ops.native(f.name)


def test_forms_and_keys():
    found = native()
    equal([found[n].variant for n in ("add.Tensor", "add_.Tensor", "add.out")], ["functional", "in_place", "out"])
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
    head = "(char **data, const int64_t *st, int64_t n0, int64_t n1, void *user)"
    contains(loops, f"static void add_f32{head}")
    contains(loops, "    const T alpha = pw_param_f32(s, 0);\n")
    contains(loops, "((pw_mem_f32 *)p0)[i] = (pw_val_f32)(self + alpha * other);")
    contains(loops, f"static void add_alpha_1_i8{head}")
    contains(loops, "((pw_mem_i8 *)p0)[i] = (pw_val_i8)(self + other);")
    equal(loops.count("(pw_val_i8)(self + other)"), 4, "loops: packed, either one broadcast, by strides")
    equal("add_b8" in loops, False, "a loop for bool, which has no expression")
    contains(made["pointwise_entries.c"], "DP_IMPL_UNBOXED(\"add_.Tensor\", call_add__Tensor, (T, T, s), ())")
    contains(made["composite_variants.c"], "variant_wrapped(call, \"aten::add.Tensor\", 0x2)")


def test_what_autogen_names_is_made():
    found = native()
    equal(found["add.Scalar_out"].func,
          "add.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)")
    made, _ = generate(NATIVE, ADD)
    contains(made["aten.c"], found["add.Scalar_out"].func)
    contains(made["composite_follow.c"], '{"aten::add.Other_out", "aten::add.Other", 2, 1, 1, ')  # not add_.Other
    refused(NATIVE + "- func: add.Other_out(Tensor self, Scalar[] other, *, Tensor(a!) out) -> Tensor(a!)\n", ADD,
            "native.yaml:12: add_.Other: autogen: add.Other_out is made by this alone, not by line 17 too")


def test_an_out_is_never_made_of_what_writes():
    alone = NATIVE.replace("- func: add.Other(Tensor self, Scalar[] other) -> Tensor\n", "")
    refused(alone, ADD, "native.yaml:10: add.Other_out is made by autogen of an overload that writes, and there is no other")


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


def test_functions_are_those_of_the_type():
    made, said = generate(NATIVE, EXP)
    equal(said, "")
    for text in ("= (pw_val_f32)(pw_exp_f32(self));", "= (pw_val_c64)(pw_exp_c64(self));"):
        contains(made["pw_unary.c"], text)


def test_a_family_is_a_file_of_its_own():
    both, _ = generate(NATIVE, ADD + EXP)
    changed, _ = generate(NATIVE, ADD + EXP.replace("exp(self)", "exp(self) + 0"))
    equal([n for n in both if both[n] != changed[n]], ["pw_unary.c"], "files that a changed expression changes")


def test_operators_of_optim_are_defined_in_their_namespace():
    made, said = generate(NATIVE, ADD)
    equal(said, "")
    for kind, namespace, place, line, func in (("LIBRARY", "aten", "native.yaml", 1, "add.Tensor"), ("LIBRARY", "optim", "optim.yaml", 1, "step_"),
                                               ("FRAGMENT", "optim", "optim.yaml", 3, "clip_")):
        found = re.search(rf'#line (\d+) "(.*)"\nDP_RECORDS\(op_\d+, (\w+), (\w+), , .*"{re.escape(func)}\(', made["aten.c"])
        equal(found and found.groups(), (str(line), place, kind, namespace), func)


def test_new_values_are_copied_to_what_an_out_overload_writes():
    native = NATIVE + ("- func: scale_(Tensor(a!)[] self, Tensor(b!) found, Tensor by) -> ()\n  dispatch: CPU\n"
                       "  autogen: scale, scale.out\n")
    made, said = generate(native, ADD)
    equal(said, "")
    row = re.search(r'"aten::scale.out", "aten::scale", .*', made["composite_follow.c"])[0]
    contains(row, "{FOLLOW_COPY, 3}, {FOLLOW_COPY, 1}")


def test_the_command_fails_and_says_it():
    with tempfile.TemporaryDirectory() as folder:
        wrong = os.path.join(folder, "wrong.yaml")
        with open(wrong, "w") as f:
            f.write("- func: f\n")
        ran = subprocess.run([sys.executable, os.path.join(ROOT, "proto", "gen", "gen_ops.py"), wrong, wrong, wrong, wrong, folder],
                             capture_output=True, text=True)
    equal((ran.returncode, ran.stderr), (1, f"{wrong}:1: f: func: not a schema: 'f'\n"))


def test_what_is_no_table():
    for text, said in (("", "1: entries are wanted"), ("x: 1", "1: entries are wanted"), ("[", "1: no yaml: "),
                       ("- func: 'f() -> Tensor", "1: no yaml: "), ("[]", "1: a list of entries is wanted"),
                       ("- x", "1: 'x' has no fields"), ("- [x]", "1: ['x'] has no fields"),
                       ("- &a {func: *a}", "1: no yaml: found unconstructable recursive node"),
                       ("- ? [x]\n  : y", "1: ['x'] is no name of a field")):
        refused(text, ADD, f"native.yaml:{said}")
    for text, said in (("", "1: families of entries are wanted"), ("- op: x", "1: families of entries are wanted"),
                       ("unary:", "1: unary: a list of entries is wanted"), ("unary: []", "1: unary: a list of entries is wanted"),
                       ("unary:\n- exp", "2: unary: 'exp' has no fields"), ("un-ary:\n- op: x", "1: un-ary: no name of C")):
        refused(NATIVE, text, f"pointwise.yaml:{said}")
        refused(NATIVE, ADD, f"reduce.yaml:{said}", reduced=text or "[]")


WRONG_OPERATORS = (  # fields of one more entry, what is said of its last line
    ("x", "'x' has no fields"),
    ("func: 3", "func: a schema is wanted"),
    ("dispatch: CPU", "func: a schema is wanted"),
    ("func: exp Tensor", "exp Tensor: func: not a schema"),
    ("func: exp(Tensor self) -> Tensor", "exp is there twice"),
    ("func: f(Tensr self) -> Tensor", "f: func: no such type: 'Tensr'"),
    ("func: f(Tensor self) -> Tensr", "f: func: no such type: 'Tensr'"),
    ("func: f(Tensor) -> Tensor", "f: func: an argument without a name: 'Tensor'"),
    ("func: f(Tensor self!) -> Tensor", "f: func: no name of an argument: 'self!'"),
    ("func: f(int a, int a) -> Tensor", "f: func: two arguments have one name"),
    ("func: f(int a, *) -> Tensor", "f: func: '*' stands once, before an argument"),
    ("func: f(*, int a, *, int b) -> Tensor", "f: func: '*' stands once, before an argument"),
    ("func: f(Tensor self) -> Tensor(a!)", "f: func: 'Tensor(a!)' is returned, and no argument has that alias set"),
    *((f"func: f({kind} n={text}) -> Tensor", f"f: func: no default of a {kind}: 'n={text}'") for kind, text in (
        ("int", "abc"), ("int", "1.5"), ("int", "None"), ("float", "x"), ("bool", "true"), ("bool", "1"), ("str", "none"),
        ("Scalar", "one"), ("Tensor", "0"), ("Tensor?", "0"), ("ScalarType?", "long"), ("int[2]", "x"), ("int[]", "1"),
        ("int[2]", "[1, x]"), ("int", ""))),
    ("func: f() -> Tensor\n  dispatch: 3", "f: dispatch: 3 is no str"),
    ("func: f() -> Tensor\n  dispatch: ''", "f: dispatch: '' is no str"),
    ("func: f() -> Tensor\n  dispatch: CPUX", "f: dispatch: no such key: CPUX"),
    ("func: f() -> Tensor\n  dispatch: CPU, CPU", "f: dispatch: 'CPU' is there twice"),
    ("func: f() -> Tensor\n  dispatch: CPU\n  dispatch: CPU", "dispatch: there twice"),
    ("func: f() -> Tensor\n  dispatch: CompositeImplicitAutograd, CompositeExplicitAutograd",
     "f: dispatch: CompositeImplicitAutograd and CompositeExplicitAutograd are for every backend"),
    ("func: f() -> Tensor\n  structred: True", "f: no such field: structred"),
    ("func: f() -> Tensor\n  where: here", "f: no such field: where"),
    ("func: f() -> Tensor\n  3: x", "f: no such field: 3"),
    ("func: f() -> Tensor\n  structured: maybe", "f: structured: 'maybe' is no bool"),
    ("func: f() -> Tensor\n  structured: True", "f: structured: True, of an out= overload"),
    ("func: f.out(*, Tensor(a!) out) -> Tensor(a!)\n  structured: False", "f.out: structured: True, of an out= overload"),
    ("func: exp.o(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  structured: True\n  structured_delegate: exp.out",
     "exp.o: structured_delegate: of one that is structured itself"),
    ("func: f(Tensor self) -> Tensor\n  structured_delegate: add.out",
     "f: structured_delegate: no structured out= overload of it: 'add.out'"),
    ("func: exp.b(Tensor self) -> Tensor\n  structured_delegate: exp",
     "exp.b: structured_delegate: no structured out= overload of it: 'exp'"),
    ("func: f(Tensor self) -> Tensor\n  structured_delegate: f.out",
     "f: structured_delegate: no structured out= overload of it: 'f.out'"),
    ("func: f() -> Tensor\n  autogen: g.out", "f: autogen: no overload of it: 'g.out'"),
    ("func: f() -> Tensor\n  autogen: f.out, f.out", "f: autogen: 'f.out' is there twice"),
    ("func: f() -> Tensor\n  autogen: f.o-ut", "f: autogen: no overload of it: 'f.o-ut'"),
    ("func: f(Tensor self) -> Tensor\n  autogen: f_functional", "f: autogen: f_functional would be what f is: neither writes"),
    ("func: exp.b(Tensor self) -> Tensor\n  autogen: exp.out", "exp.b: autogen: exp.out is made by this alone, not by line 15 too"),
    ("func: add.b(Tensor self) -> Tensor\n  autogen: add.Scalar_out",
     "add.b: autogen: add.Scalar_out is made by this alone, not by line 7 too"),
    ("func: f() -> Tensor\n  tags: made_up", "f: tags: no such: 'made_up'"),
    ("func: f() -> Tensor\n  tags: view_copy:f", "f: tags: no such: 'view_copy:f'"),
    ("func: f() -> Tensor\n  tags: also_written", "f: tags: no such: 'also_written'"),
    ("func: f() -> Tensor\n  tags: also_written:mean", "f: tags: no argument 'mean'"),
    ("func: f() -> Tensor\n  tags: view_copy, view_copy", "f: tags: 'view_copy' is there twice"),
    ("func: f() -> Tensor\n  tags: [view_copy]", "f: tags: ['view_copy'] is no str"),
)
WRONG_POINTWISE = (  # fields of exp behind op, its line 2; what is said of the last
    ("func: 3", "exp: func: 3 is no str or list of str"),
    ("func: []", "exp: func: [] is no str or list of str"),
    ("func: exq", "exp: func: 'exq' is not in native_functions.yaml"),
    ("func: [exp, exp]", "exp: func: 'exp' is there twice"),
    ("func: [exp, exp.out]", "exp: func: exp is computed by exp"),
    ("func: [exp, add.Tensor]", "exp: func: add.Tensor takes other, too"),
    ("func: add.Other", "exp: func: no variant of 'add.Other' has a kernel for the CPU"),
    ("preset: unary_flt", "exp: preset: no such: 'unary_flt'; there are alike, "),
    ("preset: [unary]", "exp: preset: ['unary'] is no str"),
    ("rounded: [alpha]", "exp: rounded: 'alpha' is none of params"),
    ("args: self", "exp: args: 'self' is no list of str"),
    ("args: [self, self]", "exp: args: 'self' is there twice"),
    ("args: [self, beta]", "exp: args: exp has no argument 'beta'"),
    ("params: self", "exp: params: 'self' is no list of str"),
    ("params: [beta]", "exp: params: exp has no argument 'beta'"),
    ("args: [self]\n  params: [self]", "exp: params: 'self' is one of args"),
    ("defaults: [1]", "exp: defaults: [1] is no dict"),
    ("defaults: {beta: 1}", "exp: defaults: no param: beta"),
    ("args: []", "exp: args: [] is no list of str"),
    ("result: long", "exp: result: no such: 'long'; there are bool, complex, real"),
    ("preset: unary_bool\n  result: real", "exp: result: that of preset unary_bool is bool"),
    ("when: 3", "exp: when: 3 is no list"),
    ("when: [3]", "exp: when: 3 has no fields"),
    ("when: [{gamma: 1, real: self}]", "exp: when: no argument 'gamma'"),
    ("when: [{real: self}]", "exp: when: one argument and expressions, not {}"),
    ("when: [{self: 1}]", "exp: when: no expression"),
    ("when: [{self: x, real: self}]", "exp: when: self: 'x' is no int or float"),
    ("when: [{self: 1, real: [self]}]", "exp: when: real: ['self'] is no str or int or float"),
    ("when: [{self: 1, real: other}]", "exp: when: real: no argument 'other'"),
    ("when: [{self: 1, real: self}, {self: 1.0, real: self}]", "exp: when: '('self', 1.0)' is there twice"),
    ("no_bool: 3", "exp: no_bool: 3 is no str"),
    ("check: nothing", "exp: check: no such: 'nothing'; there are addcdiv, "),
    ("choose: {self: exp}", "exp: no such field: op"),
    ("otherwise: never", "exp: no such field: otherwise"),
    ("row_major: 7", "exp: row_major: 7 is no bool"),
    ("row_major: true\n  like_input: true", "exp: like_input: it is row_major"),
    ("fault: ' '", "exp: fault: ' ' is no str"),
    ("fault: ZeroDivisionError", "exp: fault: no expression sets it"),
    ("int: div(self, 1, &fault)", "exp: int: sets `fault`, and there is no field fault"),
    ("int: true", "exp: int: True is no str or int or float"),
    ("int: ''", "exp: int: '' is no str or int or float"),
    ("int: exp(self", "exp: int: a parenthesis is left open or closed twice: 'exp(self'"),
    ("int: self[0)", "exp: int: a parenthesis is left open or closed twice: 'self[0)'"),
    ("int: self * beta", "exp: int: no argument 'beta'"),
    ("integer: self", "exp: no such field: integer"),
    ("complex: self\n  float: self", None),  # all that inexact was for
)


def test_what_an_entry_cannot_be():
    for wrong, said in WRONG_OPERATORS:
        refused(NATIVE + f"- {wrong}\n", ADD, f"native.yaml:{END + wrong.count(chr(10))}: {said}")
    for wrong, said in WRONG_POINTWISE:
        field = wrong.split(":")[0]
        text = "".join(line + "\n" for line in EXP.splitlines() if not line.startswith(f"  {field}:"))
        where = text.count("\n") + 1 + wrong.count("\n")
        if field == "choose":
            where = 2
        elif said is None:
            where, said = 5, "exp: inexact: narrower ones stand for all that it is for"
        refused(NATIVE, f"{text}  {wrong}\n", f"pointwise.yaml:{where}: {said}")


def test_what_entries_cannot_be_together():
    more = EXP.replace("unary:\n", "")
    by_str = NATIVE + "- func: f(Tensor self, *, str how) -> Tensor\n  dispatch: CPU\n"
    choice = EXP + "- func: f\n  choose: {how: {none: exp}}\n"
    for native_text, text, said in (
            (NATIVE, EXP.replace("op: exp", "op: exp-2"), "2: exp-2: op: no name of C"),
            (NATIVE, EXP + more.replace("  func: exp\n", "  args: [self]\n"), "6: op: 'exp' is there twice"),
            (NATIVE, EXP + more.replace("op: exp", "op: other"), "7: other: func: exp is computed by exp"),
            (NATIVE, EXP.replace("  func: exp\n", ""), "2: exp: args: no func has them"),
            (NATIVE, EXP.replace("- op: exp", "- preset: unary"), "4: preset: there twice"),
            (NATIVE, "unary:\n- func: exp\n  inexact: self\n", "2: exp: neither op nor choose"),
            (NATIVE, ADD.replace("[alpha]", "[alpha]\n  defaults: {alpha: 1}"), "5: add: defaults: alpha is never None in add.Tensor"),
            (NATIVE, ADD.replace("[alpha]", "[alpha]\n  defaults: {alpha: x}"), "5: add: defaults: alpha: no number: 'x'"),
            (by_str, EXP + "- choose: {how: exp}\n", "6: None: func: none that chooses"),
            (by_str, choice.replace("{none: exp}", "{none: exq}"), "7: f: choose: no op 'exq'"),
            (by_str, choice.replace("{none: exp}", "{none: 3}"), "7: f: choose: how: {'none': 3} is no op"),
            (by_str, choice.replace("{none: exp}", "[exp]"), "7: f: choose: how: ['exp'] is no op"),
            (by_str, choice.replace("{how:", "{why:"), "6: f: choose: no argument 'why'"),
            (by_str, choice + "  otherwise: 100%\n", "8: f: otherwise: '%s' stands for"),
            (by_str, choice + "  otherwise: '%s, %s'\n", "8: f: otherwise: '%s' stands for"),
            (by_str, choice + "  preset: unary\n", "8: f: no such field: preset"),
            (NATIVE, EXP + "composites: exp\n", "6: composites: 'exp' is no list of str"),
            (NATIVE, EXP + "composites: [exq]\n", "6: composites: 'exq' is not there"),
            (NATIVE, EXP + "exact: [exp, exp]\n", "6: exact: 'exp' is there twice"),
            (NATIVE, EXP + "by_hand: [exp_]\n", "6: by_hand: 'exp_' is not there"),
            (NATIVE, EXP + "copied: [exp.Out]\n", "6: copied: 'exp.Out' is not there"),
            (NATIVE, EXP + "called: [exp]\n", "6: called: 'exp' is not there"),
            (NATIVE, EXP + "to_v3: [unary]\n", "6: to_v3: 'unary' is not there"),
            (NATIVE, EXP + "aliases: [exp]\n", "6: aliases: ['exp'] is no dict"),
            (NATIVE, EXP + "aliases: {exp: exq}\n", "6: aliases: exp: exq: 'exq' is not in"),
            (NATIVE, EXP + "aliases: {exq: exp}\n", "6: aliases: exq: exp: 'exq' is not in")):
        refused(native_text, text, f"pointwise.yaml:{said}")


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
    for old, new, said in (
            ("none: 0", "non: 0", "7: sum: no such field: non"),
            ("op: sum", "op: 3", "2: op: a name is wanted"),
            ("op: sum", "op: s-um", "2: s-um: op: no name of C"),
            ("func: sum", "func: som", "3: sum: func: 'som.IntList_out' is not in"),
            ("sum.IntList_out", "[sum.IntList_out, sum.IntList_out]", "3: sum: func: 'sum.IntList_out' is there twice"),
            ("sum.IntList_out", "[sum.IntList_out, sum.dim_IntList]", "3: sum: func: sum.dim_IntList is computed by sum"),
            ("types: any", "types: every", "4: sum: types: ['every']; kinds are wanted"),
            ("types: any", "types: 3", "4: sum: types: 3 is no str or list of str"),
            ("  types: any\n", "", "2: sum: types: []; kinds are wanted"),
            ("merge: a + b", "merge: {real: a + b}", "6: sum: merge: nothing for b8"),
            ("merge: a + b", "merge: {reel: a + b}", "6: sum: merge: no such field: reel"),
            ("merge: a + b", "merge: {any: [a]}", "6: sum: merge: any: ['a'] is no str or int or float"),
            ("merge: a + b", "merge: {any: a, int: a, real: b, float: a, bool: a}", "6: sum: merge: real: narrower ones"),
            ("merge: a + b", "merge: (a + b", "6: sum: merge: a parenthesis is left open"),
            ("merge: a + b", "merge: a + x", "6: sum: merge: no argument 'x'"),
            ("  merge: a + b\n", "", "2: sum: merge: nothing for b8"),
            ("int: i64", "int: i63", "5: sum: acc: no type: 'i63'"),
            ("[RD_DTYPE]", "RD_DTYPE", "8: sum: flags: 'RD_DTYPE' is no list of str"),
            ("[RD_DTYPE]", "[RD_DTIPE]", "8: sum: flags: no such: RD_DTIPE"),
            ("[RD_DTYPE]", "[RD_ROW_MAJOR]", "8: sum: flags: no such: RD_ROW_MAJOR"),
            ("[RD_DTYPE]", "[RD_DTYPE, RD_DTYPE]", "8: sum: flags: 'RD_DTYPE' is there twice"),
            ("none: 0", "result: int", "7: sum: result: no such: 'int'; there are bool, long, real"),
            ("none: 0", "form: var", "5: sum: acc: form var has none"),
            ("none: 0", "form: star", "7: sum: form: no such: 'star'; there are place, var"),
            ("none: 0", "beats: a < b", "7: sum: beats: form None has none"),
            ("none: 0", "bits: true", "7: sum: bits: of each x != 0 alone"),
            ("none: 0", "outputs: 3", "7: sum: outputs: 3, from 1 to 2"),
            ("none: 0", "outputs: true", "7: sum: outputs: True is no int"),
            ("none: 0", "error: 3", "7: sum: error: 3 is no str"),
            ("none: 0", "same: total", "7: sum: same: no op 'total' before it"),
            ("", SUM.replace("sums:\n", ""), "9: op: 'sum' is there twice"),
            ("", "- op: b\n  func: sum.IntList_out\n  same: sum\n", "10: b: func: sum.dim_IntList is computed by sum"),
            ("", "- op: b\n  same: sum\n  merge: a * b\n", "11: b: merge: it has the loops of 'sum'")):
        refused(NATIVE + SUM_NATIVE, ADD, f"reduce.yaml:{said}", reduced=SUM.replace(old, new, 1) if old else SUM + new)


METHOD = {"summary": "x", "runs": "loop", "params": {"type": "object", "properties": {}}, "result": {"type": "null"}}
WRONG_SCHEMAS = (  # of a type t
    ("[", ":1: no JSON: "),
    ("[]", ": [] is no object"),
    ('{"type": "string", "type": "string"}', ": type: there twice"),
    ({"typ": "string"}, ": no such field: typ"),
    ({"type": "text"}, ": type: no such: text; there are null, "),
    ({"type": 3}, ": type: 3 is no str or list of str"),
    ({"type": []}, ": type: [] is no str or list of str"),
    ({"type": ["null", "null"]}, ": type: one is there twice: null, null"),
    ({"$ref": "nothing"}, ": $ref: no type 'nothing' in proto/types"),
    ({"$ref": "t", "minimum": 0}, ": minimum: beside $ref it says nothing"),
    ({"oneOf": []}, ": oneOf: of what?"),
    ({"oneOf": [{"type": "array"}]}, ": oneOf 0: items: of what?"),
    ({"oneOf": [{"type": "null"}], "type": "null"}, ": type: beside oneOf it says nothing"),
    ({"oneOf": ["null"]}, ": oneOf 0: 'null' is no object"),
    ({"type": "object", "properties": {"a": {"type": "text"}}}, ": a: type: no such: text"),
    ({"type": "object", "properties": {}, "required": ["a"]}, ": required: not described: a"),
    ({"type": "object", "properties": {"a": {}}, "required": ["a", "a"]}, ": required: one is there twice: a, a"),
    ({"type": "array", "properties": {}}, ": properties: of object alone, not 'array'"),
    ({"type": "array", "items": {"minimum": 0}}, ": items: minimum: of integer or number alone, not None"),
    ({"type": "object", "additionalProperties": True}, ": additionalProperties: True is no dict"),
    ({"type": "string", "enum": [1]}, ": enum: [1] is no list of str"),
    ({"type": "integer", "minimum": True}, ": minimum: True is no int"),
)
WRONG_METHODS = (
    ({**METHOD, "returns": {}}, ": no such field: returns; there are summary, runs, params, result"),
    ({k: v for k, v in METHOD.items() if k != "result"}, ": result: wanted"),
    ({k: v for k, v in METHOD.items() if k != "runs"}, ": runs: wanted"),
    ({**METHOD, "runs": "quickly"}, ": runs: no such: quickly; there are loop, worker, call, at once"),
    ({**METHOD, "summary": 3}, ": summary: 3 is no str"),
    ({**METHOD, "params": {"type": "object"}}, ": params: properties: wanted"),
    ({**METHOD, "params": {"type": "object", "properties": {"a-b": {}}}}, ": params: a-b: no name in C"),
    ({**METHOD, "params": {"type": "object", "properties": {"has_a": {}}}}, ": params: has_a: has_ says"),
    ({**METHOD, "result": {"$ref": "u"}}, ": result: $ref: no type 'u'"),
)


def test_what_a_method_cannot_be():
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for kind, wrong in ("types", WRONG_SCHEMAS), ("methods", WRONG_METHODS):
            (folder / kind).mkdir()
            path = folder / kind / "t.json"
            for text, said in wrong:
                path.write_text(text if isinstance(text, str) else json.dumps(text))
                try:
                    got = proto_schemas.load(folder)
                except SystemExit as e:
                    got = str(e)
                if not isinstance(got, str) or not got.startswith(f"{path}{said}"):
                    raise AssertionError(f"of {text}:\n  got  {got}\n  want {path}{said}")
            path.unlink()


main()
