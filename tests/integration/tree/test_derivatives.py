"""test_derivatives.py -- the generator of formulas: the programs that it makes of derivatives.yaml, and what it says
of a wrong one."""

import glob
import os
import sys
import tempfile

from harness import ROOT, contains, equal, main

sys.path.insert(0, os.path.join(ROOT, "proto", "gen"))
import emit_formulas
import ops
from derivatives import derivatives, is_composite, is_tensors

OPS = os.path.join(ROOT, "proto", "ops")
KNOWN = ops.native(os.path.join(OPS, "native_functions.yaml"))
MUL = "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
EXP = "- name: exp(Tensor self) -> Tensor\n"
CLAMP = "- name: clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor\n"
MAX = "- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)\n"
NORM = ("- name: native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps)"
        " -> (Tensor, Tensor, Tensor)\n")


def made(text):
    """({overload: (flags, lines)}, what was wrong), without what has no entry of its own"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "derivatives.yaml")
        with open(path, "w") as f:
            f.write(text)
        try:
            return {f.op.name: (f.flags, f.lines) for f in derivatives(path, KNOWN) if f.flags != "unrecorded"}, ""
        except SystemExit as e:
            return {}, str(e).replace(path, "derivatives.yaml")


def lines_of(text):
    found, said = made(text)
    equal(said, "")
    return list(found.values())[0][1]


def exp(formula):
    """The steps and the output of a formula of exp."""
    return [line for line in lines_of(f"{EXP}  self: {formula!r}\n") if not line.startswith("in ")]


def test_an_overload_and_its_in_place_form():
    found, said = made(MUL + "  self: grad * other.conj()\n  other: grad * self.conj()\n")
    lines = ["in grad Tensor", "in self Tensor", "in other Tensor", "v1 = aten::conj(other)", "v2 = aten::mul.Tensor(grad, v1)",
             "v3 = aten::conj(self)", "v4 = aten::mul.Tensor(grad, v3)", "out self v2", "out other v4"]
    equal((found, said), ({"mul.Tensor": ("", lines), "mul_.Tensor": ("clone=self", lines)}, ""))


def test_other_forms_of_views():
    found, _ = made("- name: t(Tensor(a) self) -> Tensor(a)\n  self: grad.t()\n")
    equal({name: flags for name, (flags, _) in found.items()}, {"t": "", "t_": "reshapes", "t_copy": ""})


def test_inputs():
    equal(lines_of(EXP + "  self: grad.reshape(self.sizes) * result\n"),
          ["in grad Tensor", "in result Tensor", "in self.sizes int[]", "v1 = aten::reshape(grad, self.sizes)",
           "v2 = aten::mul.Tensor(v1, result)", "out self v2"])
    equal(made(MAX + "  differentiable: [true, false]\n  self: grad * indices * values.numel\n")[0]["max.dim"],
          ("differentiable=10", ["in grad Tensor", "in indices Tensor", "in values.numel int", "v1 = aten::mul.Tensor(grad, indices)",
                                 "v2 = aten::mul.Scalar(v1, values.numel)", "out self v2"]))
    equal(lines_of(CLAMP + "  self: 'min is none ? grad : grad * min'\n  min: grad\n  max: non_differentiable\n"),
          ["in grad Tensor", "in min Tensor?", "in min.defined bool", "v1 = when min.defined: aten::mul.Tensor(grad, min)",
           "v2 = select(min.defined, v1, grad)", "out self v2", "out min grad"])
    equal(lines_of(CLAMP + "  self: grad\n  min: 'grad.reshape(min is none ? [] : min.sizes)'\n  max: not_implemented\n")[-5:],
          ["v1 = select(min.defined, min.sizes, [])", "v2 = aten::reshape(grad, v1)", "out self grad", "out min v2", "out max 'not implemented'"])


def test_gradients_that_may_be_missing():
    both = "- name: frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)\n  self: "
    equal(lines_of(both + "grads[0] + grads[1]\n")[:2], ["in grad Tensor", "in grad1 Tensor"])
    equal(lines_of(both + "'grads[1] is none ? grad : grad + grads[1]'\n"),
          ["in grad Tensor", "in grad1 Tensor?", "v1 = scalar is_none(grad1)", "v2 = scalar not(v1)",
           "v3 = when v2: aten::add.Tensor(grad, grad1)", "v4 = select(v1, grad, v3)", "out self v4"])
    # an argument that is called grad
    equal(lines_of("- name: _pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor\n  grad: grads[0] * grad\n"
                   "  self: zero\n  pdist: non_differentiable\n")[:2], ["in grad0 Tensor", "in grad Tensor"])


def test_one_call_for_several_arguments():
    found, _ = made(NORM + "  differentiable: [true, false, false]\n  input, weight, bias: "
                    "native_layer_norm_backward(grad, input, normalized_shape, result1, result2, weight, none, mask)\n")
    flags, lines = found["native_layer_norm"]
    equal((flags, lines[-8:]),
          ("differentiable=100", ["in need.input bool", "in need.weight bool", "in need.bias bool", "v1 = [need.input, need.weight, need.bias]",
                                  "v2, v3, v4 = aten::native_layer_norm_backward(grad, input, normalized_shape, result1, result2, weight, none, v1)",
                                  "out input v2", "out weight v3", "out bias v4"]))


def test_infix():
    for formula, step in (
            ("2 * grad", "aten::mul.Scalar(grad, 2)"), ("1 - grad", "aten::rsub.Scalar(grad, 1)"),
            ("grad / 2.5", "aten::div.Scalar(grad, 2.5)"), ("grad > result", "aten::gt.Tensor(grad, result)"),
            ("0 < grad", "aten::gt.Scalar(grad, 0)"), ("-grad", "aten::neg(grad)"), ("not grad", "aten::logical_not(grad)"),
            ("grad * (1 + 2 * 3)", "aten::mul.Scalar(grad, 7)"), ("grad * log(2)", "aten::mul.Scalar(grad, 0.6931471805599453)"),
            ("grad.sum([0, 1], keepdim=true)", "aten::sum.dim_IntList(grad, [0, 1], keepdim=true)"),
            ("grad.sort(0)[0]", "aten::sort(grad, 0)")):
        contains(exp(formula)[0], step)
    equal(exp("grad * (self.size(0) - self.size(-1) / 2)"),
          ["v1 = self.sizes[0]", "v2 = get item(self.sizes, -1)", "v3 = scalar div(v2, 2)", "v4 = scalar sub(v1, v3)",
           "v5 = aten::mul.Scalar(grad, v4)", "out self v5"])
    equal(exp("grad.sizes[0] * grad")[:2], ["v1 = get sizes(grad)", "v2 = v1[0]"])


def test_only_the_chosen_side_runs():
    equal(exp("create_graph ? grad * 2 : self.ndim > 1 and self.size(1) > 2 ? grad : none"),
          ["v1 = when create_graph: aten::mul.Scalar(grad, 2)", "v2 = scalar not(create_graph)", "v3 = when v2: scalar gt(self.ndim, 1)",
           "v4 = when v3: self.sizes[1]", "v5 = when v3: scalar gt(v4, 2)", "v6 = when v2: scalar and(v3, v5)",
           "v7 = when v2: select(v6, grad, none)", "v8 = select(create_graph, v1, v7)", "out self v8"])
    # equal steps run once, but not where another condition has to be true
    equal(exp("x = grad * 2; create_graph ? x + grad * 2 : x")[0:2],
          ["v1 = aten::mul.Scalar(grad, 2)", "v2 = when create_graph: aten::add.Tensor(v1, v1)"])


def test_zero():
    equal(exp("zero"), ["v1 = aten::zeros_like(grad)", "out self v1"])
    equal(lines_of("- name: mean(Tensor self, *, ScalarType? dtype=None) -> Tensor\n  self: zero\n"),
          ["in self.device any", "in self.dtype int", "in self.sizes int[]",
           "v1 = aten::zeros(self.sizes, dtype=self.dtype, device=self.device)", "out self v1"])


def test_functions_and_helpers():
    equal(lines_of("- define: twice(x)\n  as: y = x * 2; y\n" + EXP + "  self: twice(twice(grad))\n"),
          ["in grad Tensor", "v1 = aten::mul.Scalar(grad, 2)", "v2 = aten::mul.Scalar(v1, 2)", "out self v2"])
    helper = "- helper: grad::back(Tensor x, int[] sizes) -> Tensor\n"
    equal(lines_of(helper + EXP + "  self: grad::back(grad, self.sizes)\n")[2:], ["v1 = grad::back(grad, self.sizes)", "out self v1"])
    equal(lines_of(helper + "  missing: true\n" + EXP + "  self: grad::back(grad, self.sizes) * 2\n"), ["out self 'not implemented'"])


def test_overloads_without_formulas():
    found, _ = made("- not_differentiable: [ones_like, sgn, detach]\n- not_implemented: [igamma]\n- through: [sinc]\n")
    equal(found, {"ones_like": ("differentiable=0", []), "sgn": ("differentiable=0", []), "sgn_": ("differentiable=0", []),
                  "detach": ("differentiable=0", []), "detach_": ("detaches", []),
                  "igamma": ("", ["out self 'not implemented'", "out other 'not implemented'"]),
                  "igamma_": ("", ["out self 'not implemented'", "out other 'not implemented'"]),
                  "sinc": ("through", []), "sinc_": ("through", [])})


def test_out_of_what_has_no_derivative():
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(EXP + "  self: grad\n- name: eq.Tensor(Tensor self, Tensor other) -> Tensor\n  self: zero\n  other: zero\n"
                "- not_differentiable: [argmax]\n- not_implemented: [heaviside]\n")
        f.flush()
        found = {f.op.name for f in derivatives(f.name, KNOWN) if f.flags == "unrecorded"}
    for name, wanted in (("argmax.out", True), ("heaviside.out", True), ("eq.Tensor_out", True), ("exp.out", False), ("exp", False),
                         ("linear.out", False), ("fft_fftfreq.out", True), ("square.out", False)):
        equal(name in found, wanted, name)


def test_records():
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write("# a comment\n" + EXP + "  self: grad * result\n")
        f.flush()
        text = emit_formulas.formulas(derivatives(f.name, KNOWN), "derivatives.yaml")
        contains(text, f'#line 2 "{f.name}"\nDP_FORMULAS(aten,\n    DP_FORMULA("exp", "",\n        "in grad Tensor\\n"\n')
        contains(text, '"out self v1\\n"),\n    DP_FORMULA("exp_", "",')


def test_every_overload_is_there():
    """Each overload that takes and returns tensors, and calls no others, has a formula or is listed without one."""
    paths = sorted(glob.glob(os.path.join(OPS, "derivatives*.yaml")))
    found = {f.op.name for f in derivatives(paths[0], KNOWN, *paths[1:])}
    missing = [op.name for op in KNOWN.values() if op.variant != "out" and not is_composite(op) and op.name not in found
               and any(is_tensors(a.type) for a in op.args) and any(is_tensors(r.split(" ")[0]) for r in op.returns)]
    equal(missing, [])


def test_errors():
    for text, said in (
            ("- self: grad\n", "1: neither name, define, helper,"),
            ("- name: exq(Tensor self) -> Tensor\n", "1: exq: name: not in native_functions.yaml"),
            ("- name: exp(Tensor x) -> Tensor\n", "1: exp: name: the schema is 'exp(Tensor self) -> Tensor'"),
            ("- name: exp.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n", "1: exp.out: an out= overload has no derivative"),
            ("- name: exp_(Tensor(a!) self) -> Tensor(a!)\n", "1: exp_: the formula of exp is for it, too"),
            ("- name: reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)\n", "1: reshape: it calls differentiable operators"),
            (EXP, "1: exp: no formula of self"),
            (EXP + "  self: grad\n" + EXP + "  self: grad\n", "3: exp: it has the formula of line 1 already"),
            (EXP + "  self: grad\n- not_differentiable: [exp]\n", "3: exp: it has the formula of line 1 already"),
            (EXP + "  self: non_differentiable\n", "1: exp: no argument is differentiable"),
            (EXP + "  self: grad\n  other: grad\n", "3: exp: no argument 'other'"),
            (EXP + "  differentiable: [true, true]\n  self: grad\n", "2: exp: differentiable: [True, True]; a bool for each of 1 returns"),
            (EXP + "  differentiable: [false]\n  self: grad\n", "2: exp: differentiable: list it under not_differentiable"),
            (EXP + "  self: grad\n  colour: red\n", "3: exp: no argument 'colour'"),
            (CLAMP + "  self: grad\n  min: grad\n  max: grad\n  other: 1\n", "5: clamp.Tensor: no argument 'other'"),
            ("- name: [exp]\n  self: grad\n", "1: name: ['exp'] is no str"),
            (MUL + "  self: grad\n  self, other: grad\n", "3: mul.Tensor: argument 'self' has two formulas"),
            (MUL + "  self, other: grad\n", "2: mul.Tensor: self, other: a Tensor? is no gradient of 2 arguments"),
            (MAX + "  differentiable: [true, false]\n  self: grads[1]\n", "3: max.dim: self: grads[1]: that return is not differentiable"),
            ("- define: f(x)\n  as: x * y\n", "2: f: no parameter 'y'"),
            ("- define: f(x)\n  as: x\n" + EXP + "  self: f(grad, grad)\n", "4: exp: self: f takes x"),
            ("- define: f\n  as: x\n", "1: define: name(parameters) and the field `as`"),
            ("- helper: back(Tensor x) -> Tensor\n", "1: helper: namespace::schema"),
            ("- not_differentiable: exp\n", "1: not_differentiable: 'exp' is no list of str"),
            ("- not_implemented: [exq]\n", "1: not_implemented: 'exq' is not in native_functions.yaml")):
        equal(made(text)[0], {}, text)
        contains(made(text)[1], f"derivatives.yaml:{said}")
    for formula, said in (
            ("grad *", "a name is wanted at 'the end'"), ("grad * $x", "no formula at '$x'"), ("(grad", "')' is wanted at 'the end'"),
            ("grad grad", "the end is wanted at 'grad'"), ("f(a=1, a=2)", "argument 'a' is there twice"), ("exp(self=grad, 1)", "an argument by name"),
            ("x = grad", "';' is wanted"), ("self = grad; self", "'self' has a value already"), ("grad * other", "no name 'other'"),
            ("frobnicate(grad)", "no operator 'frobnicate'"), ("exp_(grad)", "no operator 'exp_'"), ("c10::exp(grad)", "no operator 'c10::exp'"),
            ("exp(grad, 2)", "no exp(Tensor?, int); there are exp(Tensor self) -> Tensor"), ("exp(x=grad)", "no exp(x=Tensor?)"),
            ("grad + 'a'", "no add of Tensor and str"), ("-self.sizes", "no minus of int[]"), ("grad and true", "and of a Tensor and a bool"),
            ("grad ? grad : grad", "the condition is a Tensor"), ("grad.size", "no attribute 'size' of a Tensor"),
            ("self.sizes", "a int[] is no gradient of a Tensor"), ("grad * (1 / 0)", "div of constants: division by zero"),
            ("result1", "no name 'result1'"), ("grad * values", "no name 'values'"), ("self.colour", "no attribute 'colour' of a Tensor"),
            ("grad.reshape(self)", "no reshape(Tensor?, Tensor)"), ("sum(grad, dims=[0])", "no sum(Tensor?, dims=int[])"),
            ("sort(grad, 0)[2]", "there are 2 returns"), ("grad[0]", "no item int of a Tensor"), ("grads[1]", "grads[1]: there are 1 returns")):
        contains(made(f"{EXP}  self: {formula!r}\n")[1], f"derivatives.yaml:2: exp: self: {said}")


main()
