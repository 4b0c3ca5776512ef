#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "support/decode_npy.h"
#include "support/golden.h"
#include "support/program.h"

namespace headlight::test {

/// A folder that the real program exported into.
struct Exported {
  TemporaryDirectory directory;
  Outcome outcome;

  explicit Exported(std::vector<std::string> arguments, const std::string& prefix = "") {
    arguments.emplace(arguments.begin(), "export");
    arguments.insert(arguments.end(), {"--out", (directory.path() / "out").string()});
    outcome = run_headlight(arguments, prefix);
    INFO(outcome.err);
    CHECK(outcome.status == 0);
  }

  std::filesystem::path path(const std::string& name) const { return directory.path() / "out" / name; }
  bool has(const std::string& name) const { return std::filesystem::exists(path(name)); }
  std::string text(const std::string& name) const { return read_file(path(name)); }
  Tensor npy(const std::string& name) const { return files::decode_npy(text(name + ".npy")); }
  nlohmann::json json(const std::string& name) const { return nlohmann::json::parse(text(name)); }

  /// Largest difference of an exported stage and a golden list.
  double difference(const std::string& name, const nlohmann::json& golden) const {
    return max_difference(std::span<const float>(npy(name).values), flatten(golden));
  }
};

/// The one line of an export that fails with this status.
inline std::string export_complaint(std::vector<std::string> arguments, int status, const std::string& prefix = "") {
  const TemporaryDirectory directory;
  arguments.emplace(arguments.begin(), "export");
  arguments.insert(arguments.end(), {"--out", (directory.path() / "out").string()});
  return complaint_of(run_headlight(arguments, prefix), status);
}

}  // namespace headlight::test
