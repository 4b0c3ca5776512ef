#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headlight::app {

/// A text of a survey that shows what a head does.
struct SurveyExample {
  double value = 0.0, weight = 0.0;
  std::uint32_t query = 0, key = 0;
  std::string query_token, key_token, text;
  std::vector<std::uint32_t> ids;  ///< of the tokens that were measured
};

/// What a survey found of one head by one metric.
struct SurveyedHead {
  double mean = 0.0, spread = 0.0;  ///< where there are texts
  std::uint64_t texts = 0;
  std::uint32_t place = 0;  ///< among all heads, from 1 on: the one with the highest mean is first
  std::vector<SurveyExample> examples;
};

/// The results that `headlight survey` wrote, read from its folder.
struct Survey {
  std::filesystem::path directory;
  std::string model;  ///< its path, or its name (is_name_of())
  std::uint64_t texts = 0;
  std::uint32_t layers = 0, heads = 0;
  std::vector<std::string> metrics;  ///< names
  std::vector<SurveyedHead> found;   ///< [metric][layer][head]

  const SurveyedHead& head(std::size_t metric, std::uint32_t layer, std::uint32_t head) const {
    return found[(metric * layers + layer) * heads + head];
  }
};

/// Throws Error in one line naming the file that isn't there or isn't a survey's.
Survey read_survey(const std::filesystem::path& directory);

}  // namespace headlight::app
