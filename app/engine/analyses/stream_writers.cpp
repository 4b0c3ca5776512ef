#include "app/engine/analyses/stream_writers.h"

#include "app/state/run_interventions.h"
#include "inference/embed.h"
#include "model/head_weight.h"

namespace headlight::app {
namespace {

using attribution::FrozenReader, attribution::HeadReader, attribution::Writer, attribution::WriterKind;
using Rows = FrozenReader::Rows;

/// Multiply-adds of one step.
constexpr std::size_t kReaderWork = std::size_t{1} << 24;

Rows& operator+=(Rows& to, const Rows& other) {
  std::ranges::transform(to.values, other.values, to.values.begin(), std::plus());
  return to;
}

Rows& operator-=(Rows& to, const Rows& other) {
  std::ranges::transform(to.values, other.values, to.values.begin(), std::minus());
  return to;
}

Rows rows_of(const attention::Tile& tile) {
  return {.shape = {tile.request.rows, tile.request.columns}, .values = {tile.values.begin(), tile.values.end()}};
}

/// x + scale · inside(y)
Rows sum_of(const model::BranchNorms& norms, Rows x, Rows y) {
  y = model::reference::apply(norms.inside, std::move(y));
  for (std::size_t i = 0; i < y.values.size(); ++i) x.values[i] += double{norms.scale} * y.values[i];
  return x;
}

/// The stream that a side is read from, up to where it is read.
struct SideStream {
  const model::Network& network;
  const model::TokenBatch& tokens;
  inference::Stack stack = inference::Stack::Encoder;
  std::uint32_t layers = 0;                          ///< whole ones before it
  std::optional<model::BlockRef> before_cross = {};  ///< the self-attention of a cross-attention's own layer
  const std::optional<model::Norm>* norm = nullptr;  ///< between the stream and the projection

  SideStream(const ReadSide& side, const AnalysisSubject& subject)
      : network(*subject.network),
        tokens(side.is_of_keys ? subject.input->keys(side.block.kind) : subject.input->queries(side.block.kind)),
        layers(side.block.layer.value) {
    const model::AttentionLayer& own = network.layer(side.block);
    norm = &own.norms.before;
    if (side.block.kind == model::BlockKind::EncoderSelf) return;
    if (side.block.kind == model::BlockKind::Cross && side.is_of_keys) {
      layers = static_cast<std::uint32_t>(network.layers->encoder.size());
      norm = &network.layers->encoder_norm;
      return;
    }
    stack = inference::Stack::Decoder;
    const bool has_self = side.block.kind == model::BlockKind::Cross && network.layers->decoder[layers].self;
    if (has_self) before_cross = {model::BlockKind::DecoderSelf, side.block.layer};
  }

  std::vector<model::BlockRef> blocks(std::uint32_t layer) const {
    if (stack == inference::Stack::Encoder) return {{model::BlockKind::EncoderSelf, LayerIndex{layer}}};
    std::vector<model::BlockRef> blocks = {{model::BlockKind::Cross, LayerIndex{layer}}};
    if (network.layers->decoder[layer].self)
      blocks.insert(blocks.begin(), {model::BlockKind::DecoderSelf, LayerIndex{layer}});
    return blocks;
  }
  const model::Embedding* embedding() const {
    return (stack == inference::Stack::Encoder ? network.source_embedding : network.target_embedding).get();
  }
};

/// A layer's attentions one after the other, and the feed-forward after them.
struct LayerParts {
  std::vector<model::BlockRef> blocks;
  const model::AttentionLayer* last = nullptr;  ///< whose feed-forward counts; null: none does
  bool is_post_norm = false, is_bare = false;   ///< norms follow the sums; nothing is added to the stream, which is replaced
  bool reads_output = false;                    ///< what W_O returned is read as well: norms need it, or the sum
};

LayerParts parts_of(const model::Network& network, std::vector<model::BlockRef> blocks, bool is_whole) {
  LayerParts parts{.blocks = std::move(blocks)};
  for (const model::BlockRef block : parts.blocks) {
    const model::AttentionLayer& layer = network.layer(block);
    parts.is_post_norm = parts.is_post_norm || layer.norms.after;
    parts.is_bare = parts.is_bare || layer.norms.is_empty();
    parts.reads_output = parts.reads_output || !is_whole || layer.norms.inside;
    if (is_whole && layer.has_feed_forward()) parts.last = &layer;
  }
  parts.is_post_norm = parts.is_post_norm || (parts.last != nullptr && parts.last->feed_forward_norms.after);
  parts.reads_output = parts.reads_output || parts.is_post_norm || parts.is_bare;
  return parts;
}

/// What is read of a layer, in the order of its reads.
struct LayerRows {
  Rows before;                                ///< the stream that the layer reads
  std::vector<Rows> merged, output, sums;     ///< [attention] W_O's input, its result; the latter before the norm after it
  Rows feed_forward_input, feed_forward_sum;  ///< before the norm after it; of post-norm layers alone
};

Reads reads_of(const ReadSide& side, const SideStream& stream, const LayerParts& parts, std::uint32_t layer,
               const AnalysisSubject& subject) {
  Reads reads;
  inference::ResidualRows rows{
      .stack = stream.stack, .layer = layer, .batch = side.batch, .first = side.first, .count = side.count};
  reads.residuals.push_back(rows);
  rows.part = inference::StreamPart::FeedForward;
  if (parts.is_post_norm && parts.last != nullptr) reads.residuals.push_back(rows);
  for (const model::BlockRef block : parts.blocks) {
    const inference::BlockShape& shape = subject.shapes.at(block);
    for (const attention::Stage stage : {attention::Stage::Merged, attention::Stage::Output}) {
      if (stage == attention::Stage::Output && !parts.reads_output) continue;
      reads.tiles.push_back({.block = block,
                             .batch = side.batch,
                             .stage = stage,
                             .row = side.first,
                             .rows = side.count,
                             .columns = stage == attention::Stage::Merged ? shape.d_merged : shape.d_output});
    }
  }
  return reads;
}

LayerRows rows_of(const model::Network& network, const LayerParts& parts, const Answers& read) {
  LayerRows rows;
  rows.before = model::reference::widen(read.residuals.front());
  Rows x = rows.before;
  for (std::size_t i = 0; i < parts.blocks.size(); ++i) {
    const model::AttentionLayer& layer = network.layer(parts.blocks[i]);
    rows.merged.push_back(rows_of(read.tiles[parts.reads_output ? 2 * i : i]));
    if (!parts.reads_output) continue;
    rows.output.push_back(rows_of(read.tiles[2 * i + 1]));
    x = parts.is_bare ? rows.output.back() : sum_of(layer.norms, std::move(x), rows.output.back());
    rows.sums.push_back(x);
    x = model::reference::apply(layer.norms.after, std::move(x));
  }
  rows.feed_forward_input = x;
  if (read.residuals.size() > 1) {
    rows.feed_forward_sum =
        sum_of(parts.last->feed_forward_norms, std::move(x), model::reference::widen(read.residuals.back()));
  }
  return rows;
}

/// The reader of a head's queries or keys, of the stream x.
FrozenReader reader_of(const ReadSide& side, const SideStream& stream, const Rows& x) {
  const model::AttentionLayer& layer = stream.network.layer(side.block);
  const model::HeadWeight weight =
      head_weight(layer, side.is_of_keys ? model::Projection::Key : model::Projection::Query, side.head);
  const std::optional<model::Norm>& norm = side.is_of_keys ? layer.weights->key_norm : layer.weights->query_norm;
  const bool is_whole = norm && norm->spans_heads;
  const model::Linear linear = is_whole ? *weight.linear : weight.linear->rows(weight.first, weight.count);
  const auto pass = [&](FrozenReader& reader) {
    reader.pass_linear(linear);
    if (*stream.norm) reader.pass_norm(**stream.norm, x);
  };
  FrozenReader reader(is_whole ? weight.first : 0, weight.count, linear.out(), side.count);
  if (layer.config.rotary) {
    reader.turn(stream.network.layers->rotaries[*layer.config.rotary], stream.tokens, side.batch, side.first);
  }
  if (norm) {
    FrozenReader plain(0, linear.out(), linear.out(), side.count);
    pass(plain);
    Rows projected = plain.of(x);
    projected += plain.take_biases();
    const bool is_shared = is_whole || norm->weight.axis(0) == weight.count;
    reader.pass_norm(*norm, projected, is_shared ? 0 : weight.first);
  }
  pass(reader);
  return reader;
}

/// One item's rows of [item, token, width].
Rows item_of(const Rows& all, std::uint32_t item) {
  const std::size_t size = std::size_t{all.shape[1]} * all.shape[2];
  const auto first = all.values.begin() + static_cast<std::ptrdiff_t>(item * size);
  return {.shape = {all.shape[1], all.shape[2]}, .values = {first, first + static_cast<std::ptrdiff_t>(size)}};
}

/// Where the stream begins. Returns false where `take` does.
bool take_embedding(const ReadSide& side, const SideStream& stream, FrozenReader& reader, bool is_changed, const Rows& whole,
                    const TakeWriter& take) {
  using Part = inference::EmbeddingPart;
  const model::Embedding* embedding = stream.embedding();
  if (embedding == nullptr) {
    return take({.kind = WriterKind::Token}, whole, nullptr) &&
           take({.kind = WriterKind::Bias}, reader.take_biases(), nullptr);
  }
  const auto part_of = [&](Part part) {
    return model::reference::widen(
        inference::embed_part(*embedding, stream.tokens, side.batch, {side.first, side.count}, part));
  };
  Rows biases = reader.take_biases(), change = whole;
  bool goes_on = true;
  const auto put = [&](WriterKind kind, const Rows& rows) {
    change -= rows;
    goes_on = goes_on && take({.kind = kind}, rows, nullptr);
  };
  const auto put_positions = [&] {
    if (!embedding->positions.is_empty()) put(WriterKind::Position, reader.of(part_of(Part::Positions)));
    if (!embedding->types.is_empty()) put(WriterKind::Type, reader.of(part_of(Part::Types)));
  };
  const Tensor last = inference::embed_positions(*embedding, stream.tokens, {side.first, side.count});
  const bool is_last = !last.is_empty();  // positions and types follow the projection
  if (is_last) put(WriterKind::Position, reader.of(item_of(model::reference::widen(last), side.batch)));
  if (embedding->projection) reader.pass_linear(*embedding->projection);
  if (embedding->norm) reader.pass_norm(*embedding->norm, part_of(is_last ? Part::Tokens : Part::Sum));
  if (!is_last) put_positions();
  put(WriterKind::Token, reader.of(part_of(Part::Tokens)));
  const Rows of_embedding = reader.take_biases();
  change -= of_embedding;
  biases += of_embedding;
  if (is_changed) goes_on = goes_on && take({.kind = WriterKind::Change}, change, nullptr);
  return goes_on && take({.kind = WriterKind::Bias}, std::move(biases), nullptr);
}

}  // namespace

Task<bool> read_writers(ReadSide side, AnalysisSubject subject, TakeWriter take) {
  const SideStream stream(side, subject);
  const model::Network& network = stream.network;
  const bool has_stack = stream.layers > 0 || stream.before_cross || subject.shapes.contains(stream.blocks(0).front());
  // The stream at the projection: a state, behind a self-attention of the same layer where that comes first.
  LayerParts parts =
      parts_of(network, stream.before_cross ? std::vector{*stream.before_cross} : std::vector<model::BlockRef>(), false);
  LayerRows rows;
  if (has_stack) {
    const Answers read = co_await reads_of(side, stream, parts, stream.layers, subject);
    rows = rows_of(network, parts, read);
  } else {
    rows.before = rows.feed_forward_input = item_of(
        model::reference::widen(inference::embed(stream.embedding(), stream.tokens, {side.first, side.count})), side.batch);
  }
  FrozenReader reader = reader_of(side, stream, rows.sums.empty() ? rows.before : rows.feed_forward_input);
  Rows end = reader.of(rows.feed_forward_input);
  for (std::uint32_t layer = stream.layers;;) {
    if (!parts.blocks.empty()) {
      Rows rest = end;
      if (parts.is_post_norm && parts.last != nullptr) {
        if (const auto& after = parts.last->feed_forward_norms.after) reader.pass_norm(*after, rows.feed_forward_sum);
        Rows written = rows.feed_forward_sum;
        written -= rows.feed_forward_input;
        if (!take({.kind = WriterKind::FeedForward, .block = parts.blocks.back()}, reader.of(written), nullptr)) {
          co_return false;
        }
      }
      for (std::size_t i = parts.blocks.size(); i-- > 0;) {
        const model::AttentionLayer& of = network.layer(parts.blocks[i]);
        if (of.norms.after) reader.pass_norm(*of.norms.after, rows.sums[i]);
        FrozenReader own = reader;
        (void)own.take_biases();
        own.pass_scale(double{of.norms.scale});
        if (of.norms.inside) own.pass_norm(*of.norms.inside, rows.output[i]);
        HeadReader heads(std::move(own), of);
        Rows bias = heads.take_bias();
        rest -= bias;
        const bool has_bias = of.weights->output->has_bias() || (of.norms.inside && !of.norms.inside->bias.is_empty());
        if (has_bias && !take({.kind = WriterKind::AttentionBias, .block = parts.blocks[i]}, std::move(bias), nullptr)) {
          co_return false;
        }
        for (std::uint32_t head = 0; head < of.config.heads; ++head) {
          Rows part = heads.of(head, rows.merged[i]);
          rest -= part;
          if (!take({.kind = WriterKind::Head, .block = parts.blocks[i], .head = head}, std::move(part), &heads)) {
            co_return false;
          }
          if (std::size_t{side.count} * of.config.d_v * reader.d_k() > kReaderWork / of.config.heads)
            co_await read_nothing();
        }
      }
      if (parts.is_bare) co_return take({.kind = WriterKind::Bias}, reader.take_biases(), nullptr);
      Rows begin = reader.of(rows.before);
      if (parts.is_post_norm) {
        if (!take({.kind = WriterKind::Before, .block = parts.blocks.front()}, std::move(begin), nullptr)) co_return false;
        co_return take({.kind = WriterKind::Bias}, reader.take_biases(), nullptr);
      }
      rest -= begin;
      const bool is_written = parts.last != nullptr;
      if (is_written && !take({.kind = WriterKind::FeedForward, .block = parts.blocks.back()}, std::move(rest), nullptr)) {
        co_return false;
      }
      end = std::move(begin);
    }
    if (layer == 0) break;
    parts = parts_of(network, stream.blocks(--layer), true);
    const Answers read = co_await reads_of(side, stream, parts, layer, subject);
    rows = rows_of(network, parts, read);
  }
  const bool is_encoder = stream.stack == inference::Stack::Encoder;
  const model::BlockRef first{is_encoder ? model::BlockKind::EncoderSelf : model::BlockKind::DecoderSelf, {}};
  const auto changes = interventions_of(*subject.inputs, network);
  const bool is_changed = std::ranges::any_of(changes, [&](const inference::Intervention& one) {
    return one.site == model::Site::Residual && one.scope.covers(first);
  });
  co_return take_embedding(side, stream, reader, is_changed, end, take);
}

}  // namespace headlight::app
