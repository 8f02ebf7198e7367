// torch.cpp - the networks of the estimator in libtorch, for `corgi bench estimate`
//
// A benchmark only: built where libtorch-dev is installed, never shipped.  Prints the
// processor time of P2's answers for so many cells and of one training step, in
// milliseconds, each the median of several runs, on one thread.
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

constexpr int features = 36, batch = 384, runs = 15;

double cpu_ms()
{
    timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

template <typename Body> double median_ms(Body body)
{
    std::vector<double> times;

    body(); // the first run also allocates
    for (int i = 0; i < runs; i++) {
        double start = cpu_ms();

        body();
        times.push_back(cpu_ms() - start);
    }
    std::sort(times.begin(), times.end());
    return times[runs / 2];
}

} // namespace

int main(int argc, char **argv)
{
    int cells = argc > 1 ? std::atoi(argv[1]) : 8000;

    at::set_num_threads(1);
    torch::manual_seed(1);
    torch::nn::Sequential net(torch::nn::Linear(features, 48), torch::nn::ReLU(),
                              torch::nn::Linear(48, 32), torch::nn::ReLU(),
                              torch::nn::Linear(32, 2));
    torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(1e-4));
    auto asked = torch::randn({cells, features});
    auto x = torch::randn({batch, features}), y = torch::randn({batch, 1});

    double answer = median_ms([&] {
        torch::NoGradGuard none;

        net->forward(asked);
    });
    double step = median_ms([&] {
        auto out = net->forward(x);
        auto mean = out.narrow(1, 0, 1), width = out.narrow(1, 1, 1);
        auto loss = ((y - mean).abs() / width.exp() + width).mean();

        adam.zero_grad();
        loss.backward();
        torch::nn::utils::clip_grad_norm_(net->parameters(), 5);
        adam.step();
    });

    std::printf("{\"network_ms\": %.4f, \"train_step_ms\": %.4f}\n", answer, step);
    return 0;
}
