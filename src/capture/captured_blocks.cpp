#include "capture/stored_capture.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "core/error.h"
#include "model/network.h"

namespace headlight::capture {
namespace {

using model::BlockKind;
using model::BlockRef;

constexpr std::uint32_t kMaxLayers = 4096, kMaxTokens = std::uint32_t{1} << 20;
constexpr std::uint32_t kMaxImageTensors = 4096;
constexpr std::size_t kMaxLabels = std::size_t{1} << 24;  ///< tokens of all lines

enum class Part : std::uint8_t { Weights, Query, Key, Value, Bias, Sinks, Output };
constexpr std::size_t kPartCount = 7;

/// The block and the part of it that an array's name stands for.
struct ArrayName {
  BlockRef block;
  Part part = Part::Weights;
};

struct Prefix {
  std::string_view text;
  BlockKind kind;
};
constexpr std::array kPrefixes = {Prefix{"encoder_", BlockKind::EncoderSelf}, Prefix{"decoder_", BlockKind::DecoderSelf},
                                  Prefix{"cross_", BlockKind::Cross}, Prefix{"", BlockKind::EncoderSelf}};
struct PartName {
  std::string_view text;
  Part part;
};
constexpr std::array<PartName, kPartCount> kParts = {{{"attention.", Part::Weights},
                                                      {"q.", Part::Query},
                                                      {"k.", Part::Key},
                                                      {"v.", Part::Value},
                                                      {"bias.", Part::Bias},
                                                      {"sinks.", Part::Sinks},
                                                      {"o.", Part::Output}}};

/// The digits at the end of a name.
std::optional<std::uint32_t> parse_number(std::string_view digits, std::uint32_t most) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size() || number >= most) return std::nullopt;
  return number;
}

std::optional<ArrayName> parse_name(std::string_view name) {
  for (const Prefix& prefix : kPrefixes) {
    if (!name.starts_with(prefix.text)) continue;
    const std::string_view rest = name.substr(prefix.text.size());
    for (const PartName& part : kParts) {
      if (!rest.starts_with(part.text)) continue;
      const auto layer = parse_number(rest.substr(part.text.size()), kMaxLayers);
      if (!layer) return std::nullopt;
      return ArrayName{.block = {.kind = prefix.kind, .layer = {*layer}}, .part = part.part};
    }
  }
  return std::nullopt;
}

/// The arrays of one block.
struct Parts {
  std::array<const StoredArray*, kPartCount> arrays = {};

  const StoredArray*& at(Part part) { return arrays[static_cast<std::size_t>(part)]; }
  const StoredArray* at(Part part) const { return arrays[static_cast<std::size_t>(part)]; }
  bool has(Part part) const { return at(part) != nullptr; }
  bool has_attention() const { return has(Part::Weights) || has(Part::Query) || has(Part::Key); }
  const StoredArray& first() const {
    return **std::ranges::find_if(arrays, [](auto* array) { return array != nullptr; });
  }
};

/// Makes the blocks of a file's arrays; every error names the file.
class BlockBuilder {
 public:
  /// `cached`: tokens whose keys are there, but whose rows are not.
  BlockBuilder(std::string file, const StoredCapture& stored, std::uint32_t cached)
      : file_(std::move(file)), cached_(cached) {
    for (const StoredArray& array : stored.arrays) {
      if (content_of(array.name) == Content::Attention) add(array);
    }
    const bool has_any = std::ranges::any_of(parts_, [](const auto& item) { return item.second.has_attention(); });
    if (!has_any) {
      fail(
          "it has no array called attention.0 (or encoder_attention.0, decoder_attention.0, cross_attention.0), nor q.0 and "
          "k.0; docs/CAPTURES.md says how to save them");
    }
  }

  std::vector<CapturedBlock> build() {
    expect_all_layers();
    std::vector<CapturedBlock> blocks;
    has_decoder_ = std::ranges::any_of(parts_, [](const auto& item) { return item.first.kind != BlockKind::EncoderSelf; });
    for (const auto& entry : parts_) {
      const BlockRef ref = entry.first;
      const Parts& parts = entry.second;
      if (!parts.has_attention())
        fail("'{}' has no attention beside it; save weights, or queries and keys, with it", parts.first().name);
      const bool has_weights = parts.has(Part::Weights);
      blocks.push_back(has_weights ? from_weights(ref, *parts.at(Part::Weights)) : from_queries(ref, parts));
      const auto is_unread = [&](Part part) { return has_weights && parts.has(part); };
      blocks.back().has_unread = std::ranges::any_of(std::array{Part::Query, Part::Key, Part::Bias, Part::Sinks}, is_unread);
      if (parts.has(Part::Value)) add_values(blocks.back(), *parts.at(Part::Value));
      if (parts.has(Part::Output)) add_output(blocks.back(), *parts.at(Part::Output));
      expect_like_first(blocks.back());
    }
    expect_like_each_other(blocks);
    return blocks;
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error("{}: {}", file_, fmt::format(format, std::forward<Args>(args)...));
  }

  void add(const StoredArray& array) {
    const ArrayName name = *parse_name(array.name);
    const StoredArray*& place = parts_[name.block].at(name.part);
    if (place != nullptr) fail("'{}' and '{}' are the same attention; keep one", place->name, array.name);
    place = &array;
  }

  /// Layers are numbered from 0 on; one that isn't there would shift all after it.
  void expect_all_layers() const {
    std::map<BlockKind, std::uint32_t> next;
    for (const auto& [ref, parts] : parts_) {
      std::uint32_t& expected = next[ref.kind];
      if (ref.layer.value != expected) {
        fail("layer {} of the {} attention is missing, but layer {} is there; save all layers, numbered from 0", expected,
             to_string(ref.kind), ref.layer.value);
      }
      ++expected;
    }
  }

  /// [batch, heads, rows, columns]; a shape of three axes has a batch of one.
  Shape four_axes(const StoredArray& array) const {
    Shape shape = array.shape;
    if (shape.size() == 3) shape.insert(shape.begin(), 1);
    if (shape.size() != 4) {
      fail("'{}' is {}; attention is [batch, heads, queries, keys] or [heads, queries, keys]", array.name,
           headlight::to_string(array.shape));
    }
    if (std::ranges::count(shape, 0U) > 0) fail("'{}' is {}: it is empty", array.name, headlight::to_string(array.shape));
    if (shape[1] > model::kMaxModelHeads) {
      fail("'{}' has {} heads, more than the {} that are shown; save fewer", array.name, shape[1], model::kMaxModelHeads);
    }
    if (std::max(shape[2], shape[3]) > kMaxTokens || std::size_t{shape[0]} * shape[2] > kMaxLabels) {
      fail("'{}' is {}: that is more than the {} tokens that are shown; save a part of the text", array.name,
           headlight::to_string(array.shape), kMaxTokens);
    }
    return shape;
  }

  /// Rows that are missing: an encoder beside a decoder has no cache.
  std::uint32_t cached_rows(BlockKind kind) const { return has_decoder_ && kind == BlockKind::EncoderSelf ? 0 : cached_; }

  CapturedBlock from_weights(BlockRef ref, const StoredArray& array) const {
    const Shape shape = four_axes(array);
    CapturedBlock block = empty_block(ref, array, shape, shape[3]);
    block.shape.only_weights = true;
    block.weights = later_rows(array.open(shape), block.mask.first_row);
    return block;
  }

  CapturedBlock from_queries(BlockRef ref, const Parts& parts) const {
    const StoredArray *query = parts.at(Part::Query), *key = parts.at(Part::Key);
    if (query == nullptr || key == nullptr) {
      fail("'{}' has no {} beside it; save queries and keys of a layer together", parts.first().name,
           query != nullptr ? "keys" : "queries");
    }
    const Shape queries = four_axes(*query), keys = four_axes(*key);
    const bool fits = queries[0] == keys[0] && queries[3] == keys[3] && queries[1] % keys[1] == 0;
    if (!fits) {
      fail("'{}' is {} and '{}' {}: batch and d_k have to be equal, and the keys' heads divide the queries'", query->name,
           headlight::to_string(query->shape), key->name, headlight::to_string(key->shape));
    }
    CapturedBlock block = empty_block(ref, *query, queries, keys[2]);
    block.shape.d_k = queries[3];
    block.shape.kv_heads = keys[1];
    if (block.shape.d_k > model::kMaxModelWidth) fail("'{}' has a d_k of {}", query->name, block.shape.d_k);
    block.queries = later_rows(query->open(queries), block.mask.first_row);
    block.keys = key->open(keys);
    if (parts.has(Part::Bias)) add_bias(block, *parts.at(Part::Bias), queries[2]);
    if (parts.has(Part::Sinks)) add_sinks(block, *parts.at(Part::Sinks));
    return block;
  }

  void add_bias(CapturedBlock& block, const StoredArray& array, std::uint32_t captured_queries) const {
    const Shape bias = four_axes(array);
    const attention::BlockShape& shape = block.shape;
    const bool fits = (bias[0] == 1 || bias[0] == shape.batch) && (bias[1] == 1 || bias[1] == shape.heads) &&
                      bias[2] == captured_queries && bias[3] == shape.keys;
    if (!fits) {
      fail("'{}' is {}, but is added to scores of {} lines, {} heads, {} queries and {} keys", array.name,
           headlight::to_string(array.shape), shape.batch, shape.heads, captured_queries, shape.keys);
    }
    block.score.bias = later_rows(array.open(bias), block.mask.first_row);
  }

  void add_sinks(CapturedBlock& block, const StoredArray& array) const {
    if (array.shape != Shape{block.shape.heads}) {
      fail("'{}' is {}; save a score for each of the {} heads", array.name, headlight::to_string(array.shape),
           block.shape.heads);
    }
    block.score.sinks = array.open({1, block.shape.heads, 1, 1});
  }

  void add_values(CapturedBlock& block, const StoredArray& array) const {
    const Shape values = four_axes(array);
    attention::BlockShape& shape = block.shape;
    const bool has_heads = shape.only_weights ? shape.heads % values[1] == 0 : shape.kv_heads == values[1];
    if (values[0] != shape.batch || values[2] != shape.keys || !has_heads) {
      fail("'{}' is {}, but its attention has {} lines, {} heads{} and {} keys; save them of one pass", array.name,
           headlight::to_string(array.shape), shape.batch, shape.only_weights ? shape.heads : shape.kv_heads,
           shape.only_weights ? ", which theirs divide," : " of keys", shape.keys);
    }
    if (values[3] > model::kMaxModelWidth) fail("'{}' has a d_v of {}", array.name, values[3]);
    shape.has_values = true;
    shape.kv_heads = values[1];
    shape.d_v = values[3];
    shape.d_merged = shape.heads * shape.d_v;
    block.values = array.open(values);
  }

  void add_output(CapturedBlock& block, const StoredArray& array) const {
    const attention::BlockShape& shape = block.shape;
    if (!shape.has_values) fail("'{}' has no values beside it, which it is multiplied with", array.name);
    const bool fits = array.shape.size() == 2 && array.shape[0] > 0 && array.shape[0] <= model::kMaxModelWidth &&
                      array.shape[1] == shape.d_merged;
    if (!fits) {
      fail("'{}' is {}, but {} heads of {} values give [d_model, {}]", array.name, headlight::to_string(array.shape),
           shape.heads, shape.d_v, shape.d_merged);
    }
    if (array.matrix) {
      block.output = array.matrix();
      return;
    }
    const std::uint32_t rows = array.shape[0], columns = array.shape[1];
    const std::shared_ptr<const Numbers> numbers = array.open({1, 1, rows, columns});
    Tensor weight({rows, columns});
    numbers->read({.item = 0, .head = 0, .row = 0, .rows = rows, .column = 0, .columns = columns}, weight.values.data());
    block.output = std::move(weight);
  }

  /// `rows` [batch, heads, captured queries, …].
  CapturedBlock empty_block(BlockRef ref, const StoredArray& array, const Shape& rows, std::uint32_t keys) const {
    CapturedBlock block{.ref = ref, .shape = {}, .mask = {.first_row = cached_rows(ref.kind)}};
    const std::uint32_t queries = rows[2] + block.mask.first_row;
    if (ref.kind != BlockKind::Cross && queries != keys) fail_of_sizes(ref, array, rows[2], keys);
    if (queries > kMaxTokens || std::size_t{rows[0]} * queries > kMaxLabels) {
      fail("with the {} tokens of its cache '{}' has more than the {} that are shown; save a part of the text", cached_,
           array.name, kMaxTokens);
    }
    block.shape.batch = rows[0];
    block.shape.heads = block.shape.kv_heads = rows[1];
    block.shape.queries = queries;
    block.shape.keys = keys;
    block.shape.has_values = false;
    return block;
  }

  /// Throws Error of a self-attention whose queries aren't its keys.
  [[noreturn]] void fail_of_sizes(BlockRef ref, const StoredArray& array, std::uint32_t queries, std::uint32_t keys) const {
    const std::string found = fmt::format("'{}' has {} queries and {} keys", array.name, queries, keys);
    if (cached_rows(ref.kind) > 0) {
      fail("{}, which with the {} 'cached' tokens of its metadata are no {}; save them of one pass", found, cached_, keys);
    }
    if (queries < keys) {
      fail(
          "{}, but the tokens of self-attention are both; if the other {} were in a cache, add \"cached\": \"{}\" to the "
          "metadata",
          found, keys - queries, keys - queries);
    }
    fail(
        "{}, but the tokens of self-attention are both; save attention of windows (Longformer) with all keys, 0 outside of "
        "them",
        found);
  }

  static std::string name_of(const CapturedBlock& block) {
    return block.weights ? block.weights->name() : block.queries->name();
  }

  void expect_like_first(const CapturedBlock& block) {
    const auto [first, is_first] = first_of_kind_.try_emplace(block.ref.kind, block);
    const attention::BlockShape &here = block.shape, &there = first->second.shape;
    if (here.batch != there.batch && here.queries == there.queries && here.keys == there.keys) {
      fail(
          "'{}' has {} lines of {} tokens, but '{}' {}; of attention in windows (Swin) save layers with as many windows in "
          "one file",
          name_of(block), here.batch, here.queries, name_of(first->second), there.batch);
    }
    if (here.batch != there.batch || here.queries != there.queries || here.keys != there.keys) {
      fail("'{}' has {} lines of {} queries and {} keys, but '{}' {} of {} and {}; save all layers of one pass",
           name_of(block), here.batch, here.queries, here.keys, name_of(first->second), there.batch, there.queries,
           there.keys);
    }
  }

  /// Cross-attention's keys are the encoder's tokens, and its queries the decoder's.
  void expect_like_each_other(const std::vector<CapturedBlock>& blocks) const {
    const auto first = [&](BlockKind kind) {
      const auto found = std::ranges::find(blocks, kind, [](const CapturedBlock& block) { return block.ref.kind; });
      return found == blocks.end() ? nullptr : &*found;
    };
    const CapturedBlock* cross = first(BlockKind::Cross);
    const CapturedBlock* encoder = first(BlockKind::EncoderSelf);
    const CapturedBlock* decoder = first(BlockKind::DecoderSelf);
    const auto expect = [&](const CapturedBlock* self, std::uint32_t tokens, const char* what) {
      if (self == nullptr || cross == nullptr) return;
      if (self->shape.queries == tokens && self->shape.batch == cross->shape.batch) return;
      fail("'{}' has {} lines of {} tokens, but the {} of '{}' are {} of {}; save them of one pass", name_of(*self),
           self->shape.batch, self->shape.queries, what, name_of(*cross), cross->shape.batch, tokens);
    };
    expect(encoder, cross != nullptr ? cross->shape.keys : 0, "keys");
    expect(decoder, cross != nullptr ? cross->shape.queries : 0, "queries");
    if (cross == nullptr && encoder != nullptr && decoder != nullptr && encoder->shape.batch != decoder->shape.batch) {
      fail("'{}' has {} lines, but '{}' {}; save them of one pass", name_of(*encoder), encoder->shape.batch,
           name_of(*decoder), decoder->shape.batch);
    }
  }

  std::string file_;
  std::uint32_t cached_ = 0;
  bool has_decoder_ = false;
  std::map<BlockRef, Parts> parts_;
  std::map<BlockKind, CapturedBlock> first_of_kind_;
};

}  // namespace

std::optional<std::uint32_t> image_number(std::string_view name) {
  constexpr std::string_view kPrefix = "image.";
  return name.starts_with(kPrefix) ? parse_number(name.substr(kPrefix.size()), kMaxImageTensors) : std::nullopt;
}

Content content_of(std::string_view name) {
  if (name == "image" || image_number(name)) return Content::Pixels;
  return parse_name(name) ? Content::Attention : Content::None;
}

std::vector<CapturedBlock> make_blocks(std::string file, const StoredCapture& stored, std::uint32_t cached) {
  return BlockBuilder(std::move(file), stored, cached).build();
}

}  // namespace headlight::capture
