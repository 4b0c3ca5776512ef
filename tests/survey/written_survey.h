#pragma once

#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "core/atomic_file.h"

namespace headlight::test {

/// The files of a survey of 2 layers with 2 heads, as `headlight survey` writes them; the head with the highest mean is the
/// last one, and each has one example of three tokens, whose cell is (2, 1).
inline void write_small_survey(const std::filesystem::path& folder, const std::string& model) {
  write_file_atomically(
      folder / "survey.json",
      fmt::format(R"({{"version": 2, "model": "{}", "texts": 7, "metrics": ["induction"], "layers": 2, "heads": 2}})",
                  model));
  std::string heads, examples;
  for (int i = 0; i < 4; ++i) {
    heads += fmt::format(R"({{"metric": "induction", "layer": {}, "head": {}, "texts": 7, "mean": 0.{}, "spread": 0.1}})",
                         i / 2, i % 2, i + 1) +
             "\n";
    examples +=
        fmt::format(
            R"({{"metric": "induction", "layer": {}, "head": {}, "value": 0.5, "weight": 0.25, "query": 2, "key": 1, )"
            R"("query_token": "c", "key_token": "b", "text": "text {}", "ids": [5, 6, 7]}})",
            i / 2, i % 2, i) +
        "\n";
  }
  write_file_atomically(folder / "heads.jsonl", heads);
  write_file_atomically(folder / "examples.jsonl", examples);
}

}  // namespace headlight::test
