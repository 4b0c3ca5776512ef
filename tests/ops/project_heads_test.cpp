#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "ops/linear.h"
#include "support/deviation.h"
#include "support/gpu_tensors.h"
#include "support/random.h"

namespace project_heads_test {

using namespace headlight;
using namespace headlight::ops;

namespace {

constexpr std::array kKinds{LinearKernel::Naive,   LinearKernel::Vec4,         LinearKernel::Vec4Texel, LinearKernel::Tiled,
                            LinearKernel::Shuffle, LinearKernel::ShuffleTexel, LinearKernel::Host};

struct Sizes {
  std::uint32_t items, tokens, d_model, heads, d_k, d_v;
  bool has_bias;
  float clip = 0.0f;
};

/// One projection with rows [head][d].
struct Projection {
  Tensor weight, bias;
  std::uint32_t heads, d;
  double clip;

  Projection(test::Random& random, std::uint32_t of_heads, std::uint32_t of_d, const Sizes& sizes)
      : weight(random.tensor({of_heads * of_d, sizes.d_model})),
        heads(of_heads),
        d(of_d),
        clip(static_cast<double>(sizes.clip)) {
    if (sizes.has_bias) bias = random.tensor({of_heads * of_d});
  }

  LinearSource source() const {
    return {.weight = weight.values, .bias = bias.values, .out = heads * d, .in = weight.axis(1), .out_heads = heads};
  }

  /// [item, head, token, d]
  std::vector<double> of(const Tensor& x) const {
    std::vector<double> y;
    const std::uint32_t tokens = x.axis(2), in = weight.axis(1);
    for (std::uint32_t item = 0; item < x.axis(0); ++item) {
      for (std::uint32_t row = 0; row < heads * d; row += d) {
        for (std::uint32_t token = 0; token < tokens; ++token) {
          for (std::uint32_t r = row; r < row + d; ++r) {
            double sum = bias.is_empty() ? 0.0 : static_cast<double>(bias.values[r]);
            for (std::uint32_t i = 0; i < in; ++i) {
              sum += static_cast<double>(x.values[(std::size_t{item} * tokens + token) * in + i]) *
                     static_cast<double>(weight.values[std::size_t{r} * in + i]);
            }
            y.push_back(clip > 0.0 ? std::clamp(sum, -clip, clip) : sum);
          }
        }
      }
    }
    return y;
  }
};

void check(const DeviceTensor& tensor, std::span<const float> padded, const std::vector<double>& expected) {
  const test::Taken taken = test::take(tensor, padded);
  const test::Deviation deviation = test::deviation(taken.values.values, expected);
  CHECK(deviation.nmse < 1e-12);    // observed 2.2e-14
  CHECK(deviation.max_abs < 1e-5);  // observed 4.0e-6
  CHECK(taken.is_padding_zero);
}

/// Self-attention's three at once, and cross-attention's queries from one input, keys and values from another.
void check_projections(Kernels& kernels, const Sizes& sizes) {
  test::Random random(sizes.d_model * 31 + sizes.heads);
  const Projection query(random, sizes.heads, sizes.d_k, sizes), key(random, sizes.heads, sizes.d_k, sizes),
      value(random, sizes.heads, sizes.d_v, sizes);
  const Tensor x = random.tensor({sizes.items, 1, sizes.tokens, sizes.d_model});
  const Tensor memory = random.tensor({sizes.items, 1, sizes.tokens + 3, sizes.d_model});
  const std::array sources{query.source(), key.source(), value.source()};
  const PackedLinear packed = pack(kernels.context(), sources, "a test");
  for (const LinearKernel kind : kKinds) {
    INFO(to_string(kind), ", [", sizes.items, ", ", sizes.tokens, ", ", sizes.d_model, "] → ", sizes.heads, " heads of ",
         sizes.d_k, " and ", sizes.d_v);
    kernels.set_tuning({.few_rows = kind, .many_rows = kind});
    gpu::Stream stream(kernels.context());
    const DeviceTensor x_device = test::put(stream, x), memory_device = test::put(stream, memory);
    const auto make = [&](std::uint32_t tokens, std::uint32_t d) {
      return DeviceTensor(stream, sizes.items, sizes.heads, tokens, d, "a test");
    };
    const std::uint32_t more = sizes.tokens + 3;
    const DeviceTensor q = make(sizes.tokens, sizes.d_k), k = make(sizes.tokens, sizes.d_k),
                       v = make(sizes.tokens, sizes.d_v);
    const DeviceTensor q_alone = make(sizes.tokens, sizes.d_k), k_memory = make(more, sizes.d_k),
                       v_memory = make(more, sizes.d_v);
    project_heads(stream, kernels, x_device, packed, &q, &k, &v, {}, sizes.clip);
    project_heads(stream, kernels, x_device, packed, &q_alone, nullptr, nullptr, {}, sizes.clip);
    project_heads(stream, kernels, memory_device, packed, nullptr, &k_memory, &v_memory, {}, sizes.clip);
    std::vector<gpu::Download> downloads;
    const std::array all{&q, &k, &v, &q_alone, &k_memory, &v_memory};
    for (const DeviceTensor* tensor : all) downloads.push_back(stream.download(tensor->buffer()));
    gpu::Submission submission = std::move(stream).submit();
    submission.wait();
    const std::array expected{query.of(x), key.of(x), value.of(x), query.of(x), key.of(memory), value.of(memory)};
    for (std::size_t i = 0; i < all.size(); ++i) check(*all[i], submission.values<float>(downloads[i]), expected[i]);
  }
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "project_heads: d_k ≠ d_v, widths that fill no vec4, heads across tiles of 64 columns") {
    for (const Sizes& sizes :
         {Sizes{1, 1, 1, 1, 1, 1, true}, Sizes{1, 8, 2, 1, 3, 4, false}, Sizes{2, 5, 8, 4, 2, 2, true},
          Sizes{1, 7, 16, 3, 5, 2, true}, Sizes{2, 3, 12, 2, 33, 65, false}, Sizes{1, 9, 33, 5, 13, 27, true},
          Sizes{3, 2, 9, 64, 1, 3, true}, Sizes{2, 5, 8, 4, 3, 2, true, 0.5f}, Sizes{1, 65, 20, 12, 16, 16, false}}) {
      check_projections(test::shared_kernels(), sizes);
    }
  }

  TEST_CASE("project_heads: slices of a device with small bindings") {
    test::WatchedContext context({.max_storage_range = 65'536, .max_texel_elements = 4'096});
    Kernels kernels(context);
    check_projections(kernels, {4, 20, 64, 12, 24, 17, true});  // three sections of 5, 5 and 4 tiles, four fit a binding
  }
}

}  // namespace project_heads_test
