/* torch_dispatch.cc -- dispatch.c for PyTorch's dispatcher: the same operator, the same loops.
 * bench.py builds and runs it where PyTorch is installed. */
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace
{

at::Tensor first(const at::Tensor &a, const at::Tensor &)
{
    return a;
}

void first_boxed(const c10::OperatorHandle &, torch::jit::Stack *stack)
{
    at::Tensor a = (*stack)[0].toTensor();
    torch::jit::drop(*stack, 2);
    torch::jit::push(*stack, std::move(a));
}

constexpr int CALLS = 200000, ROUNDS = 31;

template <class F> double median_ns(F fn)
{
    double ns[ROUNDS];
    for (double &r : ns) {
        auto t0 = std::chrono::steady_clock::now();
        for (int i = 0; i < CALLS; i++)
            fn();
        std::chrono::duration<double, std::nano> d = std::chrono::steady_clock::now() - t0;
        r = d.count() / CALLS;
    }
    std::sort(ns, ns + ROUNDS);
    return ns[ROUNDS / 2];
}

} // namespace

TORCH_LIBRARY(bench, m)
{
    m.def("first(Tensor a, Tensor b) -> Tensor");
    m.def("boxed(Tensor a, Tensor b) -> Tensor");
}

TORCH_LIBRARY_IMPL(bench, CPU, m)
{
    m.impl("first", first);
    m.impl("boxed", torch::CppFunction::makeFromBoxedFunction<&first_boxed>());
}

int main()
{
    auto &dispatcher = c10::Dispatcher::singleton();
    auto op = dispatcher.findSchemaOrThrow("bench::first", "")
                  .typed<at::Tensor(const at::Tensor &, const at::Tensor &)>();
    auto boxed = dispatcher.findSchemaOrThrow("bench::boxed", "");
    at::Tensor a = at::zeros({4}), b = at::zeros({4});
    torch::jit::Stack stack;

    double unboxed_ns = median_ns([&] { op.call(a, b); });
    double boxed_ns = median_ns([&] {
        stack.emplace_back(a);
        stack.emplace_back(b);
        boxed.callBoxed(&stack);
        stack.clear();
    });
    double lookup_ns = median_ns([&] {
        if (!dispatcher.findSchema({"bench::first", ""}))
            std::abort();
    });
    std::printf("{\"unboxed_ns\": %.2f, \"boxed_ns\": %.2f, \"lookup_ns\": %.2f}\n", unboxed_ns,
                boxed_ns, lookup_ns);
}
