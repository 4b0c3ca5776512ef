#include "app/cli/writing_flags.h"

#include <algorithm>

#include <fmt/format.h>

#include "app/figures/line_set.h"
#include "app/models/starter_view.h"
#include "app/state/usage.h"
#include "core/error.h"

namespace headlight::app {
namespace {

constexpr std::uint64_t kMaxItems = 4'096;

}  // namespace

void WritingFlags::add_to(CLI::App& app, std::string_view bundled, const std::string& text_help) {
  const FlagGroup text(app, "Text"), model_group(app, "Model");
  add_texts_flags(text, text_help, [this](const std::vector<std::string>& values) {
    texts = values;
    has_text = !values.empty();
  });
  text.take_count(
      "--max-tokens", "N",
      fmt::format("tokens to write for each line, 1 to {} (default {})", kMaxGeneratedTokens, decoding.most_tokens),
      decoding.most_tokens, 1, kMaxGeneratedTokens);
  text.take("--attention", "DIR",
            "write what the model attended to: a folder for each line in this one, line-0001 and so on, with the weights "
            "of every block as .npy, figures, and the tokens as JSON",
            attention);
  add_model_flag(model_group, "a trained model", fmt::format(" (default: {})", bundled), model);
  model_group.take_choice("--precision", "f32|f16",
                          "how weights are kept on the device: exactly, as the file has them (f32), or rounded to "
                          "float16; arithmetic is float32 (default f32)",
                          precision, {{"f32", inference::Precision::F32}, {"f16", inference::Precision::F16}});
  FlagGroup(app, "Device")
      .take_count("--batch", "N",
                  fmt::format("lines to compute together, 1 to {} (default {})", kMaxItems, decoding.items_at_once),
                  decoding.items_at_once, 1, kMaxItems);
  expressions.add_to(app);
  add_device_flag(app, device);
}

Writer::Writer(const WritingFlags& flags, std::string_view bundled)
    : flags_(flags),
      path_(chosen_model(flags.model, bundled)),
      model_(with_expressions(models_->open(path_), flags.expressions)) {
  const model::ModelDescription& description = model_->description;
  if (!inference::can_write(description)) {
    throw UsageError("--model: {} ({}) fills gaps at most: it writes no text", description.name, description.family);
  }
  if (model_->predicted_tokenizer() == nullptr) throw Error("{}: {}", utf8(path_), model_->tokenizer_problem);
}

GpuRunner& Writer::runner() {
  if (!runner_) {
    auto runner = std::make_unique<GpuRunner>(flags_.device);
    runner->watch_compiling(compile_bar());
    bar_.begin("MiB of weights");
    runner->load(model_->network->layers, flags_.precision, [this](std::size_t done, std::size_t total) {
      bar_.show(done >> 20, total >> 20);
      return true;
    });
    bar_.clear();
    bar_.begin("lines");
    runner_ = std::move(runner);
  }
  return *runner_;
}

std::vector<inference::Decoded> Writer::write(const inference::PromptText& text, const inference::DecodingSettings& settings,
                                              const inference::DecodingObserver& observer) {
  inference::Session& session = runner().session();
  if (observer) return inference::decode(session, *model_, text, settings, observer);
  const std::size_t total = flags_.has_text ? flags_.texts.size() : 0;
  std::vector<inference::Decoded> decoded =
      inference::decode(session, *model_, text, settings, [&](const inference::DecodingProgress& progress) {
        bar_.show(lines_ + progress.done, total == 0 ? 0 : std::max(total, lines_ + progress.done));
        return true;
      });
  bar_.clear();
  lines_ += decoded.size();
  return decoded;
}

std::vector<std::uint32_t> Writer::positioned(std::vector<std::uint32_t> ids, const model::Embedding* embedding) const {
  const std::uint32_t limit = inference::position_limit(*model_, embedding);
  if (limit != 0 && ids.size() > limit) ids.resize(limit);
  return ids;
}

void Writer::write_attention(const std::string& name, const std::string& text, const std::vector<std::uint32_t>& ids,
                             const std::vector<std::uint32_t>& target_ids) {
  if (flags_.attention.empty()) return;
  RunInputs inputs;
  inputs.masks = model_->masks;
  Model choice{.path = utf8(path_), .text = text, .precision = flags_.precision};
  if (!ids.empty()) choice.ids = {positioned(ids, model_->network->source_embedding.get())};
  if (!target_ids.empty()) choice.target_ids = {positioned(target_ids, model_->network->target_embedding.get())};
  inputs.source = std::move(choice);
  write_line_attention(runner(), models_, inputs, flags_.attention / name);
}

std::string line_name(std::size_t line) { return fmt::format("line-{:04}", line + 1); }

}  // namespace headlight::app
