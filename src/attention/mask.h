#pragma once

#include <array>

#include "attention/expression.h"
#include "attention/painted_cells.h"
#include "core/error.h"
#include "core/shared_value.h"
#include "model/config.h"

namespace headlight::attention {

/// The number that replaces a masked score. It changes results exactly as in PyTorch: with a finite fill a fully masked
/// row turns uniform over all n_k keys (notebook 000), with −inf it has no weights and its output is zero.
enum class MaskFill : std::uint8_t { NegativeInfinity, MinusOneBillion, MinusTenBillion };
float fill_value(MaskFill fill);
/// Returns "-inf", "-1e9" or "-1e10".
std::string_view to_string(MaskFill fill);
Result<MaskFill> parse_fill(std::string_view text);

/// Keys [begin, end) of a sequence that are real; the rest is padding.
struct KeyRange {
  std::uint32_t begin = 0, end = 0;

  constexpr KeyRange(std::uint32_t length) : end(length) {}  // NOLINT: padding on the right alone
  constexpr KeyRange(std::uint32_t first, std::uint32_t past_the_last) : begin(first), end(past_the_last) {}
  bool holds(std::uint32_t key) const { return key >= begin && key < end; }
};

/// One formula for every cell (query i, key j):
///   visible = j < prefix  or  ((neither causal nor prefix, or j ≤ i) and (no window, or |i − j| < window))
/// and, with key_padding, j among the real keys of its sequence. A prefix alone is the prefix-LM mask: causal after the
/// prefix.
struct MaskRule {
  bool causal = false;
  std::uint32_t window = 0;  ///< 0: none; 1: only the token itself
  std::uint32_t prefix = 0;  ///< 0: none
  bool key_padding = true;

  bool is_visible(std::uint32_t query, std::uint32_t key, KeyRange keys) const;
  bool operator==(const MaskRule&) const = default;
};

/// "none", "causal", "window:4", "prefix:2", or several joined by '+': "causal+window:4". key_padding is left as it is.
Result<MaskRule> parse_rule(std::string_view text);
std::string to_string(const MaskRule& rule);

/// An arbitrary boolean mask; true keeps, false masks (as masked_fill(mask == 0, fill)).
struct BooleanMask {
  std::uint32_t batch = 1;  ///< 1: for every batch item
  std::uint32_t heads = 1;  ///< 1: for every head
  std::uint32_t queries = 0;
  std::uint32_t keys = 0;
  std::vector<std::uint8_t> keep;  ///< [batch, heads, queries, keys], 0 or 1

  /// Is this cell of a map kept? One outside the matrix, which may be smaller than the map on screen, is.
  bool is_kept(std::uint32_t batch_item, std::uint32_t head, std::uint32_t query, std::uint32_t key) const;
  bool operator==(const BooleanMask&) const = default;
};

/// The tokens at which a document begins, by batch item; ascending, each once. Token 0 begins one in any case.
using Documents = std::map<std::uint32_t, std::vector<std::uint32_t>>;
/// The tokens of the document that holds `token`. The last document has no end.
KeyRange document_of(const Documents& documents, std::uint32_t batch_item, std::uint32_t token);

inline constexpr float kMaxBias = 1e4f;  ///< a painted bias is −kMaxBias … kMaxBias

/// The mask of one kind of block: a cell is visible where rule, padding, documents, matrix and mask expression all show it,
/// or where it is painted so; and what masked scores become. The score expression and painted biases change scores before
/// that: scaled, capped and with the model's position bias. A value: compared, saved, undone. Copies share the cells of
/// matrix and paint.
struct MaskSpec {
  MaskRule rule = {};
  MaskFill fill = MaskFill::NegativeInfinity;
  SharedValue<BooleanMask> matrix = {};
  PaintedCells painted = {};
  PaintedBiases biases = {};
  SharedValue<Documents> documents = {};  ///< a query sees keys of its own document alone; no value: all is one
  Expression mask_expression = {}, score_expression = {};
  SliderValues sliders = {};  ///< of both

  bool has_expressions() const { return mask_expression || score_expression; }
  bool is_visible(const ExpressionMap& map, std::uint32_t batch_item, Cell cell, KeyRange keys) const;
  /// Is the cell visible, leaving out the mask expression, which needs more arguments?
  bool is_visible(std::uint32_t layer, std::uint32_t batch_item, std::uint32_t head, std::uint32_t query, std::uint32_t key,
                  KeyRange keys) const;
  /// Returns the score that the mask gets: changed by the score expression, then with the painted bias added.
  double score(const ExpressionMap& map, std::uint32_t batch_item, Cell cell, double score) const;
  /// The bias painted onto a cell of this map; 0 where there is none.
  float bias(std::uint32_t layer, std::uint32_t batch_item, std::uint32_t head, Cell cell) const;
  bool is_same_document(std::uint32_t batch_item, std::uint32_t query, std::uint32_t key) const;
  /// The cell's painted state in this map: the narrowest scope that names it, or nullopt for an unpainted cell.
  std::optional<bool> painted_state(std::uint32_t layer, std::uint32_t batch_item, std::uint32_t head, Cell cell) const;
  bool operator==(const MaskSpec&) const = default;
};

/// One mask for each kind of block, indexed by BlockKind.
struct MaskSet {
  std::array<MaskSpec, model::kBlockKinds> by_kind;

  MaskSpec& operator[](model::BlockKind kind) { return by_kind[static_cast<std::size_t>(kind)]; }
  const MaskSpec& operator[](model::BlockKind kind) const { return by_kind[static_cast<std::size_t>(kind)]; }
  bool operator==(const MaskSet&) const = default;
};

/// Replaces one of a mask's expressions; values of sliders that neither has any more are forgotten.
void set_expression(MaskSpec& mask, ExpressionUse use, Expression expression);

/// Makes the token the first of a document, or no longer, where it is one already.
void toggle_document(MaskSpec& mask, std::uint32_t batch_item, std::uint32_t token);
/// Replaces the item's documents by those that begin at these tokens, in any order.
void set_documents(MaskSpec& mask, std::uint32_t batch_item, std::vector<std::uint32_t> begins);

/// The mask of one layer: what the user chose and, where the model was trained with a sliding window, that window too.
MaskSpec in_layer(const MaskSpec& mask, const model::AttentionConfig& config);

/// Throws Error in one line when a matrix doesn't fit the block: "the mask is [2, 1, 3, 3] but the attention is
/// [batch 2, heads 2, queries 4, keys 4]; …".
void check(const MaskSpec& mask, std::uint32_t batch, std::uint32_t heads, std::uint32_t queries, std::uint32_t keys);

}  // namespace headlight::attention
