#include "inference/weight_findings.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>

#include "core/error.h"
#include "model/stored_name.h"

namespace headlight::inference {
namespace {

constexpr std::uint32_t kMagnitude = 0x7fffffffu, kInfinite = 0x7f800000u;
constexpr float kFirstInfiniteHalf = 65520.0f;  // and all above it round to ∞ as float16

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
  std::string line = fmt::format("{}: tensor {}", findings.front().file.string(), describe(findings.front()));
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
  std::uint32_t found = 0;  // in one pass that processors do several numbers at a time
  for (const float value : values) found |= (std::bit_cast<std::uint32_t>(value) & kMagnitude) >= limit ? 1u : 0u;
  OddNumbers odd;
  if (found == 0) return odd;
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

std::vector<std::string> all_weight_warnings() {
  std::vector<std::string> lines;
  const std::scoped_lock lock(known().mutex);
  for (const auto& [owner, findings] : known().owners) lines.push_back(describe(findings));
  return lines;
}

}  // namespace headlight::inference
