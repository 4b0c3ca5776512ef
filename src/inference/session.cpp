#include "inference/session.h"

#include <algorithm>
#include <chrono>
#include <ranges>

#include "core/error.h"
#include "gpu/context.h"
#include "inference/device_layers.h"
#include "inference/forward.h"
#include "ops/kernels.h"

namespace headlight::inference {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// A pass that also compiled kernels is measured again when it costs less than this, a tenth of a second on two CPU cores.
constexpr double kCheapWork = 2e9;

}  // namespace

struct Session::State {
  explicit State(gpu::Context& context) : kernels(context) {}

  ops::Kernels kernels;
  std::filesystem::path tuning_file;
  std::uint32_t next_tuning_step = 0;
  std::optional<DeviceLayers> layers;
  attention::AttentionRun run;

  const DeviceLayers& upload(const std::shared_ptr<const model::Layers>& source) {
    if (!layers || layers->source != source) {
      layers.reset();  // the old ones make room first
      layers = upload_layers(kernels.context(), source);
    }
    return *layers;
  }

  RunTiming forward(const model::Network& network, const model::ModelInput& input, const attention::MaskSet& masks) {
    const DeviceLayers& weights = upload(network.layers);
    const auto start = std::chrono::steady_clock::now();
    gpu::Stream stream(kernels.context());
    Forward forward = record_forward(stream, kernels, network, weights, input, masks);
    gpu::Submission submission = std::move(stream).submit();
    submission.wait();
    run = std::move(forward.run);
    return {.gpu_ms = submission.gpu_ms(),
            .wall_ms = milliseconds_since(start),
            .dispatches = submission.dispatches(),
            .device_bytes = kernels.context().allocated_bytes()};
  }

  /// A hidden state or logits in host memory.
  Tensor download(const ops::DeviceTensor* tensor) {
    if (tensor == nullptr) return {};
    Tensor result({tensor->items, tensor->tokens, tensor->width});
    gpu::Stream stream(kernels.context());
    const gpu::Download bytes = stream.download(tensor->buffer());
    gpu::Submission submission = std::move(stream).submit();
    submission.wait();
    const auto padded = submission.values<float>(bytes);
    const std::size_t row_width = std::size_t{tensor->width4()} * 4;
    for (std::uint32_t item = 0; item < tensor->items; ++item) {
      for (std::uint32_t row = 0; row < tensor->tokens; ++row) {
        const auto source = padded.subspan(item * tensor->item_bytes() / sizeof(float) + row * row_width, tensor->width);
        std::copy(
            source.begin(), source.end(),
            result.values.begin() + static_cast<std::ptrdiff_t>((std::size_t{item} * tensor->tokens + row) * tensor->width));
      }
    }
    return result;
  }
};

namespace {

void check_masks(const model::Network& network, const model::ModelInput& input, const attention::MaskSet& masks) {
  for (const model::BlockRef block : network.blocks()) {
    const model::TokenBatch& queries = input.queries(block.kind);
    attention::check(masks[block.kind], queries.batch, network.layer(block).config.heads, queries.length,
                     input.keys(block.kind).length);
  }
}

/// What the last run's attentions took, projections and maps.
double multiply_adds(const attention::AttentionRun& run) {
  double total = 0.0;
  for (const attention::BlockRun& block : run.blocks) {
    const attention::BlockShape& shape = block.shape;
    const double width = double{1} * shape.heads * (shape.d_k + shape.d_v);
    total += double{1} * shape.batch * shape.queries * width * (2.0 * shape.d_model + shape.keys);
  }
  return total;
}

}  // namespace

Session::Session(gpu::Context& context, const std::filesystem::path& tuning_file)
    : state_(std::make_unique<State>(context)) {
  state_->tuning_file = tuning_file;
  const auto known = tuning_file.empty() ? std::nullopt : ops::load_tuning(context.device(), tuning_file);
  if (known) state_->kernels.set_tuning(*known);
  if (known || tuning_file.empty()) state_->next_tuning_step = ops::kTuningSteps;
}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;

RunTiming Session::run(std::shared_ptr<const model::Network> network, const model::ModelInput& input,
                       const attention::MaskSet& masks) {
  model::check(*network, input);
  check_masks(*network, input, masks);
  try {
    const std::size_t kernels_before = state_->kernels.loaded_count();
    RunTiming timing = state_->forward(*network, input, masks);
    const bool has_compiled = state_->kernels.loaded_count() > kernels_before;
    if (has_compiled && multiply_adds(state_->run) < kCheapWork) timing = state_->forward(*network, input, masks);
    return timing;
  } catch (const Error&) {
    // Perhaps the run before holds the memory that is missing; without it there may be enough.
    if (state_->run.blocks.empty()) throw;
    state_->run = {};
    return state_->forward(*network, input, masks);
  }
}

bool Session::is_tuned() const { return state_->next_tuning_step >= ops::kTuningSteps; }

void Session::tune_step() {
  if (is_tuned()) return;
  ops::Kernels& kernels = state_->kernels;
  ops::Tuning tuning = kernels.tuning();
  ops::measure_step(kernels, state_->next_tuning_step++, tuning);
  if (is_tuned()) ops::save_tuning(kernels.context().device(), state_->tuning_file, tuning);
}

std::vector<model::BlockRef> Session::blocks() const {
  std::vector<model::BlockRef> blocks;
  for (const attention::BlockRun& block : state_->run.blocks) blocks.push_back(block.ref);
  return blocks;
}

BlockShape Session::shape(model::BlockRef block) const { return state_->run.block(block).shape; }

std::vector<attention::Tile> Session::evaluate(std::span<const attention::TileRequest> requests) {
  return attention::evaluate(state_->kernels, state_->run, requests);
}

Tensor Session::stage(model::BlockRef block, attention::Stage stage) {
  const BlockShape shape = this->shape(block);
  const auto extent = shape.extent(stage);
  if (!extent) throw Error("the {} attention has no stage '{}'", to_string(block.kind), to_string(stage));
  const bool is_per_head = attention::is_per_head(stage);
  const std::uint32_t heads = is_per_head ? shape.heads : 1;
  Tensor result(is_per_head ? Shape{shape.batch, heads, extent->rows, extent->columns}
                            : Shape{shape.batch, extent->rows, extent->columns});
  std::vector<attention::TileRequest> requests;
  for (std::uint32_t batch = 0; batch < shape.batch; ++batch) {
    for (std::uint32_t head = 0; head < heads; ++head) {
      requests.push_back(
          {.block = block, .batch = batch, .head = head, .stage = stage, .rows = extent->rows, .columns = extent->columns});
    }
  }
  auto target = result.values.begin();
  for (const attention::Tile& tile : evaluate(requests)) target = std::copy(tile.values.begin(), tile.values.end(), target);
  return result;
}

Tensor Session::encoder_output() {
  if (state_->run.encoder_output) return state_->download(state_->run.encoder_output.get());
  // Bare heads with nothing behind them: no hidden state was made of the last layer's.
  for (const attention::BlockRun& block : std::views::reverse(state_->run.blocks)) {
    if (block.ref.kind == model::BlockKind::EncoderSelf) return stage(block.ref, attention::Stage::Merged);
  }
  return {};
}
Tensor Session::logits() { return state_->download(state_->run.logits.get()); }

}  // namespace headlight::inference
