#pragma once

#include <cstddef>
#include <span>

#include <nlohmann/json_fwd.hpp>

#include "attention/mask.h"
#include "inference/playground.h"

namespace headlight::app {

/// A part of a mask besides its rule and fill: matrix, paint, biases, documents, expressions.
struct MaskPart {
  const char* key;         ///< in files: "painted"
  const char* name;        ///< "painted cells"
  const char* short_name;  ///< where it hides cells: "paint"; else empty
  const char* change;      ///< in lists of changes: "documents apart"; for painted parts the noun that is counted: "cell"
  const char* removal;     ///< in lists of changes, where it is gone: "paint removed"
  const char *undo_change, *undo_removal;

  bool is_typed = false;  ///< changes of it while it is typed are one step of undo
  bool (*is_set)(const attention::MaskSpec& mask) = nullptr;
  bool (*are_equal)(const attention::MaskSpec& left, const attention::MaskSpec& right) = nullptr;
  void (*copy)(const attention::MaskSpec& from, attention::MaskSpec& to) = nullptr;
  /// Returns how many cells are painted in which scope; null: the part isn't painted.
  std::map<attention::PaintScope, std::size_t> (*painted)(const attention::MaskSpec& mask) = nullptr;
  nlohmann::json (*write)(const attention::MaskSpec& mask) = nullptr;
  void (*read)(const nlohmann::json& value, const std::string& path, attention::MaskSpec& mask) = nullptr;
};
/// Returns the parts in the order in which they are written and named.
std::span<const MaskPart> mask_parts();

/// Returns {"rule": "causal+window:4", "key_padding": true, "fill": "-inf", "painted": […], "biases": [{…, "runs"}],
/// "documents": [{"batch", "begins"}], "matrix": {"shape", "rows"},
/// "mask_expression": "k <= q", "score_expression": "score", "sliders": {"name": 1.5}}; what is none is left out.
nlohmann::json to_json(const attention::MaskSpec& mask);
/// Throws Error naming the key; `path` is the path of `value` in its file.
attention::MaskSpec mask_from_json(const nlohmann::json& value, const std::string& path);

/// Cells with a number that the lists of a file may have together, so that few words of a file can't take long to read.
inline constexpr std::size_t kMaxPaintedNumbers = std::size_t{1} << 24;

/// Returns numbers painted onto cells as runs [query, first key, count, number]. Throws Error where one isn't from `low` to
/// `high`, or there are more than `left`, from which the read ones are taken.
nlohmann::json numbers_to_json(const attention::NumberRuns& painted);
attention::NumberRuns numbers_from_json(const nlohmann::json& runs, const std::string& path, float low, float high,
                                        std::size_t& left);

/// Writes the masks of the kinds of attention under "encoder", "decoder" and "cross".
nlohmann::json to_json(const attention::MaskSet& masks);
attention::MaskSet masks_from_json(const nlohmann::json& value, const std::string& path);

}  // namespace headlight::app
