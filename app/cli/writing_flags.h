#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/expression_flags.h"
#include "app/cli/flags.h"
#include "app/cli/output.h"
#include "app/engine/gpu_runner.h"
#include "app/engine/model_cache.h"
#include "app/state/state.h"
#include "inference/decoding.h"
#include "inference/language_model.h"

namespace headlight::app {

/// The flags of the commands that generate text: translate and generate.
struct WritingFlags {
  std::string model;  ///< empty: the bundled one
  std::vector<std::string> texts;
  bool has_text = false;  ///< else lines come from standard input
  std::string device;
  inference::Precision precision = inference::Precision::F32;
  std::filesystem::path attention;  ///< empty: no maps are written
  inference::DecodingSettings decoding;
  ExpressionFlags expressions;

  void add_to(CLI::App& app, std::string_view bundled, const std::string& text_help);
};

/// A model that generates text, on its device, and the folder for its maps.
class Writer {
 public:
  /// Opens the model. `bundled`: the default model. Throws Error in one line when there is no such model or device.
  Writer(const WritingFlags& flags, std::string_view bundled);

  const inference::LanguageModel& model() const { return *model_; }
  const text::Tokenizer& tokenizer() const { return *model_->tokenizer; }
  /// Loads the model on the device; before that, lines can only be checked.
  GpuRunner& runner();

  /// Writes texts. Without an observer, a terminal shows the number of finished lines on standard error.
  std::vector<inference::Decoded> write(const inference::PromptText& text, const inference::DecodingSettings& settings,
                                        const inference::DecodingObserver& observer = {});
  /// Writes the maps of a text, or of ids, with the generated tokens into the folder's `name`; nothing without --attention.
  void write_attention(const std::string& name, const std::string& text, const std::vector<std::uint32_t>& ids,
                       const std::vector<std::uint32_t>& target_ids);

 private:
  /// Returns the ids without the last token if it is beyond the last position, where no query can attend from it.
  std::vector<std::uint32_t> positioned(std::vector<std::uint32_t> ids, const model::Embedding* embedding) const;

  const WritingFlags& flags_;
  ProgressBar bar_ = ProgressBar::on_terminal("lines");
  std::size_t lines_ = 0;  ///< written so far
  std::filesystem::path path_;
  std::shared_ptr<ModelCache> models_ = std::make_shared<ModelCache>();
  std::shared_ptr<const inference::LanguageModel> model_;
  std::unique_ptr<GpuRunner> runner_;
};

/// Batches of lines read ahead before any is written, so that lines of similar length can be batched together.
inline constexpr std::size_t kBatchesInView = 4;

/// Returns "line-0001" for the first line.
std::string line_name(std::size_t line);

}  // namespace headlight::app
