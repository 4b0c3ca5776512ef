#include "inference/device_run.h"

#include <algorithm>

#include "core/error.h"
#include "gpu/context.h"
#include "inference/forward.h"

namespace headlight::inference {
namespace {

/// A row to read: the state of a token after some layers, through a translator or as it is (null).
struct StateRow {
  std::uint32_t layer = 0;
  std::shared_ptr<const ops::PackedLinear> translator = {};
  std::uint32_t token = 0;

  auto operator<=>(const StateRow&) const = default;
};

/// The requested states that each row serves. A row is computed for every batch item: states that share layer and token
/// are one row.
using StatesByRow = std::map<StateRow, std::vector<std::size_t>>;

StatesByRow by_row(std::span<const StateRef> states, std::uint32_t last_layer, gpu::Context& context, DeviceLens& lens) {
  lens.release_left();
  StatesByRow rows;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto& translator = states[i].translator;
    rows[{.layer = std::min(states[i].layer, last_layer),
          .translator = translator ? lens.of(context, translator) : nullptr,
          .token = states[i].token}]
        .push_back(i);
  }
  return rows;
}

/// Returns at most so many rows from `first` on, neighbours joined, and the first row that isn't among them.
std::pair<StatesByRow::const_iterator, std::vector<StateRows>> next_rows(StatesByRow::const_iterator first,
                                                                         StatesByRow::const_iterator end, std::size_t most) {
  std::vector<StateRows> rows;
  for (std::size_t count = 0; first != end && count < most; ++first, ++count) {
    const StateRow& row = first->first;
    const bool goes_on = !rows.empty() && rows.back().layer == row.layer && rows.back().translator == row.translator &&
                         rows.back().tokens.end() == row.token;
    if (goes_on) ++rows.back().tokens.count;
    if (!goes_on) rows.push_back({row.layer, {row.token, 1}, row.translator});
  }
  return {first, rows};
}

/// Copies logits [batch, row, vocabulary] to the states [state, vocabulary] that asked for the rows.
void copy_rows(const Tensor& logits, StatesByRow::const_iterator first, StatesByRow::const_iterator end,
               std::span<const StateRef> states, Tensor& result) {
  const std::size_t count = logits.axis(1), width = logits.axis(2);
  for (std::size_t row = 0; first != end; ++first, ++row) {
    for (const std::size_t state : first->second) {
      const std::size_t from = (states[state].batch * count + row) * width;
      std::copy_n(logits.values.begin() + static_cast<std::ptrdiff_t>(from), width,
                  result.values.begin() + static_cast<std::ptrdiff_t>(state * width));
    }
  }
}

}  // namespace

DeviceRun::DeviceRun(PassInputs inputs, const RunTiming& timing, const RunFindings& findings, ops::Kernels& kernels,
                     std::shared_ptr<const DeviceLayers> layers, attention::AttentionRun blocks, RunTensors tensors)
    : Run(std::move(inputs), timing, findings),
      kernels_(kernels),
      layers_(std::move(layers)),
      run_(std::move(blocks)),
      tensors_(std::move(tensors)) {}

void DeviceRun::check() const {
  if (is_destroyed_) throw Error("the run is gone: a later one that took over its memory failed");
}

void DeviceRun::check_layer(Stack stack, std::uint32_t layer) const {
  const auto& states = stack == Stack::Encoder ? run_.encoder_states : run_.decoder_states;
  if (layer < states.size() && states[layer] == nullptr) throw Error("this run of copies has no state {}", layer);
}

std::vector<model::BlockRef> DeviceRun::blocks() const {
  std::vector<model::BlockRef> blocks;
  for (const attention::BlockRun& block : run_.blocks) blocks.push_back(block.ref);
  return blocks;
}

BlockShape DeviceRun::shape(model::BlockRef block) const { return run_.block(block).shape; }

std::uint64_t DeviceRun::version(model::BlockRef block) const { return run_.block(block).version; }

std::vector<attention::Tile> DeviceRun::evaluate(std::span<const attention::TileRequest> requests) const {
  check();
  std::map<model::BlockRef, std::vector<std::size_t>> of_stream;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const attention::TileRequest& request = requests[i];
    if (!attention::is_of_stream(request.stage)) continue;
    const auto extent = run_.block(request.block).shape.extent(request.stage);
    const bool is_inside = extent && request.row < extent->rows && request.rows <= extent->rows - request.row;
    if (is_inside) of_stream[request.block].push_back(i);  // attention::evaluate() refuses the others
  }
  if (of_stream.empty()) return attention::evaluate(kernels_, run_, requests);
  std::vector<attention::Tile> tiles(requests.size());
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < requests.size(); ++i) others.push_back(i);
  for (const auto& of_block : of_stream) {  // clang 14's lambdas take no structured bindings
    evaluate_stream(of_block.first, requests, of_block.second, tiles);
    std::erase_if(others, [&](std::size_t i) { return std::ranges::binary_search(of_block.second, i); });
  }
  std::vector<attention::TileRequest> rest;
  for (const std::size_t i : others) rest.push_back(requests[i]);
  std::vector<attention::Tile> evaluated = attention::evaluate(kernels_, run_, rest);
  for (std::size_t i = 0; i < others.size(); ++i) tiles[others[i]] = std::move(evaluated[i]);
  return tiles;
}

void DeviceRun::evaluate_stream(model::BlockRef block, std::span<const attention::TileRequest> requests,
                                std::span<const std::size_t> indices, std::vector<attention::Tile>& tiles) const {
  std::vector<attention::TileRequest> asked;
  for (const std::size_t i : indices) asked.push_back(requests[i]);
  for (std::size_t done = 0; done < asked.size();) {
    const auto rest = std::span(asked).subspan(done);
    const auto chunk = rest.first(attention::RecordedTiles::count(kernels_.context(), rest));
    std::uint32_t first = chunk.front().row, end = 0;
    StreamStages stages;
    for (const attention::TileRequest& request : chunk) {
      first = std::min(first, request.row);
      end = std::max(end, request.row + request.rows);
      stages[request.stage] = nullptr;
    }
    gpu::Stream stream(kernels_.context());
    const std::shared_ptr<const void> used = record_stream(stream, block, {first, end - first}, stages);
    attention::AttentionRun beside{.blocks = {run_.block(block)}, .encoder_states = {}, .decoder_states = {}};
    beside.blocks.front().stream = std::move(stages);
    const attention::RecordedTiles recorded(stream, kernels_, beside, chunk);
    gpu::Submission submission = std::move(stream).submit();
    submission.wait();
    for (attention::Tile& tile : recorded.read(submission)) tiles[indices[done++]] = std::move(tile);
  }
}

const model::TokenBatch& DeviceRun::tokens(Stack stack) const {
  return stack == Stack::Encoder ? inputs().input.source : *inputs().input.target;
}

std::optional<StateReader> DeviceRun::reader(Stack stack) const {
  check();
  const auto& states = stack == Stack::Encoder ? run_.encoder_states : run_.decoder_states;
  if (states.empty()) return std::nullopt;
  const auto& norm = stack == Stack::Encoder ? layers_->encoder_norm : layers_->decoder_norm;
  return StateReader(kernels_, states, norm ? &*norm : nullptr, tokens(stack).length);
}

Stack DeviceRun::last_stack() const { return run_.decoder_states.empty() ? Stack::Encoder : Stack::Decoder; }

std::uint32_t DeviceRun::last_layer() const {
  const auto& states = run_.decoder_states.empty() ? run_.encoder_states : run_.decoder_states;
  return static_cast<std::uint32_t>(states.size()) - 1;
}

std::uint32_t DeviceRun::rows_at_once() const {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const std::size_t row = std::size_t{layers_->unembedding->linear.width + 3} / 4 * 16;
  const std::size_t budget = std::min(kBytes, kernels_.context().device().max_storage_range / 2);
  return static_cast<std::uint32_t>(std::max<std::size_t>(1, budget / row / inputs().input.source.batch));
}

Tensor DeviceRun::hidden(Stack stack) const {
  const auto states = reader(stack);
  check_layer(stack, 0);
  return states ? states->hidden() : Tensor();
}

Tensor DeviceRun::encoder_output() const {
  // Bare heads with nothing after them: no hidden state was made of the last layer's.
  std::uint32_t layers = 0;
  for (const attention::BlockRun& block : run_.blocks) layers += block.ref.kind == model::BlockKind::EncoderSelf;
  if (layers > 0 && run_.encoder_states.size() < layers + 1) {
    return stage({model::BlockKind::EncoderSelf, LayerIndex{layers - 1}}, attention::Stage::Merged);
  }
  const auto states = layers > 0 ? reader(Stack::Encoder) : std::nullopt;
  return states ? states->output() : Tensor();
}

bool DeviceRun::has_logits() const { return layers_->unembedding.has_value(); }

RecordedLogits DeviceRun::record_logits(gpu::Stream& stream, std::span<const StateRows> rows) const {
  for (const StateRows& some : rows) check_layer(last_stack(), some.layer);
  return reader(last_stack())->record_logits(stream, *layers_->unembedding, *inputs().network->layers->unembedding, rows);
}

Tensor DeviceRun::read_logits(std::span<const StateRows> rows) const {
  gpu::Stream stream(kernels_.context());
  const RecordedLogits recorded = record_logits(stream, rows);
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  return recorded.read(submission);
}

Tensor DeviceRun::logits() const {
  if (!has_logits()) return {};
  const model::TokenBatch& all = tokens(last_stack());
  const std::uint32_t width = layers_->unembedding->linear.width;
  Tensor result({all.batch, all.length, width});
  const std::uint32_t step = rows_at_once();
  for (std::uint32_t first = 0; first < all.length; first += step) {
    const StateRows rows{.layer = last_layer(), .tokens = {first, std::min(step, all.length - first)}};
    const Tensor some = read_logits(std::span(&rows, 1));
    const auto row_bytes = static_cast<std::ptrdiff_t>(std::size_t{rows.tokens.count} * width);
    for (std::uint32_t item = 0; item < all.batch; ++item) {
      std::copy_n(some.values.begin() + item * row_bytes, row_bytes,
                  result.values.begin() + static_cast<std::ptrdiff_t>((std::size_t{item} * all.length + first) * width));
    }
  }
  return result;
}

Tensor DeviceRun::logits(std::span<const StateRef> states) const {
  if (!has_logits() || states.empty()) return {};
  const std::uint32_t width = layers_->unembedding->linear.width;
  Tensor result({static_cast<std::uint32_t>(states.size()), width});
  const StatesByRow wanted = by_row(states, last_layer(), kernels_.context(), *layers_->lens);
  for (auto first = wanted.cbegin(); first != wanted.cend();) {
    const auto [end, rows] = next_rows(first, wanted.end(), rows_at_once());
    copy_rows(read_logits(rows), first, end, states, result);
    first = end;
  }
  return result;
}

std::shared_ptr<const void> DeviceRun::record_stream(gpu::Stream& stream, model::BlockRef ref, ops::Rows rows,
                                                     StreamStages& stages) const {
  /// The tensors that the recorder computes in; they live until the submission is done.
  struct Used {
    RunTensors run;
    ScratchTensors scratch;
    Forward forward;
  };
  const std::uint32_t layer = ref.layer.value;
  const attention::BlockRun& block = run_.block(ref);
  const bool is_encoder = ref.kind == model::BlockKind::EncoderSelf;
  check_layer(is_encoder ? Stack::Encoder : Stack::Decoder, layer);
  // The layer's input: of a cross-attention after a self-attention the state between the two.
  attention::DeviceTensorPtr x = (is_encoder ? run_.encoder_states : run_.decoder_states)[layer];
  if (ref.kind == model::BlockKind::Cross && inputs().network->layers->decoder[layer].self) {
    const auto edited = tensors_.find({ref.kind, layer, Role::Edited});
    x = edited ? edited : tensors_.find({model::BlockKind::DecoderSelf, layer, Role::Middle});
  }
  const auto used = std::make_shared<Used>();
  const PassTensors tensors{.run = used->run, .scratch = used->scratch};
  LayerRecorder recorder(stream, kernels_, inputs(), tensors, used->forward);
  const LayerPosition place{.ref = ref,
                            .rows = rows,
                            .capacity = block.merged->tokens,
                            .key_capacity = 0,
                            .key_rows = {},
                            .result = {ref.kind, layer + 1, Role::State}};
  const auto& decoder = layers_->decoder;
  const DeviceLayer& weights = is_encoder                            ? *layers_->encoder[layer]
                               : ref.kind == model::BlockKind::Cross ? *decoder[layer].cross
                                                                     : *decoder[layer].self;
  recorder.stream_stages(place, inputs().network->layer(ref), weights, block, x, stages);
  return used;
}

RecordedRows DeviceRun::record_residuals(gpu::Stream& stream, std::span<const ResidualRows> requests) const {
  check();
  RecordedRows recorded;
  for (const ResidualRows& rows : requests) {
    const auto& states = rows.stack == Stack::Encoder ? run_.encoder_states : run_.decoder_states;
    const bool is_state = rows.part == StreamPart::State;
    if (rows.layer >= states.size()) throw Error("the run has no residual stream after {} layers", rows.layer);
    check_layer(rows.stack, rows.layer);
    const model::TokenBatch& all = tokens(rows.stack);
    const bool is_inside = rows.batch < all.batch && rows.first < all.length && rows.count <= all.length - rows.first;
    if (!is_inside || rows.count == 0) {
      throw Error("the run has no tokens {} to {} in batch item {}", rows.first, rows.first + rows.count, rows.batch);
    }
    attention::DeviceTensorPtr values = states[rows.layer];
    if (!is_state) {
      const bool is_encoder = rows.stack == Stack::Encoder;
      const model::BlockRef block{is_encoder ? model::BlockKind::EncoderSelf : model::BlockKind::Cross,
                                  LayerIndex{rows.layer}};
      const bool has_layer = rows.layer + 1 < states.size();
      if (!has_layer || !run_.block(block).shape.has_feed_forward) {
        throw Error("the run has no feed-forward network in layer {}", rows.layer);
      }
      StreamStages stages{{attention::Stage::FfnOutput, nullptr}};
      recorded.keep(record_stream(stream, block, {0, all.length}, stages));
      values = stages.begin()->second;
    }
    recorded.add(stream, *values, rows.batch, {rows.first, rows.count});
  }
  return recorded;
}

std::vector<Tensor> DeviceRun::residuals(std::span<const ResidualRows> requests) const {
  if (requests.empty()) return {};
  gpu::Stream stream(kernels_.context());
  const RecordedRows recorded = record_residuals(stream, requests);
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  return recorded.read(submission);
}

std::vector<Tensor> DeviceRun::products(std::span<const Product> products) const {
  check();
  if (products.empty()) return {};
  std::map<const model::Linear*, std::shared_ptr<const ops::PackedLinear>> weights;
  for (const Product& product : products) {
    auto& weight = weights[product.weight.get()];
    if (weight || !product.weight) continue;
    weight =
        std::make_shared<const ops::PackedLinear>(upload_linear(kernels_.context(), *product.weight, "a head's weights"));
  }
  gpu::Stream stream(kernels_.context());
  RecordedRows recorded;
  for (const Product& product : products) {
    const auto& own = weights.at(product.weight.get());
    const ops::PackedLinear& weight = own ? *own : layers_->unembedding.value().linear;
    const std::uint32_t count = product.rows.axis(0);
    const auto tensor = [&](std::uint32_t width) {
      return std::make_shared<const ops::DeviceTensor>(stream, 1, 1, count, width, "rows of token vectors");
    };
    const auto x = tensor(product.rows.axis(1)), y = tensor(weight.width);
    x->upload(stream, product.rows);
    ops::linear(stream, kernels_, *x, weight, *y, {});
    recorded.add(stream, *y, 0, {0, count});
    for (const std::shared_ptr<const void>& used :
         {std::shared_ptr<const void>(x), std::shared_ptr<const void>(y), std::shared_ptr<const void>(own)})
      recorded.keep(used);
  }
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  return recorded.read(submission);
}

Run::Answers DeviceRun::answer(const Questions& questions) const {
  check();
  StatesByRow wanted;
  if (has_logits()) wanted = by_row(questions.states, last_layer(), kernels_.context(), *layers_->lens);
  const int kinds = static_cast<int>(!wanted.empty()) + static_cast<int>(!questions.tiles.empty()) +
                    static_cast<int>(!questions.residuals.empty());
  const bool has_stream = std::ranges::any_of(
      questions.tiles, [](const attention::TileRequest& request) { return attention::is_of_stream(request.stage); });
  const bool is_one = kinds > 1 && !has_stream && (wanted.empty() || wanted.size() <= rows_at_once()) &&
                      (questions.tiles.empty() ||
                       attention::RecordedTiles::count(kernels_.context(), questions.tiles) == questions.tiles.size());
  if (!is_one || !questions.products.empty()) return Run::answer(questions);
  gpu::Stream stream(kernels_.context());
  std::optional<attention::RecordedTiles> tiles;
  if (!questions.tiles.empty()) tiles.emplace(stream, kernels_, run_, questions.tiles);
  const auto [end, rows] = next_rows(wanted.begin(), wanted.end(), wanted.size());
  std::optional<RecordedLogits> logits;
  if (!wanted.empty()) logits = record_logits(stream, rows);
  const RecordedRows residuals = record_residuals(stream, questions.residuals);
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  Answers answers;
  if (tiles) answers.tiles = tiles->read(submission);
  if (logits) {
    answers.logits = Tensor({static_cast<std::uint32_t>(questions.states.size()), layers_->unembedding->linear.width});
    copy_rows(logits->read(submission), wanted.begin(), end, questions.states, answers.logits);
  }
  answers.residuals = residuals.read(submission);
  return answers;
}

}  // namespace headlight::inference
