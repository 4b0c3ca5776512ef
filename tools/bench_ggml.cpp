// bench_ggml OPERATION TOKENS ROUNDS – times ggml's Vulkan backend on a shape of `headlight-bench --d-model 768 --heads 12`:
// random numbers, float32, causal. Prints a JSON object as `headlight-bench --format json` does; scripts/bench-others
// compiles it against a build of ggml. A result that isn't the sum in double precision ends the program. One case a process:
// with several after each other ggml has crashed on llvmpipe.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-vulkan.h"
#include "ggml.h"

namespace {

constexpr std::int64_t kWidth = 768, kHeads = 12, kHead = kWidth / kHeads;

std::mt19937 bits(1);

std::vector<float> random_numbers(std::size_t count) {
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = uniform(bits);
  return numbers;
}

/// A graph with its tensors on the backend.
class Graph {
 public:
  explicit Graph(ggml_backend_t backend) : backend_(backend) {
    const ggml_init_params parameters{
        .mem_size = ggml_tensor_overhead() * 64 + ggml_graph_overhead(), .mem_buffer = nullptr, .no_alloc = true};
    context_ = ggml_init(parameters);
  }
  ~Graph() {
    if (buffer_ != nullptr) ggml_backend_buffer_free(buffer_);
    ggml_free(context_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  ggml_context* context() const { return context_; }

  void finish(ggml_tensor* result) {
    graph_ = ggml_new_graph(context_);
    ggml_build_forward_expand(graph_, result);
    buffer_ = ggml_backend_alloc_ctx_tensors(context_, backend_);
  }
  void compute() const {
    if (ggml_backend_graph_compute(backend_, graph_) != GGML_STATUS_SUCCESS) {
      std::fprintf(stderr, "bench_ggml: the graph failed\n");
      std::exit(1);
    }
    ggml_backend_synchronize(backend_);
  }

 private:
  ggml_backend_t backend_;
  ggml_context* context_ = nullptr;
  ggml_cgraph* graph_ = nullptr;
  ggml_backend_buffer_t buffer_ = nullptr;
};

std::vector<float> fill(ggml_tensor* tensor) {
  std::vector<float> numbers = random_numbers(static_cast<std::size_t>(ggml_nelements(tensor)));
  ggml_backend_tensor_set(tensor, numbers.data(), 0, ggml_nbytes(tensor));
  return numbers;
}

/// 0 where query ≥ key, else −∞.
void fill_causal(ggml_tensor* mask, std::int64_t n) {
  std::vector<float> numbers(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n * n; ++i) {
    numbers[static_cast<std::size_t>(i)] = i % n > i / n ? -std::numeric_limits<float>::infinity() : 0.0f;
  }
  ggml_backend_tensor_set(mask, numbers.data(), 0, ggml_nbytes(mask));
}

void expect(const char* op, double found, double wanted, double most) {
  if (std::abs(found - wanted) < most) return;
  std::fprintf(stderr, "bench_ggml: %s gives %g where it must be %g\n", op, found, wanted);
  std::exit(1);
}

void report(const char* op, std::int64_t n, int rounds, const Graph& graph) {
  graph.compute();
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    graph.compute();
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  std::printf("{\"op\": \"%s\", \"n\": %d, \"wall_ms\": %.4f}\n", op, static_cast<int>(n), times[rounds / 2]);
  std::fflush(stdout);
}

/// y [n, out] = x · Wᵀ
void linear(ggml_backend_t backend, const char* op, std::int64_t n, std::int64_t out, int rounds) {
  Graph graph(backend);
  ggml_tensor* weight = ggml_new_tensor_2d(graph.context(), GGML_TYPE_F32, kWidth, out);
  ggml_tensor* x = ggml_new_tensor_2d(graph.context(), GGML_TYPE_F32, kWidth, n);
  ggml_tensor* y = ggml_mul_mat(graph.context(), weight, x);
  graph.finish(y);
  const std::vector<float> weights = fill(weight), xs = fill(x);
  report(op, n, rounds, graph);
  float last = 0.0f;
  ggml_backend_tensor_get(y, &last, ggml_nbytes(y) - sizeof(float), sizeof(float));
  double wanted = 0.0;
  for (std::size_t i = 0; i < kWidth; ++i) {
    wanted += double{xs[static_cast<std::size_t>((n - 1) * kWidth) + i]} *
              double{weights[static_cast<std::size_t>((out - 1) * kWidth) + i]};
  }
  expect(op, last, wanted, 1e-2);
}

/// Q·Kᵀ, the masked softmax, weights · V, or the three together, of all heads.
void attention(ggml_backend_t backend, const std::string& op, std::int64_t n, int rounds) {
  Graph graph(backend);
  ggml_context* context = graph.context();
  const float scale = 1.0f / std::sqrt(static_cast<float>(kHead));
  const auto make = [&](std::int64_t a, std::int64_t b) { return ggml_new_tensor_3d(context, GGML_TYPE_F32, a, b, kHeads); };
  ggml_tensor* mask = ggml_new_tensor_2d(context, GGML_TYPE_F32, n, n);
  std::vector<ggml_tensor*> inputs;
  const auto input = [&](std::int64_t a, std::int64_t b) { return inputs.emplace_back(make(a, b)); };
  ggml_tensor* result = nullptr;
  if (op == "attention_merge") {
    ggml_tensor* v = input(n, kHead);
    result = ggml_mul_mat(context, v, input(n, n));
  } else {
    ggml_tensor* scores = nullptr;
    if (op == "masked_softmax") {
      scores = input(n, n);
    } else {
      ggml_tensor* k = input(kHead, n);
      scores = ggml_mul_mat(context, k, input(kHead, n));
    }
    result = op == "attention_scores" ? scores : ggml_soft_max_ext(context, scores, mask, scale, 0.0f);
    if (op == "attention") result = ggml_mul_mat(context, input(n, kHead), result);
  }
  graph.finish(result);
  for (ggml_tensor* tensor : inputs) fill(tensor);
  fill_causal(mask, n);
  report(op.c_str(), n, rounds, graph);
  if (op != "masked_softmax") return;
  float first = 0.0f;
  ggml_backend_tensor_get(result, &first, 0, sizeof(float));
  expect(op.c_str(), first, 1.0, 1e-5);  // the first query sees one key
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "bench_ggml OPERATION TOKENS ROUNDS\n");
    return 2;
  }
  ggml_backend_t backend = ggml_backend_vk_init(0);
  if (backend == nullptr) {
    std::fprintf(stderr, "bench_ggml: ggml finds no Vulkan device\n");
    return 1;
  }
  const std::string op = argv[1];
  const std::int64_t n = std::max(1, std::atoi(argv[2]));
  const int rounds = std::max(1, std::atoi(argv[3]));
  if (op == "qkv_gemm" || op == "output_projection") {
    linear(backend, op.c_str(), n, op == "qkv_gemm" ? 3 * kWidth : kWidth, rounds);
  } else {
    attention(backend, op, n, rounds);
  }
  ggml_backend_free(backend);
  return 0;
}
