#pragma once

#include <cstdint>
#include <filesystem>

namespace headlight::bench {

/// A GPT-2 of random weights in a folder of its own, which is removed with it: for measuring what depends on the numbers of
/// layers and heads alone.
class RandomModel {
 public:
  /// With the tokenizer of the model in `like`, which has a tokenizer.json; 16 numbers a head. Throws Error.
  RandomModel(const std::filesystem::path& like, std::uint32_t layers, std::uint32_t heads);
  ~RandomModel();
  RandomModel(const RandomModel&) = delete;
  RandomModel& operator=(const RandomModel&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  void remove() noexcept;

  std::filesystem::path folder_;
};

}  // namespace headlight::bench
