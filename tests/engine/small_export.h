#pragma once

#include <filesystem>
#include <iterator>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "app/figures/job.h"
#include "core/file.h"
#include "engine/fake_runner.h"
#include "files/npy.h"
#include "support/decode_npy.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"

namespace headlight::app {

/// Two lines of three and two tokens, d_model 6, two layers of three heads.
inline ExportOptions small_options(const std::filesystem::path& directory) {
  State state;
  state.text() = "one two, three\nfour \"five\"";
  state.playground().settings.d_model = 6;
  state.playground().settings.heads = 3;
  ExportOptions options;
  options.inputs = run_inputs(state);
  options.formats = {ExportFormat::Npy};
  options.directory = directory;
  return options;
}

/// A folder that a fake device's numbers are exported into.
struct Exporter {
  TemporaryDirectory directory;
  std::shared_ptr<FakeLog> log = std::make_shared<FakeLog>();
  FakeRunner runner{"fake", log};

  std::filesystem::path path(const std::string& name) const { return directory.path() / name; }
  Tensor npy(const std::string& name) const { return files::decode_npy(read_file(path(name))); }
  nlohmann::json json(const std::string& name) const { return nlohmann::json::parse(read_file(path(name))); }
  std::size_t file_count() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(directory.path()), std::filesystem::directory_iterator()));
  }
  /// Returns the reason why it isn't exported; empty where it was.
  std::string refusal(const ExportOptions& options) {
    return test::error_message([&] { run_export(runner, options); });
  }
};

}  // namespace headlight::app
