/* aten_torch.cc -- aten.c for PyTorch: the same commands, the same calls, boxed, through its
 * dispatcher without Python and without autograd.  aten_bench.py builds and runs it where
 * libtorch's headers are. */
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <iostream>
#include <string>

#include "aten_case.h"

namespace
{

at::Tensor make(const case_tensor &c)
{
    at::Tensor t = at::empty({c.span}, at::ScalarType(c.dtype))
                       .as_strided({c.sizes, size_t(c.ndim)}, {c.strides, size_t(c.ndim)});
    case_fill(&c, t.data_ptr());
    return t;
}

c10::IValue scalar(const case_value &c)
{
    if (c.kind == CASE_BOOL)
        return c.i != 0;
    return c.kind == CASE_DOUBLE ? c10::IValue(c.d) : c10::IValue(c.i);
}

/* As the schema's type has it: a number for a Tensor is a wrapped one, an int for a float is
 * converted. */
c10::IValue value(const case_value &c, const c10::TypePtr &declared)
{
    c10::TypePtr type = declared;
    if (c.kind == CASE_NONE)
        return c10::IValue();
    if (auto optional = type->cast<c10::OptionalType>())
        type = optional->getElementType();
    if (c.kind == CASE_TENSOR)
        return make(c.tensors[0]);
    if (c.kind == CASE_TENSORS && type->str() == "Tensor?[]") {
        c10::List<c10::optional<at::Tensor>> list;
        for (int i = 0; i < c.n; i++)
            list.push_back(make(c.tensors[i]));
        return list;
    }
    if (c.kind == CASE_TENSORS) {
        c10::List<at::Tensor> list;
        for (int i = 0; i < c.n; i++)
            list.push_back(make(c.tensors[i]));
        return list;
    }
    if (c.kind == CASE_INTS)
        return c10::IValue(std::vector<int64_t>(c.ints, c.ints + c.n));
    if (c.kind == CASE_BOOLS) {
        c10::List<bool> list;
        for (int i = 0; i < c.n; i++)
            list.push_back(c.bools[i]);
        return list;
    }
    if (type->kind() == c10::TypeKind::TensorType) {
        at::Tensor t = at::scalar_to_tensor(scalar(c).toScalar());
        t.unsafeGetTensorImpl()->set_wrapped_number(true);
        return t;
    }
    if (type->kind() == c10::TypeKind::FloatType)
        return c.kind == CASE_DOUBLE ? c.d : double(c.i);
    if (type->kind() == c10::TypeKind::ListType)
        return c10::IValue(std::vector<int64_t>{c.i});
    return scalar(c);
}

struct bench {
    c10::optional<c10::OperatorHandle> op;
    std::vector<c10::IValue> args;
};

void call(bench &b, torch::jit::Stack &stack)
{
    stack = b.args;
    b.op->callBoxed(&stack);
}

void calls(void *arg, long n)
{
    bench &b = *static_cast<bench *>(arg);
    torch::jit::Stack stack;
    for (long i = 0; i < n; i++)
        call(b, stack);
}

void fit(bench &b, const case_value *args, int n)
{
    const auto &want = b.op->schema().arguments();
    int position = 0;

    b.args.assign(want.size(), c10::IValue());
    for (size_t i = 0; i < want.size(); i++)
        if (want[i].default_value())
            b.args[i] = *want[i].default_value();
    for (int i = 0; i < n; i++) {
        c10::optional<int> at = position;
        if (args[i].name[0])
            at = b.op->schema().argumentIndexWithName(args[i].name);
        else
            position++;
        TORCH_CHECK(at && size_t(*at) < want.size(), "no argument ", args[i].name, " #", i);
        b.args[size_t(*at)] = value(args[i], want[size_t(*at)].type());
    }
}

std::string prepare(bench &b, std::string op, std::string text)
{
    static case_value args[CASE_ARGS];
    const char *bad = "";
    int n = case_read_all(&text[0], args, &bad);
    size_t dot = op.find('.');
    torch::jit::Stack stack;

    if (n < 0)
        return std::string("fails argument ") + bad + " is not understood";
    b.args.clear();
    b.op = c10::Dispatcher::singleton().findSchema(
        {op.substr(0, dot), dot == std::string::npos ? "" : op.substr(dot + 1)});
    if (!b.op)
        return "missing";
    fit(b, args, n);
    call(b, stack);
    if (stack.empty() || !stack[0].isTensor())
        return "ok 0 0";
    at::Tensor t = stack[0].toTensor();
    double bytes = double(t.nbytes());
    if (t.is_complex())
        t = at::view_as_real(t.resolve_conj());
    t = t.to(at::kDouble).contiguous();
    char line[100];
    snprintf(line, sizeof(line), "ok %.0f %.9g", bytes, case_sum(t.data_ptr<double>(), t.numel()));
    return line;
}

template <class F> void one_element(const char *name, F fn)
{
    auto loop = [](void *arg, long n) {
        for (long i = 0; i < n; i++)
            (*static_cast<F *>(arg))();
    };
    printf("%s %.1f ", name, case_turn(loop, &fn));
}

void run_small()
{
    at::Tensor x = at::ones({1}), y = at::ones({1}), out = at::empty({1});

    one_element("tensor", [&] { at::empty({1}); });
    one_element("view", [&] { x.view({1, 1}); });
    one_element("add.out", [&] { at::add_out(out, x, y); });
    one_element("add", [&] { at::add(x, y); });
    printf("growth_kib 0 rc 0\n");
}

std::string answer(bench &b, const std::string &line)
{
    size_t op = line.find(' '), rest = op == std::string::npos ? op : line.find(' ', op + 1);
    try {
        if (line.compare(0, 5, "case ") == 0)
            return prepare(b, line.substr(op + 1, rest - op - 1),
                           rest == std::string::npos ? "" : line.substr(rest + 1));
        char ns[40];
        snprintf(ns, sizeof(ns), "%.1f", case_turn(calls, &b));
        return ns;
    } catch (const std::exception &e) {
        std::string what = e.what();
        return "fails " + what.substr(0, what.find('\n'));
    }
}

} // namespace

int main(int argc, char **argv)
{
    bench b;
    std::string line;
    c10::InferenceMode kernels_only; /* no autograd layer, as we have none */

    at::set_num_threads(argc > 1 ? atoi(argv[1]) : 1);
    while (std::getline(std::cin, line)) {
        if (line == "small")
            run_small();
        else
            puts(answer(b, line).c_str());
        fflush(stdout);
    }
    return 0;
}
