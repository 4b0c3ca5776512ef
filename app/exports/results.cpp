#include "app/exports/results.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "core/error.h"
#include "export/npy.h"

namespace headlight::app {
namespace {

/// Logits that are read at once: 64 MiB.
constexpr std::uint32_t kLogitsAtOnce = 1u << 24;

/// What `read` reads of the run, less what it reads of the reference where there is one.
Tensor difference_of(const Runs& runs, const std::function<Tensor(const inference::Run& run)>& read) {
  Tensor result = read(runs.run);
  if (runs.reference == nullptr) return result;
  const Tensor other = read(*runs.reference);
  if (other.shape != result.shape) throw Error("the two runs' results have different shapes: they have no difference");
  for (std::size_t i = 0; i < result.values.size(); ++i) result.values[i] -= other.values[i];
  return result;
}

}  // namespace

exporting::WrittenStage write_encoder_output(const Runs& runs, const std::filesystem::path& path) {
  const Tensor output = difference_of(runs, [](const inference::Run& run) { return run.encoder_output(); });
  exporting::write_npy(path, output);
  return {.file = path.filename().string(),
          .stage = path.stem().string(),
          .shape = output.shape,
          .axes = {"batch", "token", "feature"}};
}

exporting::WrittenStage write_hidden(const Runs& runs, inference::Stack stack, const std::filesystem::path& path,
                                     const std::string& name) {
  const Tensor hidden = difference_of(runs, [&](const inference::Run& run) { return run.hidden(stack); });
  exporting::write_npy(path, hidden);
  return {.file = path.filename().string(),
          .stage = name,
          .shape = hidden.shape,
          .axes = {"layer", "batch", "token", "feature"}};
}

exporting::WrittenStage write_logits(const Runs& runs, const model::Network& network, const model::ModelInput& input,
                                     const std::filesystem::path& path, const Checkpoint& checkpoint) {
  const bool has_decoder = !network.layers->decoder.empty();
  const model::TokenBatch& tokens = has_decoder ? *input.target : input.source;
  const std::size_t layers = has_decoder ? network.layers->decoder.size() : network.layers->encoder.size();
  const std::uint32_t vocabulary = network.layers->unembedding->linear.out();
  const std::size_t at_once = std::max(1u, kLogitsAtOnce / vocabulary);
  const Shape shape = {tokens.batch, tokens.length, vocabulary};
  exporting::NpyFile file(path, shape);
  std::vector<inference::StateRef> states;
  for (std::uint32_t batch = 0; batch < tokens.batch; ++batch) {
    for (std::uint32_t token = 0; token < tokens.length; ++token) {
      states.push_back({.batch = batch, .token = token, .layer = static_cast<std::uint32_t>(layers)});
      const bool is_last = batch + 1 == tokens.batch && token + 1 == tokens.length;
      if (states.size() < at_once && !is_last) continue;
      const double before =
          static_cast<double>(file.appended()) / static_cast<double>(std::max<std::size_t>(file.expected(), 1));
      checkpoint(before);
      file.append(difference_of(runs, [&](const inference::Run& run) { return run.logits(states); }).values);
      states.clear();
    }
  }
  file.finish();
  return {.file = path.filename().string(),
          .stage = path.stem().string(),
          .shape = shape,
          .axes = {"batch", "token", "token_id"}};
}

}  // namespace headlight::app
