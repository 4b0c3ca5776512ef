#include "inference/session.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "core/error.h"
#include "gpu/context.h"
#include "inference/device_layers.h"
#include "inference/forward.h"
#include "inference/reuse.h"
#include "inference/state_reader.h"
#include "inference/tensor_pool.h"
#include "ops/cells.h"
#include "ops/kernels.h"

namespace headlight::inference {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

struct Session::State {
  explicit State(gpu::Context& context) : kernels(context) {}

  ops::Kernels kernels;
  CompileObserver compile_observer;
  std::filesystem::path tuning_file;
  std::uint32_t next_tuning_step = 0;
  Precision precision = Precision::F32;
  std::optional<DeviceLayers> layers;
  Precision layers_precision = Precision::F32;
  std::vector<DeviceEmbedding> embeddings;  ///< of the last network, at most two
  TensorPool pool;
  attention::AttentionRun run;
  std::optional<PassInputs> inputs;  ///< what `run` was computed from; none without a run
  bool can_take_over = false;        ///< may the next pass keep some of it?

  void upload(const std::shared_ptr<const model::Layers>& source, const LoadObserver& observer = {}) {
    if (layers && layers->source == source && layers_precision == precision) return;
    drop_run();
    layers.reset();  // the old ones make room first
    layers = upload_layers(kernels.context(), source, precision == Precision::F16, observer);
    layers_precision = precision;
  }

  const DeviceEmbedding* upload(const std::shared_ptr<const model::Embedding>& source) {
    if (!source || (!source->norm && !source->projection)) return nullptr;
    for (const DeviceEmbedding& known : embeddings) {
      if (known.source == source) return &known;
    }
    if (embeddings.size() > 1) embeddings.clear();
    embeddings.reserve(2);
    return &embeddings.emplace_back(upload_embedding(kernels.context(), source));
  }

  void drop_run() {
    run = {};
    inputs.reset();
    pool = {};
  }

  RunTiming forward(const PassInputs& pass) {
    upload(pass.network->layers);
    std::optional<RunTiming> timing = forward_if_compiled(pass);
    if (!timing) {
      kernels.compile_listed(compile_observer);
      timing = forward_if_compiled(pass);
    }
    return timing.value();
  }

  /// Nothing when the pass needs kernels that aren't compiled: they are listed then, and nothing else has changed.
  std::optional<RunTiming> forward_if_compiled(const PassInputs& pass) {
    const auto start = std::chrono::steady_clock::now();
    const PassPlan plan = plan_pass(pass, inputs && can_take_over ? &*inputs : nullptr);
    TensorPool next = pool;  // the one that the last run is in stays as it is when this one can't be recorded
    gpu::Stream stream(kernels.context());
    const DeviceEmbedding* source = upload(pass.network->source_embedding);
    const DeviceEmbedding* target = upload(pass.network->target_embedding);
    const DeviceNetwork device{&*layers, source, target};
    Forward forward;
    {
      const ops::Kernels::Listing listing(kernels);
      forward = record_forward(stream, kernels, device, pass, plan, next);
      if (!stream.is_complete()) ops::ask_for_map_cells(kernels);  // what computes the first picture is compiled with it
    }
    if (!stream.is_complete()) return std::nullopt;
    can_take_over = false;  // if this throws, nobody knows how far it came
    gpu::Submission submission = std::move(stream).submit();
    submission.wait();
    run = std::move(forward.run);
    next.drop_unused();
    pool = std::move(next);
    inputs = pass;
    can_take_over = true;
    return RunTiming{.gpu_ms = submission.gpu_ms(),
                     .wall_ms = milliseconds_since(start),
                     .dispatches = submission.dispatches(),
                     .device_bytes = kernels.context().allocated_bytes(),
                     .reused_tokens = plan.reused_tokens(),
                     .reused_layers = plan.reused_layers()};
  }

  const model::Layers& network_layers() const { return *inputs->network->layers; }

  /// The states of a stack of the last run; none without such a stack.
  std::optional<StateReader> reader(Stack stack) {
    const auto& states = stack == Stack::Encoder ? run.encoder_states : run.decoder_states;
    if (states.empty() || !layers) return std::nullopt;
    const auto& norm = stack == Stack::Encoder ? layers->encoder_norm : layers->decoder_norm;
    const model::TokenBatch& tokens = stack == Stack::Encoder ? inputs->input.source : *inputs->input.target;
    return StateReader(kernels, states, norm ? &*norm : nullptr, tokens.length);
  }

  Stack last_stack() const { return run.decoder_states.empty() ? Stack::Encoder : Stack::Decoder; }
  std::uint32_t last_layer() const {
    const auto& states = run.decoder_states.empty() ? run.encoder_states : run.decoder_states;
    return static_cast<std::uint32_t>(states.size()) - 1;
  }

  /// Rows whose logits fit into one tensor comfortably.
  std::uint32_t rows_at_once() const {
    constexpr std::size_t kBytes = std::size_t{64} << 20;
    const std::size_t row = std::size_t{layers->unembedding->linear.width + 3} / 4 * 16;
    const std::size_t budget = std::min(kBytes, kernels.context().device().max_storage_range / 2);
    return static_cast<std::uint32_t>(std::max<std::size_t>(1, budget / row / inputs->input.source.batch));
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

void Session::load(std::shared_ptr<const model::Layers> layers, Precision precision, const LoadObserver& observer) {
  state_->precision = precision;
  state_->upload(layers, observer);
}

void Session::unload() {
  state_->drop_run();
  state_->layers.reset();
  state_->embeddings.clear();
}

void Session::watch_compiling(CompileObserver observer) { state_->compile_observer = std::move(observer); }

void Session::forget() { state_->can_take_over = false; }

RunTiming Session::run(std::shared_ptr<const model::Network> network, const model::ModelInput& input,
                       const attention::MaskSet& masks, const HeadGains& gains) {
  model::check(*network, input);
  check_masks(*network, input, masks);
  const PassInputs pass{std::move(network), input, masks, gains};
  try {
    return state_->forward(pass);
  } catch (const Error& error) {
    // Perhaps the run before holds the memory that is missing; without it there may be enough.
    if (error.kind() != ErrorKind::OutOfDeviceMemory || state_->run.blocks.empty()) throw;
    state_->drop_run();
    return state_->forward(pass);
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
  const bool is_of_keys = stage == attention::Stage::K || stage == attention::Stage::V;
  const std::uint32_t heads = !is_per_head ? 1 : is_of_keys ? shape.kv_heads : shape.heads;
  const std::uint32_t step = is_of_keys ? shape.heads / shape.kv_heads : 1;  // requests name heads of queries
  Tensor result(is_per_head ? Shape{shape.batch, heads, extent->rows, extent->columns}
                            : Shape{shape.batch, extent->rows, extent->columns});
  std::vector<attention::TileRequest> requests;
  for (std::uint32_t batch = 0; batch < shape.batch; ++batch) {
    for (std::uint32_t head = 0; head < heads; ++head) {
      requests.push_back({.block = block,
                          .batch = batch,
                          .head = head * step,
                          .stage = stage,
                          .rows = extent->rows,
                          .columns = extent->columns});
    }
  }
  auto target = result.values.begin();
  for (const attention::Tile& tile : evaluate(requests)) target = std::copy(tile.values.begin(), tile.values.end(), target);
  return result;
}

Tensor Session::hidden(Stack stack) {
  const auto reader = state_->reader(stack);
  return reader ? reader->hidden() : Tensor();
}

Tensor Session::encoder_output() {
  // Bare heads with nothing behind them: no hidden state was made of the last layer's.
  std::uint32_t layers = 0;
  for (const attention::BlockRun& block : state_->run.blocks) layers += block.ref.kind == model::BlockKind::EncoderSelf;
  if (layers > 0 && state_->run.encoder_states.size() < layers + 1) {
    return stage({model::BlockKind::EncoderSelf, LayerIndex{layers - 1}}, attention::Stage::Merged);
  }
  const auto reader = layers > 0 ? state_->reader(Stack::Encoder) : std::nullopt;
  return reader ? reader->output() : Tensor();
}

bool Session::has_logits() const { return state_->inputs && state_->layers && state_->layers->unembedding.has_value(); }

Tensor Session::logits() {
  if (!has_logits()) return {};
  const Stack stack = state_->last_stack();
  const model::TokenBatch& tokens = stack == Stack::Encoder ? state_->inputs->input.source : *state_->inputs->input.target;
  const std::uint32_t width = state_->layers->unembedding->linear.width;
  Tensor result({tokens.batch, tokens.length, width});
  const std::uint32_t step = state_->rows_at_once();
  for (std::uint32_t first = 0; first < tokens.length; first += step) {
    const StateRows rows{state_->last_layer(), {first, std::min(step, tokens.length - first)}};
    const Tensor some = state_->reader(stack)->logits(*state_->layers->unembedding, *state_->network_layers().unembedding,
                                                      std::span(&rows, 1));
    const auto row_bytes = static_cast<std::ptrdiff_t>(std::size_t{rows.tokens.count} * width);
    for (std::uint32_t item = 0; item < tokens.batch; ++item) {
      std::copy_n(some.values.begin() + item * row_bytes, row_bytes,
                  result.values.begin() + static_cast<std::ptrdiff_t>((std::size_t{item} * tokens.length + first) * width));
    }
  }
  return result;
}

Tensor Session::logits(std::span<const StateRef> states) {
  if (!has_logits() || states.empty()) return {};
  const std::uint32_t width = state_->layers->unembedding->linear.width;
  Tensor result({static_cast<std::uint32_t>(states.size()), width});
  // A row is computed for every batch item: those that share layer and token are asked for once.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::size_t>> wanted;  // (layer, token) → states
  for (std::size_t i = 0; i < states.size(); ++i) {
    wanted[{std::min(states[i].layer, state_->last_layer()), states[i].token}].push_back(i);
  }
  const std::size_t step = state_->rows_at_once();
  for (auto first = wanted.begin(); first != wanted.end();) {
    std::vector<StateRows> rows;
    std::size_t count = 0;
    auto end = first;
    for (; end != wanted.end() && count < step; ++end, ++count) {
      const auto [layer, token] = end->first;
      const bool goes_on = !rows.empty() && rows.back().layer == layer && rows.back().tokens.end() == token;
      if (goes_on) ++rows.back().tokens.count;
      if (!goes_on) rows.push_back({layer, {token, 1}});
    }
    const Tensor logits = state_->reader(state_->last_stack())
                              ->logits(*state_->layers->unembedding, *state_->network_layers().unembedding, rows);
    for (std::size_t row = 0; first != end; ++first, ++row) {
      for (const std::size_t state : first->second) {
        const std::size_t from = (states[state].batch * count + row) * width;
        std::copy_n(logits.values.begin() + static_cast<std::ptrdiff_t>(from), width,
                    result.values.begin() + static_cast<std::ptrdiff_t>(state * width));
      }
    }
  }
  return result;
}

}  // namespace headlight::inference
