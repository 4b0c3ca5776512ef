#pragma once

#include <filesystem>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "core/file.h"
#include "files/npy.h"

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
    heads += fmt::format(R"({{"metric": "induction", "layer": {}, "head": {}, "texts": 7, "mean": 0.{}, "spread": 0.1, )"
                         R"("histogram": [4, 2, 1], "histogram_top": 1.5}})",
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

/// Writes the files that later surveys have besides: a text of each tenth, tokens, and shares of attention. The last
/// head attends to itself.
inline void write_attention(const std::filesystem::path& folder) {
  std::string samples, tokens;
  for (int head = 0; head < 4; ++head) {
    for (int decile = 0; decile < 10; ++decile) {
      samples +=
          fmt::format(
              R"({{"metric": "induction", "layer": {}, "head": {}, "decile": {}, "value": 0.{}, "weight": 0.5, "query": 1, )"
              R"("key": 0, "query_token": "b", "key_token": "a", "text": "tenth {}", "ids": [4, 5]}})",
              head / 2, head % 2, decile, decile, decile + 1) +
          "\n";
    }
    tokens +=
        fmt::format(R"({{"layer": {}, "head": {}, "queries": 20, "first": 0.25, "self": 0.{}, "self_spread": 0.125, )"
                    R"("distance": 2.5, "distance_spread": 1.5, )"
                    R"("query_tokens": [{{"id": 5, "token": "dog", "mass": 3.5, "count": 7, "weight": 0.5}}], )"
                    R"("key_tokens": [{{"id": 6, "token": "cat", "mass": 4.0, "count": 5, "weight": 0.8}}], )"
                    R"("pairs": [{{"query_id": 5, "query": "dog", "key_id": 6, "key": "cat", "mass": 1.5, "count": 3, )"
                    R"("weight": 0.5}}], "query_missed": 0, "key_missed": 0, "pair_missed": 0}})",
                    head / 2, head % 2, head + 1) +
        "\n";
  }
  write_file_atomically(folder / "samples.jsonl", samples);
  write_file_atomically(folder / "tokens.jsonl", tokens);
  Tensor bins(Shape{2, 2, 43}), map(Shape{2, 2, 32, 32}), relative(Shape{2, 2, 65});
  bins.values[0] = 1.0F;
  for (std::size_t head = 0; head < 4; ++head) {
    for (std::size_t query = 0; query < 32; ++query) {
      for (std::size_t key = 0; key < 32; ++key) {
        const bool is_known = query < 8 && key < 8;
        const bool is_there = head == 3 ? key == query : key == 0;
        map.values[(head * 32 + query) * 32 + key] = !is_known  ? std::numeric_limits<float>::quiet_NaN()
                                                     : is_there ? 1.0F
                                                                : 0.0F;
      }
    }
  }
  write_file_atomically(folder / "distance.npy", files::encode_npy(bins));
  write_file_atomically(folder / "positions.npy", files::encode_npy(bins));
  write_file_atomically(folder / "map.npy", files::encode_npy(map));
  write_file_atomically(folder / "relative.npy", files::encode_npy(relative));
}

/// A survey on pairs: two heads of each kind in one layer. No head has "duplicate", cross-attention no "previous". The text
/// of an example has three tokens, its target two; the cell is the last query and key.
inline void write_pair_survey(const std::filesystem::path& folder, const std::string& model) {
  write_file_atomically(
      folder / "survey.json",
      fmt::format(R"({{"version": 3, "model": "{}", "texts": 7, "metrics": ["duplicate", "previous", "entropy"], )"
                  R"("layers": 1, "heads": 2, "decoder_layers": 1, "decoder_heads": 2}})",
                  model));
  std::string heads, examples;
  for (const std::string metric : {"duplicate", "previous", "entropy"}) {
    for (int i = 0; i < 6; ++i) {
      const std::string kind = i < 2 ? "encoder" : i < 4 ? "decoder" : "cross";
      const bool has_value = metric == "entropy" || (metric == "previous" && i < 4);
      const std::string head =
          fmt::format(R"({{"metric": "{}", "kind": "{}", "layer": 0, "head": {}, )", metric, kind, i % 2);
      heads +=
          head + (has_value ? fmt::format(R"("texts": 7, "mean": 0.{}, "spread": 0.1}})", i + 1) : R"("texts": 0})") + "\n";
      if (!has_value) continue;
      examples += head +
                  fmt::format(R"("value": 0.5, "weight": 0.25, "query": {}, "key": {}, "query_token": "q", )"
                              R"("key_token": "k", "text": "text {}", "ids": [5, 6, 7], "target": "target {}", )"
                              R"("target_ids": [103, 9]}})",
                              i < 2 ? 2 : 1, i < 2 || i > 3 ? 2 : 1, i, i) +
                  "\n";
    }
  }
  write_file_atomically(folder / "heads.jsonl", heads);
  write_file_atomically(folder / "examples.jsonl", examples);
}

}  // namespace headlight::test
