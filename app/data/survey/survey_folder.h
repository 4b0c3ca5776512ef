#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evaluation/head_layout.h"

namespace headlight::app {

/// A text of a survey that shows what a head does.
struct SurveyExample {
  double value = 0.0, weight = 0.0;
  std::uint32_t query = 0, key = 0;  ///< in the texts of the head's kind: of cross-attention in the target and in the text
  std::uint32_t decile = 0;          ///< 1, the lowest values, to 10; 0: one of the highest of all texts
  std::string query_token, key_token, text;
  std::vector<std::uint32_t> ids;              ///< of the tokens that were measured
  std::string target = {};                     ///< where texts are pairs; else empty
  std::vector<std::uint32_t> target_ids = {};  ///< what the decoder read
};

/// A survey's finding about one head by one metric.
struct SurveyedHead {
  double mean = 0.0, spread = 0.0;  ///< where there are texts; the spread is NaN in HeadVis' folder, which has none
  std::uint64_t texts = 0;
  std::uint32_t place = 0;                   ///< among all heads, from 1 on: the one with the highest mean is first
  std::vector<float> histogram = {};         ///< texts by value, from 0 to `top`; may be empty
  double top = 1.0;                          ///< above 0
  std::vector<SurveyExample> examples = {};  ///< the highest values first
  std::vector<SurveyExample> samples = {};   ///< of all texts, the lowest values first; none in older surveys

  /// Returns "0.083 ± 0.039".
  std::string mean_text() const;
};

/// A token, or a pair of a query's token and a key's, and the attention of it.
struct CountedToken {
  std::string query, key;  ///< one is empty where no pair is counted
  double mass = 0.0, weight = 0.0;
  std::uint64_t count = 0;
};

/// A survey's findings about one head whatever the metric; parts are empty where the folder has no file of them.
struct HeadAttention {
  /// Means over the `queries`, where there are any; for cross-attention all but `first` are NaN. Distances are in tokens.
  double first = 0.0, self = 0.0, self_spread = 0.0, distance = 0.0, distance_spread = 0.0;
  std::uint64_t queries = 0;
  std::vector<CountedToken> query_tokens = {}, key_tokens = {}, pairs = {};  ///< the largest mass first
  std::vector<float> distances = {}, positions = {};  ///< [bin] shares of attention; bin_name() names the bins
  std::vector<float> map = {};  ///< [query, key], kMapEdge each; NaN where no text is so long; of cross-attention stretched
  std::vector<float> relative = {};  ///< [key − query], from −kRelativeReach on; NaN where no text is so long
};
inline constexpr std::uint32_t kAttentionBins = 43, kMapEdge = 32, kRelativeReach = 32;
/// Returns "7", "33–64": the distances or positions of a bin of HeadAttention.
std::string bin_name(std::size_t bin);

/// A number of every head, by which heads are placed, coloured and sorted.
struct SurveyColumn {
  std::string name;
  std::vector<double> values;  ///< [place]; NaN: the head has none
  bool is_plane = false;       ///< a coordinate of a plane of heads, which means nothing by itself
};

/// The findings of `headlight survey`, read from its folder.
struct Survey {
  std::filesystem::path directory;
  std::string model;   ///< its path, or its name (is_name_of())
  std::string corpus;  ///< its path, or its name; may be empty
  std::uint64_t texts = 0;
  evaluation::HeadLayout layout;
  std::vector<std::string> metrics;                          ///< names
  std::map<std::string, std::string, std::less<>> patterns;  ///< of the user's own metrics, by their names
  std::vector<SurveyedHead> found;                           ///< [metric][place]
  std::vector<HeadAttention> attention;                      ///< [place]
  /// Means of the metrics, "self" and "first" where they are known, "layer", where there are several "kind"; then planes, a
  /// pair of columns each.
  std::vector<SurveyColumn> columns;

  std::size_t count() const { return layout.count(); }
  const SurveyedHead& head(std::size_t metric, std::size_t head) const { return found[metric * count() + head]; }
  /// Returns the column of this name, else the one at `otherwise` among those that have a value.
  const SurveyColumn& column(std::string_view name, std::size_t otherwise) const;
  std::string name(std::size_t head) const { return layout.name(head); }
  /// Returns the place of "L5H1" or "cross L5H1", in letters of any size; without a kind of the first that has it; count():
  /// there is none.
  std::size_t find(std::string_view name) const;
};

/// Adds Survey::columns, of what else is known.
void add_columns(Survey& survey);

/// Reads the folder that `headlight survey --out` wrote, or, as far as it goes, HeadVis' folder as `--headvis` writes it.
/// Throws Error in one line naming the file that isn't there or isn't a survey's.
Survey read_survey(const std::filesystem::path& directory);

}  // namespace headlight::app
