#include "inference/weight_findings.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/processor.h"
#include "model/stored_tensor.h"

#if HEADLIGHT_AVX2
#include <immintrin.h>
#endif

namespace headlight::inference {
namespace {

struct NotedRun {
  std::mutex mutex;
  std::string warning;
};

NotedRun& noted_run() {
  static NotedRun instance;
  return instance;
}

constexpr const char* kWhatFollows =
    "numbers grew beyond 3.4e38, the largest of float32: check weights, and gains, biases or formulas that were added; what "
    "follows from them isn't a number";

constexpr std::uint32_t kMagnitude = 0x7fffffffu, kInfinite = 0x7f800000u;
constexpr float kFirstInfiniteHalf = 65520.0f;  // and all above it round to ∞ as float16

#if HEADLIGHT_AVX2
/// Is any of the first numbers, a multiple of 16, as large?
HEADLIGHT_AVX2_TARGET bool has_magnitudes_from_avx2(std::span<const float> values, std::uint32_t limit) {
  const __m256i magnitude = _mm256_set1_epi32(static_cast<int>(kMagnitude));
  const __m256i below = _mm256_set1_epi32(static_cast<int>(limit - 1));  // magnitudes are positive as signed numbers
  __m256i even = _mm256_setzero_si256(), odd = _mm256_setzero_si256();
  for (std::size_t i = 0; i < values.size(); i += 16) {
    const auto* at = reinterpret_cast<const __m256i*>(values.data() + i);
    even = _mm256_or_si256(even, _mm256_cmpgt_epi32(_mm256_and_si256(_mm256_loadu_si256(at), magnitude), below));
    odd = _mm256_or_si256(odd, _mm256_cmpgt_epi32(_mm256_and_si256(_mm256_loadu_si256(at + 1), magnitude), below));
  }
  return _mm256_testz_si256(_mm256_or_si256(even, odd), _mm256_or_si256(even, odd)) == 0;
}
/// Is any of the first words, a multiple of 16, without its sign `limit` or more?
HEADLIGHT_AVX2_TARGET bool has_words_from_avx2(std::span<const std::uint16_t> words, std::uint16_t limit) {
  const __m256i magnitude = _mm256_set1_epi16(0x7fff), below = _mm256_set1_epi16(static_cast<short>(limit - 1));
  __m256i found = _mm256_setzero_si256();
  for (std::size_t i = 0; i < words.size(); i += 16) {
    const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words.data() + i));
    found = _mm256_or_si256(found, _mm256_cmpgt_epi16(_mm256_and_si256(some, magnitude), below));
  }
  return _mm256_testz_si256(found, found) == 0;
}
#endif

/// Is any number's |x|, as bits, `limit` or more? All weights pass through here while they are loaded.
bool has_magnitudes_from(std::span<const float> values, std::uint32_t limit) {
  std::size_t done = 0;
#if HEADLIGHT_AVX2
  if (has_avx2()) {
    done = values.size() / 16 * 16;
    if (has_magnitudes_from_avx2(values.first(done), limit)) return true;
  }
#endif
  return std::ranges::any_of(values.subspan(done),
                             [limit](float value) { return (std::bit_cast<std::uint32_t>(value) & kMagnitude) >= limit; });
}

struct Known {
  std::mutex mutex;
  std::vector<std::pair<const void*, std::vector<WeightFinding>>> owners;  ///< in the order of upload
};

Known& known() {
  static Known instance;
  return instance;
}

void append(const void* owner, std::vector<WeightFinding>& findings) {
  for (const auto& [other, found] : known().owners) {
    if (other == owner) findings.insert(findings.end(), found.begin(), found.end());
  }
}

std::string describe(const WeightFinding& finding) {
  return fmt::format("'{}' holds {}", finding.tensor,
                     finding.not_finite > 0 ? "NaN or infinite numbers" : "numbers beyond 65504, infinite as float16");
}

std::string describe(const std::vector<WeightFinding>& findings) {
  if (findings.empty()) return {};
  std::string line = fmt::format("{}: tensor {}", utf8(findings.front().file), describe(findings.front()));
  if (findings.size() > 1)
    line += fmt::format(", and {} other{} such", findings.size() - 1, findings.size() == 2 ? " is" : "s are");
  const bool only_overflow =
      std::ranges::all_of(findings, [](const WeightFinding& finding) { return finding.not_finite == 0; });
  line += only_overflow ? "; keep weights in float32" : "; the weights are damaged or badly trained";
  return line + ": what follows from them isn't a number";
}

}  // namespace

OddNumbers count_odd_numbers(std::span<const float> values, bool has_halves) {
  const std::uint32_t limit = has_halves ? std::bit_cast<std::uint32_t>(kFirstInfiniteHalf) : kInfinite;
  OddNumbers odd;
  if (!has_magnitudes_from(values, limit)) return odd;
  for (const float value : values) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(value) & kMagnitude;
    if (magnitude >= kInfinite) {
      ++odd.not_finite;
    } else if (magnitude >= limit) {
      ++odd.overflowing;
    }
  }
  return odd;
}

std::uint64_t count_odd_words(std::span<const std::uint16_t> words, model::ElementType type) {
  const std::uint16_t infinite = type == model::ElementType::F16 ? 0x7c00 : 0x7f80;
  const auto is_odd = [infinite](std::uint16_t word) { return (word & 0x7fffU) >= infinite; };
  std::size_t done = 0;
#if HEADLIGHT_AVX2
  if (has_avx2()) {
    done = words.size() / 16 * 16;
    if (has_words_from_avx2(words.first(done), infinite)) done = 0;
  }
#endif
  return static_cast<std::uint64_t>(std::ranges::count_if(words.subspan(done), is_odd));
}

std::uint64_t count_odd_blocks(std::span<const std::byte> blocks, model::ElementType type) {
  using enum model::ElementType;
  const std::size_t bytes = model::block_bytes(type), numbers = model::block_numbers(type);
  const auto is_finite_half = [](const std::byte* at) { return (std::to_integer<unsigned>(at[1]) & 0x7cU) != 0x7cU; };
  // A product of a finite float16 and of the codes of a scale and a number is finite in float32.
  const auto is_finite = [&](const std::byte* block) {
    if (type == Q8_0 || type == Q4_0) return is_finite_half(block);
    if (type == Q4_K || type == Q5_K) return is_finite_half(block) && is_finite_half(block + 2);
    if (type == Q6_K) return is_finite_half(block + bytes - 2);
    constexpr unsigned kLargePower = 252;  // of an exponent: times 12, the largest number, it is beyond float32
    return type == MXFP4 && std::to_integer<unsigned>(block[0]) < kLargePower;
  };
  std::uint64_t odd = 0;
  std::vector<float> decoded(numbers);
  for (std::size_t at = 0; at + bytes <= blocks.size(); at += bytes) {
    if (is_finite(blocks.data() + at)) continue;
    model::decode(type, blocks.data() + at, numbers, decoded.data());
    odd += count_odd_numbers(decoded, false).not_finite;
  }
  return odd;
}

void WeightInspection::look(const model::Parameter& weight, std::span<const float> values, bool has_halves) {
  const OddNumbers odd = count_odd_numbers(values, has_halves);
  note(weight, odd.not_finite, odd.overflowing);
}

void WeightInspection::note(const model::Parameter& weight, std::uint64_t not_finite, std::uint64_t overflowing) {
  if (not_finite == 0 && overflowing == 0) return;
  model::StoredName name = model::stored_name(weight.address());
  const auto same = std::ranges::find_if(findings_, [&](const WeightFinding& other) {
    return !name.tensor.empty() && other.tensor == name.tensor && other.file == name.file;
  });
  if (same != findings_.end()) {  // another part of a fused weight
    same->not_finite += not_finite;
    same->overflowing += overflowing;
    return;
  }
  findings_.push_back({std::move(name.tensor), std::move(name.file), not_finite, overflowing});
}

void WeightInspection::publish() {
  const std::scoped_lock lock(known().mutex);
  std::erase_if(known().owners, [&](const auto& entry) { return entry.first == owner_; });
  if (!findings_.empty()) known().owners.emplace_back(owner_, findings_);
}

std::vector<WeightFinding> weight_findings(const model::Network& network) {
  std::vector<WeightFinding> findings;
  const std::scoped_lock lock(known().mutex);
  append(network.layers.get(), findings);
  const auto append_embedding = [&](const model::Embedding* embedding) {
    if (embedding == nullptr) return;
    append(embedding, findings);
    append(&embedding->positions, findings);
  };
  append_embedding(network.source_embedding.get());
  if (network.target_embedding != network.source_embedding) append_embedding(network.target_embedding.get());
  return findings;
}

std::string weight_warning(const model::Network& network) { return describe(weight_findings(network)); }

void forget_weight_findings() {
  const std::scoped_lock lock(known().mutex);
  known().owners.clear();
}

std::vector<std::string> all_weight_warnings() {
  std::vector<std::string> lines;
  const std::scoped_lock lock(known().mutex);
  for (const auto& [owner, findings] : known().owners) lines.push_back(describe(findings));
  return lines;
}

std::string run_warning(const RunFindings& findings) {
  if (findings.rows > 0) {
    return fmt::format("{} of {} rows of attention have scores that aren't finite, the first in {} layer {}; {}",
                       findings.rows, findings.all_rows, to_string(findings.first_block.kind),
                       findings.first_block.layer.value, kWhatFollows);
  }
  if (findings.last_state == 0) return {};
  return fmt::format("{} numbers of the last layer's output are NaN or infinite; {}", findings.last_state, kWhatFollows);
}

void note_run_warning(const std::string& warning) {
  const std::scoped_lock lock(noted_run().mutex);
  if (noted_run().warning.empty()) noted_run().warning = warning;
}

std::string noted_run_warning() {
  const std::scoped_lock lock(noted_run().mutex);
  return noted_run().warning;
}

void forget_run_warning() {
  const std::scoped_lock lock(noted_run().mutex);
  noted_run().warning.clear();
}

}  // namespace headlight::inference
