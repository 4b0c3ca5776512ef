// Kernels beside linear layers and attention against loops in double precision.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "app/checks/checker.h"
#include "attention/dropout.h"
#include "model/quantised_blocks.h"
#include "ops/cells.h"
#include "ops/distance_scores.h"
#include "ops/edit_head.h"
#include "ops/experts.h"
#include "ops/norm.h"
#include "ops/odd_numbers.h"
#include "ops/rotate.h"

namespace headlight::checks {
namespace {

using Wanted = std::vector<double>;

constexpr std::uint32_t kHeads = 3, kTokens = 9, kWidth = 67;

void compare(Checker& check, const std::string& name, const Checker::Record& record, const Wanted& wanted) {
  check.step(name, [&] { check.expect(check.run(record), {wanted}); });
}

Wanted widened(const Tensor& tensor) { return {tensor.values.begin(), tensor.values.end()}; }

std::span<const std::uint32_t> bits_of(const std::vector<float>& values) {
  return {reinterpret_cast<const std::uint32_t*>(values.data()), values.size()};
}

void check_norms(Checker& check) {
  const Tensor x = random_tensor({2, kHeads, kTokens, kWidth}, 1), weight = random_tensor({kWidth}, 2),
               bias = random_tensor({kWidth}, 3);
  Wanted wanted = widened(x);
  for (std::size_t at = 0; at < wanted.size(); at += kWidth) {
    double mean = 0.0, variance = 0.0;
    for (std::size_t i = 0; i < kWidth; ++i) mean += wanted[at + i] / kWidth;
    for (std::size_t i = 0; i < kWidth; ++i) variance += (wanted[at + i] - mean) * (wanted[at + i] - mean) / kWidth;
    for (std::size_t i = 0; i < kWidth; ++i) {
      wanted[at + i] = (wanted[at + i] - mean) / std::sqrt(variance + 1e-5) * static_cast<double>(weight.values[i]) +
                       static_cast<double>(bias.values[i]);
    }
  }
  for (const bool texel : {false, true}) {
    for (const bool is_wide : {false, true}) {
      const auto record = [&](CheckStream& one) {
        check.kernels().set_tuning({.texel_reads = texel});
        const ops::DeviceTensor& result = one.make(x.shape);
        const ops::DeviceNorm& norm = one.keep(ops::upload_norm(check.context(), weight.values, bias.values, 1e-5F));
        ops::norm(one.stream, check.kernels(), one.put(x), norm, result, {.is_wide = is_wide});
        one.take(result);
      };
      compare(check, fmt::format("norm{}{}", is_wide ? ", wide" : "", texel ? ", texels" : ""), record, wanted);
    }
  }
}

void check_rotation(Checker& check) {
  constexpr std::uint32_t kPairs = 10;
  const Tensor x = random_tensor({1, kHeads, kTokens, 2 * kPairs}, 4);
  std::vector<float> angles;
  std::vector<std::uint32_t> positions;
  for (std::uint32_t i = 0; i < kTokens; ++i) positions.push_back(i);
  Wanted wanted = widened(x);
  for (std::size_t token = 0; token < kTokens; ++token) {
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
      const double angle = static_cast<double>(token) * std::pow(100.0, -static_cast<double>(pair) / kPairs);
      const auto cosine = static_cast<float>(std::cos(angle)), sine = static_cast<float>(std::sin(angle));
      angles.insert(angles.end(), {cosine, sine});
      for (std::size_t head = 0; head < kHeads; ++head) {
        double& a = wanted[(head * kTokens + token) * 2 * kPairs + pair];
        double& b = (&a)[kPairs];
        const double was = a;
        a = was * static_cast<double>(cosine) - b * static_cast<double>(sine);
        b = b * static_cast<double>(cosine) + was * static_cast<double>(sine);
      }
    }
  }
  const auto record = [&](CheckStream& one) {
    const ops::DeviceTensor& tensor = one.put(x);
    ops::rotate(
        one.stream, check.kernels(), tensor,
        {.angles = one.words(bits_of(angles)), .positions = one.words(positions), .tokens = kTokens, .pairs = kPairs},
        tensor.all());
    one.take(tensor);
  };
  compare(check, "rotation", record, wanted);
}

/// Changes of one head, in place, and sums of two tensors.
void check_edits(Checker& check) {
  constexpr std::size_t kHead = 1, kNumbers = std::size_t{kTokens} * kWidth;
  const Tensor x = random_tensor({1, kHeads, kTokens, kWidth}, 5);
  std::vector<float> vector = random_tensor({kWidth}, 6).values;
  vector.push_back(0.0F);  // padding
  const std::array<std::uint32_t, 2> ranges{0, kTokens};
  using Edit = std::function<void(CheckStream&, const ops::HeadSlot&, ops::Rows)>;
  using Change = std::function<double(double number, std::size_t token, std::size_t column)>;
  const auto edit = [&](const std::string& name, const Edit& run, const Change& change) {
    Wanted wanted = widened(x);
    for (std::size_t i = 0; i < kNumbers; ++i) {
      double& number = wanted[kHead * kNumbers + i];
      number = change(number, i / kWidth, i % kWidth);
    }
    compare(
        check, name,
        [&](CheckStream& one) {
          const ops::DeviceTensor& tensor = one.put(x);
          run(one, ops::head_slot(tensor, kHead), tensor.all());
          one.take(tensor);
        },
        wanted);
  };
  ops::Kernels& kernels = check.kernels();
  edit(
      "scaled head",
      [&](CheckStream& one, const ops::HeadSlot& slot, ops::Rows rows) {
        ops::scale_head(one.stream, kernels, slot, -0.75F, rows);
      },
      [](double number, std::size_t, std::size_t) { return -0.75 * number; });
  edit(
      "vector added to a head",
      [&](CheckStream& one, const ops::HeadSlot& slot, ops::Rows rows) {
        ops::add_to_head(one.stream, kernels, slot, one.words(bits_of(vector)), rows);
      },
      [&](double number, std::size_t, std::size_t column) { return number + static_cast<double>(vector[column]); });
  Wanted means(kWidth, 0.0);
  for (std::size_t i = 0; i < kNumbers; ++i) {
    means[i % kWidth] += static_cast<double>(x.values[kHead * kNumbers + i]) / kTokens;
  }
  edit(
      "mean of a head",
      [&](CheckStream& one, const ops::HeadSlot& slot, ops::Rows) {
        ops::average_head(one.stream, kernels, slot, one.words(ranges));
      },
      [&](double, std::size_t, std::size_t column) { return means[column]; });
  edit(
      "replaced head",
      [&](CheckStream& one, const ops::HeadSlot& slot, ops::Rows) {
        ops::replace_in_head(one.stream, kernels, slot, 0, one.words(bits_of(vector)), {4, 1});
      },
      [&](double number, std::size_t token, std::size_t column) {
        return token == 4 ? static_cast<double>(vector[column]) : number;
      });
  const attention::DropoutPlan plan = attention::dropout_plan(0.4F, 7, model::Site::HeadOutput, {});
  edit(
      "dropout of a head",
      [&](CheckStream& one, const ops::HeadSlot& slot, ops::Rows rows) {
        ops::drop_from_head(one.stream, kernels, slot,
                            {.key = plan.key, .threshold = plan.threshold, .factor = plan.factor, .head = kHead}, rows);
      },
      [&](double number, std::size_t token, std::size_t column) {
        return number * static_cast<double>(
                            plan.factor_of(0, kHead, static_cast<std::uint32_t>(token), static_cast<std::uint32_t>(column)));
      });
  const Tensor rows = random_tensor({1, 1, kTokens, kWidth}, 13);
  Wanted sum = widened(rows);
  for (double& number : sum) number *= 1.5;
  compare(
      check, "sum",
      [&](CheckStream& one) {
        const ops::DeviceTensor &tensor = one.put(rows), &result = one.make(rows.shape);
        ops::add_rows(one.stream, kernels, tensor, tensor, result, tensor.all(), 0.5F);
        one.take(result);
      },
      sum);
}

void check_reading(Checker& check) {
  ops::Kernels& kernels = check.kernels();
  const Tensor x = random_tensor({1, 1, 70, kWidth}, 7), table = random_tensor({1, 1, 5, kWidth}, 8);
  Wanted pairs, products;
  for (const float value : x.values) pairs.insert(pairs.end(), {static_cast<double>(value), 0.0});
  compare(
      check, "region of a matrix",
      [&](CheckStream& one) {
        const gpu::Buffer& cells =
            one.keep(gpu::Buffer(check.context(), x.values.size() * ops::kCellBytes, gpu::Memory::Device, "a check"));
        ops::matrix_cells(one.stream, kernels, one.put(x), 0,
                          {.base = 0, .row_stride = 68, .slot_width = kWidth, .slot_stride = 68}, {0, 70, 0, kWidth, 1},
                          cells, 0);
        one.take(cells);
      },
      pairs);
  for (std::size_t row = 0; row < 70; ++row) {
    for (std::size_t column = 0; column < 5; ++column) {
      double sum = 0.0;
      for (std::size_t i = 0; i < kWidth; ++i) {
        sum += static_cast<double>(x.values[row * kWidth + i]) * static_cast<double>(table.values[column * kWidth + i]);
      }
      products.push_back(sum);
    }
  }
  compare(
      check, "distances",
      [&](CheckStream& one) {
        const gpu::Buffer& words = one.words(std::vector<std::uint32_t>(products.size()));
        ops::distance_scores(one.stream, kernels, one.put(x), one.put(table), 70, words, 0);
        one.take(words);
      },
      products);
  std::vector<float> odd(300, 1.0F);
  odd[3] = odd[298] = std::numeric_limits<float>::quiet_NaN();
  odd[77] = std::numeric_limits<float>::infinity();
  compare(check, "count of what is no number",
          [&](CheckStream& one) {
            const std::vector<ops::NumberRows> parts{
                {.numbers = one.words(bits_of(odd)), .rows = 3, .stride = 100, .count = 100}};
            const gpu::Buffer& counts = one.words(std::array<std::uint32_t, 1>{});
            ops::count_odd_numbers(one.stream, kernels, parts, counts);
            one.take(counts);
          },
          {static_cast<double>(std::bit_cast<float>(3U))});
}

/// Checks a layer of three rows whose weight is random codes. The first `scales` bytes of a block, or the last, hold its
/// scales as float16; a single one is an exponent.
template <typename Block>
void check_blocks(Checker& check, const char* name, ops::WeightType type, std::size_t scales, bool scales_are_last = false) {
  constexpr std::uint32_t kIn = 256, kOut = 65, kBlocks = kIn / Block::kNumbers * kOut;
  std::vector<Block> blocks(kBlocks);
  const Tensor noise = random_tensor({static_cast<std::uint32_t>(kBlocks * sizeof(Block))}, 9),
               x = random_tensor({1, 1, 3, kIn}, 10);
  auto* bytes = reinterpret_cast<std::uint8_t*>(blocks.data());
  for (std::size_t i = 0; i < noise.values.size(); ++i) {
    const std::size_t at = i % sizeof(Block), from = scales_are_last ? sizeof(Block) - scales : 0;
    bytes[i] = static_cast<std::uint8_t>(static_cast<int>(noise.values[i] * 128.0F));
    if (at >= from && at < from + scales) bytes[i] = (at - from) % 2 == 0 ? bytes[i] : 0x20;  // some hundredth
    if (scales == 1 && at == 0) bytes[i] = 120;                                               // a power of two
  }
  Wanted wanted(std::size_t{3} * kOut, 0.0);
  std::array<float, Block::kNumbers> numbers{};
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks[i].expand(numbers.data());
    const std::size_t out = i * Block::kNumbers / kIn, first = i * Block::kNumbers % kIn;
    for (std::size_t at = 0; at < 3 * Block::kNumbers; ++at) {
      const std::size_t row = at / Block::kNumbers, number = at % Block::kNumbers;
      wanted[row * kOut + out] +=
          static_cast<double>(numbers.at(number)) * static_cast<double>(x.values[row * kIn + first + number]);
    }
  }
  compare(
      check, name,
      [&](CheckStream& one) {
        const std::size_t row_bytes = kIn / Block::kNumbers * sizeof(Block);
        const ops::LinearSource source{
            .out = kOut,
            .in = kIn,
            .type = type,
            .read = [](std::uint32_t, std::uint32_t, float*, std::size_t) {},  // never called
            .read_blocks = [&](std::uint32_t first, std::uint32_t count,
                               std::byte* to) { std::memcpy(to, bytes + first * row_bytes, count * row_bytes); }};
        const ops::PackedLinear& packed = one.keep(ops::pack(check.context(), {&source, 1}, "a check"));
        const ops::DeviceTensor& y = one.make({1, 1, 3, kOut});
        check.kernels().set_tuning({.few_rows = ops::LinearKernel::Naive, .many_rows = ops::LinearKernel::Naive});
        ops::linear(one.stream, check.kernels(), one.put(x), packed, y);
        one.take(y);
      },
      wanted);
}

/// Checks the gates of two of three experts, and the sum of their results.
void check_experts(Checker& check) {
  constexpr std::uint32_t kCount = 3, kChosen = 2;
  const Tensor logits = random_tensor({1, 1, kTokens, kCount}, 11),
               results = random_tensor({1, 1, kTokens * kChosen, kWidth}, 12);
  Wanted wanted;
  for (std::size_t token = 0; token < kTokens; ++token) {
    std::array<std::pair<double, std::size_t>, kCount> order{};
    double sum = 0.0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto logit = static_cast<double>(logits.values[token * kCount + i]);
      order.at(i) = {-logit, i};
      sum += std::exp(logit);
    }
    std::ranges::sort(order);
    for (std::size_t i = 0; i < kWidth; ++i) {
      double number = 0.0;
      for (std::size_t slot = 0; slot < kChosen; ++slot) {
        number += std::exp(-order.at(slot).first) / sum *
                  static_cast<double>(results.values[(token * kChosen + slot) * kWidth + i]);
      }
      wanted.push_back(number);
    }
  }
  compare(
      check, "sum of experts",
      [&](CheckStream& one) {
        const ops::ExpertCounts counts{.experts = kCount, .per_token = kChosen};
        const ops::ExpertRows rows{.first_item = 0, .items = 1, .tokens = {0, kTokens}};
        const ops::DeviceTensor &gates = one.make(logits.shape), &y = one.make({1, 1, kTokens, kWidth});
        const gpu::Buffer& routing = one.words(std::vector<std::uint32_t>(ops::routing_numbers(counts, kTokens * kChosen)));
        ops::route(one.stream, check.kernels(), one.put(logits), counts, rows, gates, routing);
        ops::sum_experts(one.stream, check.kernels(), one.put(results), rows, counts, routing, {}, y);
        one.take(y);
      },
      wanted);
}

}  // namespace

void check_small_kernels(Checker& check) {
  check.kernels().set_tuning({});
  check_norms(check);
  check.kernels().set_tuning({});
  check_rotation(check);
  check_edits(check);
  check_reading(check);
  check_experts(check);
  check_blocks<model::BlockQ8_0>(check, "blocks of Q8_0", ops::WeightType::Q8_0, 2);
  check_blocks<model::BlockQ4_0>(check, "blocks of Q4_0", ops::WeightType::Q4_0, 2);
  check_blocks<model::BlockQ4_K>(check, "blocks of Q4_K", ops::WeightType::Q4_K, 4);
  check_blocks<model::BlockQ5_K>(check, "blocks of Q5_K", ops::WeightType::Q5_K, 4);
  check_blocks<model::BlockQ6_K>(check, "blocks of Q6_K", ops::WeightType::Q6_K, 2, true);
  check_blocks<model::BlockMXFP4>(check, "blocks of MXFP4", ops::WeightType::MXFP4, 1);
  check.tell_tally("norms, rotation, edits, experts, blocks", "operations");
}

}  // namespace headlight::checks
