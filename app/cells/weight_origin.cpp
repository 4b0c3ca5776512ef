#include "app/cells/weight_origin.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/stored_name.h"

namespace headlight::app {
namespace {

/// "columns 64–127", "row 5", "rows 0, 2, 4, … (32, rearranged)".
std::string part_text(const model::StoredRows& stored) {
  const std::size_t count = stored.rows.size();
  const std::string axis = stored.shape.size() < 2 ? "number" : stored.is_transposed ? "column" : "row";
  if (count == 0) return {};
  if (count == 1) return fmt::format("{} {}", axis, stored.rows.front());
  const auto is_next = [](std::uint32_t row, std::uint32_t after) { return after == row + 1; };
  const bool is_run = std::ranges::adjacent_find(stored.rows, [&](std::uint32_t row, std::uint32_t after) {
                        return !is_next(row, after);
                      }) == stored.rows.end();
  if (is_run) return fmt::format("{}s {}\u2013{}", axis, stored.rows.front(), stored.rows.back());
  return fmt::format("{}s {}, {}, \u2026 {} ({}, in another order)", axis, stored.rows[0], stored.rows[1],
                     stored.rows.back(), count);
}

}  // namespace

std::string weight_origin(const EngineResult& result, const model::Parameter& weight, std::uint32_t first,
                          std::uint32_t count) {
  const model::StoredRows stored = model::stored_rows(weight, first, count);
  if (!stored.name.tensor.empty()) {
    return fmt::format("{} {} {}, {}, {}", stored.name.tensor, headlight::to_string(stored.shape), stored.type,
                       part_text(stored), stored.name.file.filename().string());
  }
  if (!stored.name.file.empty()) return fmt::format("{}, which has changed since it was opened", stored.name.file.string());
  if (!result.inputs) return "given";
  return match(
      result.inputs->source,
      [&](const Playground& playground) {
        return fmt::format("drawn with seed {}, as PyTorch draws it; {} {} of {}", playground.settings.seed,
                           weight.shape().size() < 2 ? "numbers" : "rows",
                           count == 1 ? fmt::format("{}", first) : fmt::format("{}\u2013{}", first, first + count - 1),
                           headlight::to_string(weight.shape()));
      },
      [](const Notebook& notebook) {
        const std::vector<std::string> changes = inference::words_of(notebook.edits);
        return fmt::format("made as {} makes it{}{}", notebook.name,
                           changes.empty() ? "" : "; changed: ", fmt::join(changes, " \u00B7 "));
      },
      [](const Model&) { return std::string("computed when the model was opened, from its settings"); },
      [](const Capture& capture) { return fmt::format("read from {}", capture.path); });
}

std::string precision_text(const EngineResult& result, const model::Parameter* weight) {
  const bool is_half = result.inputs && precision_of(result.inputs->source) == inference::Precision::F16;
  const std::string kept = fmt::format("kept as {} on the device", is_half ? "float16" : "float32");
  std::string arithmetic = "arithmetic and sums in float32";
  if (weight == nullptr || weight->is_empty()) return arithmetic;
  return fmt::format("weights are stored as {}, {}; {}", to_string(weight->type()), kept, arithmetic);
}

}  // namespace headlight::app
