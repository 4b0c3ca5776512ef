#include "inference/notebooks.h"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include "core/error.h"
#include "inference/notebook_builders.h"

namespace headlight::inference {
namespace {

constexpr std::size_t kMaxWeights = 1U << 20U;  // of one projection
constexpr std::string_view kNoSentence = "Its tokens are vectors drawn by torch.randn, not words.";
constexpr const char* kSentence004 = "My shoes are small, my feet are big.";

/// Notebook 000 never seeds: torch seeded itself in each of the two sessions whose cells are printed. Their two seeds are
/// the only ones of the generator's 2^32 whose first draw is the input as that session printed it.
const std::array<NotebookPreset, 10>& presets() {
  static const std::array<NotebookPreset, 10> kPresets = {
      {{"notebook-000",
        "000 · random boolean mask",
        "Recomputed from seed 3133213777, which torch had chosen itself. One random boolean mask for both heads of each "
        "sequence, filled with -1e9: a query whose keys are all masked attends to every key alike.",
        boolean_mask,
        {.d_model = 8, .heads = 2, .seed = 3133213777},
        kNoSentence},
       {"notebook-000-class",
        "000 · the class, four copies of one Linear",
        "Recomputed from seed 3130316345, which torch had chosen itself. clone_module copies one Linear, so W_Q, W_K, W_V "
        "and W_O are equal; no mask. The class drops weights out and forgets the result.",
        boolean_mask_class,
        {.d_model = 8, .heads = 2, .seed = 3130316345},
        kNoSentence},
       {"notebook-001",
        "001 · four causal heads",
        "Recomputed from seed 24. Four heads, causal, filled with -inf, no output projection.",
        causal_seeded,
        {.d_model = 8, .heads = 4, .seed = 24},
        kNoSentence},
       {"notebook-002",
        "002 · encoder–decoder",
        "Recomputed from seed 1234 at a small size: two encoder and two decoder layers with residuals, LayerNorm and "
        "feed-forward; padding masked everywhere, the decoder's own attention causal; filled with -1e10.",
        encoder_decoder,
        {.sentence = "ein einem in eine", .d_model = 16, .heads = 4, .seed = 1234},
        "Its table has six German words (. , ein eine einem in), the most frequent of its vocabulary; others are <unk>."},
       {"notebook-003",
        "003 · one head in numpy",
        "Q, K and V as printed. One head whose scores are not scaled, causal, filled with -inf.",
        single_head,
        {.sentence = "The cat sat on the mat.", .d_k = kPrintedWidth, .d_v = kPrintedWidth},
        "Its Q, K and V are printed numbers: nothing is drawn from a seed. Of other sizes they are cut, or filled with 0."},
       {"notebook-003-fused",
        "003 · fused Q, K, V projection",
        "Seed 3. One weight [head][q|k|v][d_k] projects everything; causal, filled with -inf. The notebook reshapes without "
        "the transpose: merge order \"without transpose\" shows its numbers.",
        fused_projection,
        {.d_model = 16, .heads = 4, .seed = 3},
        kNoSentence},
       {"notebook-003-fused-512",
        "003 · fused, 512 wide, 8 heads",
        "The sizes of the notebook. Seed 3. One weight [head][q|k|v][d_k] projects everything; causal, filled with -inf. "
        "The notebook reshapes without the transpose: merge order \"without transpose\" shows its numbers.",
        fused_wide,
        {.d_model = 512, .heads = 8, .seed = 3},
        kNoSentence},
       {"notebook-004",
        "004 · one head from scratch",
        "Recomputed from seed 123. One head with d_k 3 and d_v 4, no bias, no mask, no output projection.",
        from_scratch,
        {.sentence = kSentence004, .d_model = 2, .d_k = 3, .d_v = 4, .seed = 123},
        "It has one head; notebook-004-heads has several."},
       {"notebook-004-heads",
        "004 · three heads, one weight each",
        "Recomputed from seed 123. Three heads with a weight tensor each, d_k 3 and d_v 4, no bias, no mask, no output "
        "projection.",
        from_scratch_heads,
        {.sentence = kSentence004, .d_model = 2, .heads = 3, .d_k = 3, .d_v = 4, .seed = 123},
        ""},
       {"notebook-004-encoder",
        "004 · encoder layer, two heads",
        "Recomputed from seed 123. A whole encoder layer: two heads of width 1 with biases, residual and LayerNorm, a "
        "feed-forward 2 → 4 → 2 with ReLU, residual and LayerNorm. No mask.",
        from_scratch_encoder,
        {.sentence = kSentence004, .d_model = 2, .heads = 2, .seed = 123},
        "d_k and d_v are d_model / heads."}}};
  return kPresets;
}

/// Puts the user's values in the place of the notebook's, where the notebook has some.
NotebookRecipe recipe_with(const NotebookPreset& preset, const NotebookRecipe& typed) {
  NotebookRecipe recipe = preset.recipe;
  const auto take = [&](std::string_view what, auto member) {
    if (!(typed.*member)) return;
    if (!(recipe.*member)) throw Error("{}: {} can't be changed. {}", preset.name, what, preset.fixed);
    recipe.*member = typed.*member;
  };
  take("the sentence", &NotebookRecipe::sentence);
  for_each_number([&](std::string_view name, auto member, auto least, auto most) {
    take(name == "seed" ? "the seed" : name, member);
    const auto& number = recipe.*member;
    if (number && (*number < least || *number > most))
      throw Error("{} must be {} to {}, not {}", name, least, most, *number);
  });
  if (recipe.sentence && recipe.sentence->size() > kMaxNotebookSentence)
    throw Error("the sentence has {} bytes; the limit is {}", recipe.sentence->size(), kMaxNotebookSentence);
  if (recipe.heads && !recipe.d_k && *recipe.d_model % *recipe.heads != 0)
    throw Error("{} heads don't divide d_model {}", *recipe.heads, *recipe.d_model);
  const std::size_t rows = std::size_t{recipe.heads.value_or(1)} * std::max(recipe.d_k.value_or(1), recipe.d_v.value_or(1));
  if (recipe.d_k && rows * recipe.d_model.value_or(1) > kMaxWeights)
    throw Error("heads \u00B7 d_k \u00B7 d_model must be at most {}", kMaxWeights);
  return recipe;
}

}  // namespace

std::span<const NotebookPreset> notebook_presets() { return presets(); }

std::vector<std::string_view> notebook_names() {
  std::vector<std::string_view> names;
  for (const NotebookPreset& preset : presets()) names.push_back(preset.name);
  return names;
}

const NotebookPreset& notebook_preset(std::string_view name) {
  const auto found = std::ranges::find(presets(), name, &NotebookPreset::name);
  if (found == presets().end()) {
    throw Error("unknown preset '{}': choose from {}", name, fmt::join(notebook_names(), ", "));
  }
  return *found;
}

Notebook make_notebook(std::string_view name, const NotebookEdits& edits) {
  const NotebookPreset& preset = notebook_preset(name);
  Notebook notebook = preset.make(recipe_with(preset, edits.recipe));
  apply_matrices(name, edits.matrices, notebook);
  return notebook;
}

std::shared_ptr<const model::Network> encoder_network(std::vector<model::AttentionLayer> layers,
                                                      std::shared_ptr<const model::Embedding> embedding) {
  return std::make_shared<model::Network>(
      model::Network{.source_embedding = std::move(embedding),
                     .target_embedding = nullptr,
                     .layers = std::make_shared<model::Layers>(model::Layers{.encoder = std::move(layers)})});
}

model::AttentionLayer attention_layer(const model::AttentionConfig& config, model::AttentionWeights weights) {
  return {.config = config, .weights = std::move(weights)};
}

model::Norm fresh_norm(std::uint32_t width) {
  return {.weight = Tensor(Shape{width}, std::vector<float>(width, 1.0f)), .bias = Tensor(Shape{width})};
}

model::TokenBatch numbered_tokens(std::uint32_t batch, std::uint32_t length) {
  std::vector<std::string> line;
  for (std::uint32_t i = 0; i < length; ++i) line.push_back(fmt::format("t{}", i));
  return labelled_tokens(std::vector<std::vector<std::string>>(batch, line));
}

model::TokenBatch labelled_tokens(std::vector<std::vector<std::string>> labels) {
  model::TokenBatch tokens;
  tokens.batch = static_cast<std::uint32_t>(labels.size());
  tokens.length = static_cast<std::uint32_t>(labels.front().size());
  tokens.lengths.assign(tokens.batch, tokens.length);
  tokens.texts = std::move(labels);
  return tokens;
}

}  // namespace headlight::inference
