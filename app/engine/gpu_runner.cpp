#include "app/engine/gpu_runner.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <mutex>

#include <fmt/format.h>

#include "app/state/settings.h"
#include "capture/captured_run.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Rows computed in a pass, from the last to the first: one (a token typed), and a count of each class for which kernels
/// exist (ops/linear.cpp).
constexpr std::array<std::uint32_t, 4> kRowCounts = {12, 7, 3, 1};

/// A text cut to its first tokens.
void truncate(model::TokenBatch& tokens, std::uint32_t length) {
  tokens.length = length;
  tokens.lengths = {length};
  tokens.ids.resize(length);
  if (!tokens.positions.empty()) tokens.positions.resize(length);
  if (!tokens.types.empty()) tokens.types.resize(length);
  if (!tokens.texts.empty()) tokens.texts.front().resize(length);
}

/// An input for which so many rows have to be computed when `input` was the last: with a causal mask its last tokens differ,
/// else it is shorter.
model::ModelInput with_rows(const model::Network& network, model::ModelInput input, const attention::MaskSet& masks,
                            std::uint32_t rows) {
  model::TokenBatch& tokens = input.source;
  if (!masks[model::BlockKind::EncoderSelf].rule.causal) {
    truncate(tokens, rows);
    return input;
  }
  const std::uint32_t vocabulary = network.source_embedding->table.axis(0);
  for (std::uint32_t i = tokens.length - rows; i < tokens.length; ++i) tokens.ids[i] = (tokens.ids[i] + 1) % vocabulary;
  return input;
}

bool can_vary(const inference::Run& run) {
  const inference::PassInputs& pass = run.inputs();
  const model::TokenBatch& tokens = pass.input.source;
  const bool has_ids = pass.network->source_embedding && tokens.vectors.is_empty() && !tokens.ids.empty() && !pass.input.qkv;
  return has_ids && tokens.batch == 1 && tokens.starts.empty();
}

/// Null: compute without a device; `reason` says why, where that wasn't asked for.
std::unique_ptr<gpu::Context> open_context(const std::string& device, bool needs_device, std::string& reason) {
  if (device == kWithoutDevice) return nullptr;
  gpu::ContextOptions options;
  options.device = device;
  try {
    return std::make_unique<gpu::Context>(options);
  } catch (const Error& error) {
    if (needs_device || !device.empty() || error.kind() != ErrorKind::NoDevice) throw;
    reason = error.what();
    return nullptr;
  }
}

inference::Session open_session(gpu::Context* context) {
  return context == nullptr ? inference::Session() : inference::Session(*context, tuning_file());
}

}  // namespace

GpuRunner::GpuRunner(const std::string& device, bool needs_device, std::chrono::seconds kernels_kept)
    : context_(open_context(device, needs_device, reason_)),
      session_(open_session(context_.get())),
      kernels_kept_(kernels_kept) {}

void GpuRunner::say_where() const {
  static std::once_flag is_said;
  if (reason_.empty()) return;
  std::call_once(is_said, [&] {
    std::cerr << fmt::format("headlight: note: computing on the processor, which is slower: {}\n", reason_);
  });
}

std::shared_ptr<const inference::Run> GpuRunner::run_capture(std::shared_ptr<const capture::CaptureFile> file) {
  return std::make_shared<const capture::CapturedRun>(std::move(file), context_ ? &session_ : nullptr);
}

std::unique_ptr<Runner> open_gpu_runner(const std::string& device) { return std::make_unique<GpuRunner>(device, true); }
std::unique_ptr<Runner> open_runner(const std::string& device) { return std::make_unique<GpuRunner>(device); }

void WarmUp::note(const inference::Run& run) {
  const std::shared_ptr<const model::Layers>& layers = run.inputs().network->layers;
  if (layers == warm_) return;
  warm_ = layers;
  row_counts_.assign(kRowCounts.begin(), kRowCounts.end());
}

void WarmUp::step(inference::Session& session, const std::shared_ptr<const inference::Run>& run) {
  if (!run || !can_vary(*run)) return row_counts_.clear();
  inference::PassInputs pass = run->inputs();
  std::erase_if(row_counts_, [&](std::uint32_t rows) { return rows >= pass.input.source.length; });
  if (row_counts_.empty()) return;
  const std::uint32_t rows = row_counts_.back();
  row_counts_.pop_back();
  pass.input = with_rows(*pass.network, std::move(pass.input), pass.masks, rows);
  session.run(std::move(pass), run);
}

}  // namespace headlight::app
