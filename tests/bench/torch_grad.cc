/* torch_grad.cc -- grad.c for PyTorch, from C++: the same calls on tensors of one element.
 * bench.py builds and runs it where PyTorch is installed. */
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

namespace
{

constexpr int CALLS = 2000, ROUNDS = 101, CHAIN = 100000, CHAIN_ROUNDS = 7;

double now_ns()
{
    std::chrono::duration<double, std::nano> d =
        std::chrono::steady_clock::now().time_since_epoch();
    return d.count();
}

double median(double *ns, int n)
{
    std::sort(ns, ns + n);
    return ns[n / 2];
}

template <class F> double median_ns(int calls, F fn)
{
    double ns[ROUNDS];
    for (double &r : ns) {
        double t0 = now_ns();
        for (int i = 0; i < calls; i++)
            fn();
        r = (now_ns() - t0) / calls;
    }
    return median(ns, ROUNDS);
}

} // namespace

int main()
{
    std::thread([] { std::this_thread::sleep_for(std::chrono::hours(1)); }).detach();
    at::set_num_threads(1);
    at::Tensor x = torch::ones({1}), k = torch::ones({1}),
               y = torch::ones({1}).requires_grad_(true);
    double plain[3], record[3];
    auto measure = [&](const at::Tensor &t, double *ns) {
        ns[0] = median_ns(CALLS, [&] { at::mul(t, k); });
        ns[1] = median_ns(CALLS, [&] { at::relu(t); });
        ns[2] = median_ns(CALLS, [&] { at::exp(t); });
    };

    measure(x, plain);
    measure(x, plain);
    measure(y, record);
    const char *names[] = {"mul", "relu", "exp"};
    std::printf("{");
    for (int i = 0; i < 3; i++)
        std::printf("\"%s_ns\": %.1f, \"record_%s_ns\": %.1f, ", names[i], plain[i], names[i],
                    record[i] - plain[i]);
    at::Tensor v = k.view({1});
    std::printf("\"view_ns\": %.1f", median_ns(CALLS, [&] { v.view({1}); }));
    std::printf(", \"step_ns\": %.1f",
                median_ns(CALLS / 10, [&] { at::mul(y, k).sum().backward(); }));
    double back[CHAIN_ROUNDS], freeing[CHAIN_ROUNDS];
    for (int r = 0; r < CHAIN_ROUNDS; r++) {
        for (int pass = 0; pass < 2; pass++) {
            at::Tensor t = y;
            for (int i = 0; i < CHAIN; i++)
                t = at::mul(t, k);
            double t0 = now_ns();
            if (pass == 0) {
                t.backward();
                back[r] = (now_ns() - t0) / CHAIN;
            } else {
                t = at::Tensor();
                freeing[r] = now_ns() - t0;
            }
        }
    }
    std::printf(", \"chain_mul_ns\": %.1f, \"chain_free_ms\": %.3f}\n", median(back, CHAIN_ROUNDS),
                median(freeing, CHAIN_ROUNDS) * 1e-6);
    std::fflush(stdout);
    std::_Exit(0); /* the sleeping thread goes with the process */
}
