#include "inference/copies.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

namespace headlight::inference {
namespace {

/// Part number `at` of a list of `parts` equal parts, `count` times.
template <typename T>
std::vector<T> repeated(const std::vector<T>& all, std::size_t at, std::size_t parts, std::uint32_t count) {
  const std::size_t size = all.size() / parts;
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(at * size);
  std::vector<T> result;
  result.reserve(size * count);
  for (std::uint32_t i = 0; i < count; ++i) result.insert(result.end(), first, first + static_cast<std::ptrdiff_t>(size));
  return result;
}

model::TokenBatch copies_of(const model::TokenBatch& tokens, std::uint32_t line, std::uint32_t count) {
  model::TokenBatch copies{.batch = count, .length = tokens.length};
  const auto repeat = [&](const auto& all) { return repeated(all, line, tokens.batch, count); };
  copies.lengths = repeat(tokens.lengths);
  copies.starts = repeat(tokens.starts);
  copies.ids = repeat(tokens.ids);
  copies.positions = repeat(tokens.positions);
  copies.types = repeat(tokens.types);
  copies.texts = repeat(tokens.texts);
  if (tokens.vectors.is_empty()) return copies;
  copies.vectors.shape = tokens.vectors.shape;
  copies.vectors.shape.front() = count;
  copies.vectors.values = repeat(tokens.vectors.values);
  return copies;
}

template <typename Paint>
attention::PaintByScope<Paint> copies_of(const attention::PaintByScope<Paint>& painted, std::uint32_t line,
                                         std::uint32_t count) {
  attention::PaintByScope<Paint> copies;
  for (const auto& [scope, cells] : painted) {
    if (!scope.batch) copies.emplace(scope, cells);
    if (scope.batch != line) continue;
    attention::PaintScope of_copy = scope;
    for (std::uint32_t copy = 0; copy < count; ++copy) {
      of_copy.batch = copy;
      copies.emplace(of_copy, cells);
    }
  }
  return copies;
}

attention::MaskSpec copies_of(attention::MaskSpec mask, std::uint32_t line, std::uint32_t count) {
  mask.painted = copies_of(mask.painted, line, count);
  mask.biases = copies_of(mask.biases, line, count);
  if (mask.matrix && mask.matrix->batch > 1) {
    attention::BooleanMask matrix = *mask.matrix;
    matrix.keep = repeated(mask.matrix->keep, line, mask.matrix->batch, 1);
    matrix.batch = 1;
    mask.matrix = std::move(matrix);
  }
  if (mask.documents) {
    attention::Documents documents;
    const auto of_line = mask.documents->find(line);
    for (std::uint32_t copy = 0; copy < count && of_line != mask.documents->end(); ++copy) {
      documents.emplace(copy, of_line->second);
    }
    mask.documents = std::move(documents);
  }
  return mask;
}

/// Appends the intervention as it is of one copy; nothing where it concerns another line.
void add_of_copy(Interventions& interventions, Intervention one, std::uint32_t line, std::uint32_t copy) {
  if (auto* replace = std::get_if<Replace>(&one.operation)) {
    if (replace->item != line) return;
    replace->item = copy;
  }
  interventions.push_back(std::move(one));
}

}  // namespace

bool can_copy(const PassInputs& pass, std::span<const Interventions> changes) {
  const auto is_of_all_items = [&](const Intervention& one) {
    return is_of_item(one) || std::holds_alternative<ReplacePattern>(one.operation);
  };
  return !pass.input.qkv && std::ranges::none_of(pass.interventions, is_of_item) &&
         std::ranges::none_of(changes,
                              [&](const Interventions& of_copy) { return std::ranges::any_of(of_copy, is_of_all_items); });
}

PassInputs copies_of(const PassInputs& pass, std::uint32_t line, std::span<const Interventions> changes) {
  const auto count = static_cast<std::uint32_t>(changes.size());
  PassInputs copies{.network = pass.network, .input = {.source = copies_of(pass.input.source, line, count)}};
  if (pass.input.target) copies.input.target = copies_of(*pass.input.target, line, count);
  for (std::size_t kind = 0; kind < copies.masks.by_kind.size(); ++kind) {
    copies.masks.by_kind[kind] = copies_of(pass.masks.by_kind[kind], line, count);
  }
  for (const Intervention& one : pass.interventions) {
    if (one.scope.item.value_or(line) != line) continue;
    const bool is_of_line = one.scope.item || std::holds_alternative<Replace>(one.operation);
    for (std::uint32_t copy = 0; copy < (is_of_line ? count : 1); ++copy) {
      Intervention of_copy = one;
      if (one.scope.item) of_copy.scope.item = copy;
      add_of_copy(copies.interventions, std::move(of_copy), line, copy);
    }
  }
  for (std::uint32_t copy = 0; copy < count; ++copy) {
    for (Intervention one : changes[copy]) {
      one.scope.item = copy;
      add_of_copy(copies.interventions, std::move(one), line, copy);
    }
  }
  return copies;
}

}  // namespace headlight::inference
