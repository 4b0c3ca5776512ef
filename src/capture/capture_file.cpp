#include "capture/capture_file.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "capture/capture_tokens.h"
#include "capture/stored_capture.h"
#include "core/error.h"

namespace headlight::capture {
namespace {

using model::BlockKind;

bool is_image(const StoredArray& array) { return content_of(array.name) == Content::Pixels; }

/// `image` alone, or else image.0, image.1, …
std::vector<const StoredArray*> images_of(const StoredCapture& stored) {
  std::vector<const StoredArray*> images;
  for (const StoredArray& array : stored.arrays) {
    if (is_image(array)) images.push_back(&array);
  }
  // "image" has no number, which is less than any.
  std::ranges::sort(images, {}, [](const StoredArray* array) { return image_number(array->name); });
  if (!images.empty() && !image_number(images.front()->name)) images.resize(1);
  return images;
}

std::shared_ptr<model::Network> make_network(const std::vector<CapturedBlock>& blocks) {
  auto layers = std::make_shared<model::Layers>();
  for (const CapturedBlock& block : blocks) {
    model::AttentionLayer layer;
    layer.config.heads = block.shape.heads;
    layer.config.d_k = block.shape.d_k;
    layer.config.kv_heads = block.shape.kv_heads;
    layer.config.d_v = block.shape.d_v;
    layer.config.scale = block.score.scale;
    layer.config.softcap = block.score.softcap;
    layer.config.window = block.mask.window;
    if (!block.output.is_empty()) layer.given_output = model::Linear{.weight = block.output};
    const std::uint32_t index = block.ref.layer.value;
    if (block.ref.kind == BlockKind::EncoderSelf) {
      layers->encoder.push_back(std::move(layer));
      continue;
    }
    if (layers->decoder.size() <= index) layers->decoder.resize(index + 1);
    model::DecoderLayer& decoder = layers->decoder[index];
    if (block.ref.kind == BlockKind::DecoderSelf) {
      decoder.self = std::move(layer);
    } else {
      decoder.cross = std::move(layer);
    }
  }
  auto network = std::make_shared<model::Network>();
  network->layers = std::move(layers);
  return network;
}

/// Lines and tokens of a side: an encoder's (or a single stack's) are the keys' of cross-attention. 0: there is none.
struct SideSize {
  std::uint32_t batch = 0, length = 0;
};
SideSize size_of_side(const std::vector<CapturedBlock>& blocks, bool is_source) {
  for (const CapturedBlock& block : blocks) {
    const bool is_cross = block.ref.kind == BlockKind::Cross;
    if (is_source ? is_cross || block.ref.kind == BlockKind::EncoderSelf : block.ref.kind != BlockKind::EncoderSelf) {
      return {.batch = block.shape.batch, .length = is_source ? block.shape.keys : block.shape.queries};
    }
  }
  return {};
}

/// Returns the metadata of a side's tokens. `is_alone`: a decoder without an encoder.
SideWords words_of(const CaptureWords& words, bool is_source, bool is_alone) {
  if (is_source) return with_missing(words.keys, words.plain);
  return is_alone ? with_missing(words.queries, words.plain) : words.queries;
}

/// Tokens without texts among which there are patches are called by these.
SideWords with_names(SideWords words, const CapturedImages& images, std::size_t side, SideSize size) {
  if (words.tokens || images.of_sides[side].empty()) return words;
  words.tokens.emplace();
  for (std::uint32_t line = 0; line < size.batch; ++line)
    words.tokens->lines.push_back(patch_names(images.of(side, line), size.length));
  return words;
}

/// Makes the prompt of both sides' tokens.
inference::Prompt make_prompt(const std::vector<CapturedBlock>& blocks, const CaptureWords& words,
                              const CapturedImages& images) {
  inference::Prompt prompt;
  const SideSize target = size_of_side(blocks, false), source = size_of_side(blocks, true);
  const auto tokens_of = [&](bool is_source, SideSize size) {
    const std::size_t side = is_source ? CapturedImages::kSource : CapturedImages::kTarget;
    return side_tokens(with_names(words_of(words, is_source, source.batch == 0), images, side, size), size.batch,
                       size.length);
  };
  if (target.batch > 0) {
    SideTokens side = tokens_of(false, target);
    prompt.input.target = std::move(side.batch);
    prompt.target_tokens = std::move(side.tokens);
  }
  if (source.batch == 0) {  // a decoder alone has no source
    prompt.input.source = side_tokens({}, target.batch, 1).batch;
    return prompt;
  }
  SideTokens side = tokens_of(true, source);
  prompt.input.source = std::move(side.batch);
  prompt.tokens = std::move(side.tokens);
  return prompt;
}

std::vector<attention::KeyRange> real_tokens(const model::TokenBatch& tokens) {
  std::vector<attention::KeyRange> ranges;
  for (std::uint32_t line = 0; line < tokens.batch; ++line) {
    ranges.emplace_back(tokens.start(line), tokens.end(line));
  }
  return ranges;
}

std::size_t layers_of(const std::vector<CapturedBlock>& blocks, BlockKind kind) {
  return static_cast<std::size_t>(
      std::ranges::count(blocks, kind, [](const CapturedBlock& block) { return block.ref.kind; }));
}

/// Scale, softcap and window of a block, whose weights, where the file has them, are what they are.
void take_score(CapturedBlock& block, const CaptureWords& words, std::size_t layers) {
  const auto number = [&](auto what) { return words.number(what, block.ref, layers); };
  const std::optional<double> scale = number(&ScoreWords::scale);
  if (scale) block.score.scale = {.kind = model::Scale::Kind::Value, .value = static_cast<float>(*scale)};
  block.score.softcap = static_cast<float>(number(&ScoreWords::softcap).value_or(0.0));
  const std::optional<double> window = number(&ScoreWords::window);
  if (block.ref.kind != BlockKind::Cross) block.mask.window = static_cast<std::uint32_t>(window.value_or(0.0));
}

StoredCapture read_stored(const std::filesystem::path& path) {
  const std::string extension = utf8(path.extension());
  if (extension == ".npz") return read_npz_capture(path, content_of);
  if (extension == ".safetensors") return read_safetensors_capture(path, content_of);
  throw Error("{} is no capture: it ends in neither .safetensors nor .npz", utf8(path));
}

}  // namespace

CaptureFile::CaptureFile(std::filesystem::path path, bool reads_images) : path_(std::move(path)) {
  const StoredCapture stored = read_stored(path_);
  const CaptureWords words = read_words(path_, stored.metadata);
  blocks_ = make_blocks(utf8(path_), stored, words.cached);
  is_causal_ = words.is_causal;
  for (CapturedBlock& block : blocks_) take_score(block, words, layers_of(blocks_, block.ref.kind));
  const std::shared_ptr<model::Network> network = make_network(blocks_);
  network_ = network;
  const SideSize source = size_of_side(blocks_, true), target = size_of_side(blocks_, false);
  const SideWords of_source = words_of(words, true, false), of_target = words_of(words, false, source.batch == 0);
  const ImageSource images{.capture = path_,
                           .words = &words.image,
                           .pixels = images_of(stored),
                           .sides = {{{.batch = source.batch, .tokens = source.length, .spans = &of_source.positions},
                                      {.batch = target.batch, .tokens = target.length, .spans = &of_target.positions}}}};
  images_ = std::make_shared<const CapturedImages>(reads_images ? read_images(images) : CapturedImages());
  prompt_ = std::make_shared<const inference::Prompt>(make_prompt(blocks_, words, *images_));
  for (CapturedBlock& block : blocks_) {
    block.mask.is_causal = capture::is_causal(*this, block.ref.kind);
    block.mask.queries = real_tokens(prompt_->input.queries(block.ref.kind));
    block.mask.keys = real_tokens(prompt_->input.keys(block.ref.kind));
  }
  const bool has_decoder = !network->layers->decoder.empty();
  const std::size_t count = has_decoder ? network->layers->decoder.size() : network->layers->encoder.size();
  if (!words.model_layers.empty() && words.model_layers.size() != count) {
    throw Error("{}, layers: {} numbers, but there are {} layers; write one for each", utf8(path_),
                words.model_layers.size(), count);
  }
  const auto add_note = [&](const std::string& text) { note_ += (note_.empty() ? "" : " ") + text; };
  network->layer_numbers = words.model_layers;
  for (CapturedBlock& block : blocks_) {
    if (has_decoder && block.ref.kind == BlockKind::EncoderSelf) continue;
    block.ref.layer.value = network->layer_number(block.ref.layer.value);
  }
  if (!words.model_layers.empty() && words.model_layers.back() + std::size_t{1} != count)
    add_note(fmt::format("Its layers are {} of the model: others have no attention.", fmt::join(words.model_layers, ", ")));
  if (words.cached > 0) {
    add_note(fmt::format("The first {} tokens were in a cache: their rows weren't captured and are hatched.", words.cached));
  }
  if (std::ranges::any_of(blocks_, &CapturedBlock::has_unread))
    add_note("Its q and k aren't read where the weights are saved.");
  if (!images_->note.empty()) add_note(fmt::format("Image: {}.", images_->note));
  if (!words.note.empty()) add_note(words.note);
}

bool is_causal(const CaptureFile& file, model::BlockKind kind) {
  if (!file.is_causal() || kind == BlockKind::Cross) return false;
  return kind == BlockKind::DecoderSelf || file.network()->layers->decoder.empty();
}

const CapturedScore* CaptureFile::score(model::BlockRef block) const {
  const auto found = std::ranges::find(blocks_, block, &CapturedBlock::ref);
  return found == blocks_.end() ? nullptr : &found->score;
}

const PatchImages& CaptureFile::images(bool is_source, std::uint32_t line) const {
  return images_->of(is_source ? CapturedImages::kSource : CapturedImages::kTarget, line);
}

bool is_capture_path(const std::filesystem::path& path) {
  if (path.extension() == ".npz") return true;
  if (path.extension() != ".safetensors") return false;
  try {
    const StoredCapture stored = read_safetensors_capture(path, content_of);
    return !std::ranges::all_of(stored.arrays, is_image);
  } catch (const Error&) {  // the reader of models, which is tried next, says what is wrong with the file
    return false;
  }
}

}  // namespace headlight::capture
