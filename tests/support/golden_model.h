#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention/reference.h"
#include "core/tensor.h"
#include "model/load_network.h"
#include "model/network.h"

namespace headlight::test {

/// One input of a golden model and transformers' results; tensors that a network doesn't have are empty.
/// Rows of padded queries are zero.
struct GoldenCase {
  std::string name;  ///< "case0", "painted"
  model::ModelInput input = {};
  Tensor attentions = {};          ///< [layer, batch, head, query, key] of models with one stack
  Tensor hidden = {};              ///< [layer + 1, batch, token, d_model]; the last one after the final norm
  Tensor logits = {};              ///< [batch, token, vocabulary]
  Tensor projected = {};           ///< [batch, token, d_embedding] after OPT-350m's project_out
  Tensor encoder_attentions = {};  ///< of encoder–decoders
  Tensor decoder_attentions = {}, cross_attentions = {}, encoder_hidden = {}, decoder_hidden = {};
  Tensor visible = {};  ///< [query, key] 1 or 0: a mask that replaces the family's own; empty: the family's
};

/// Folder of tests/golden/models.
std::filesystem::path golden_model_path(std::string_view name);
/// Names of the folders that hold a model and its reference, sorted.
std::vector<std::string> golden_models();
/// Names without ".gguf" of the files in the folder gguf that have a reference, sorted.
std::vector<std::string> golden_gguf_files();
std::vector<GoldenCase> load_golden_cases(std::string_view name);
/// Reads the cases of one reference.safetensors.
std::vector<GoldenCase> read_golden_cases(const std::filesystem::path& file);

/// Was this kind of block trained with a causal mask?
bool is_causal(const model::ModelDescription& description, model::BlockKind kind);
/// The mask that a case was computed with: causality, padded keys, or the case's own. The arguments must outlive the result.
model::reference::Visibility trained_mask(const model::ModelDescription& description, const GoldenCase& golden);

/// The deviation of rows from expected values.
struct RowDeviation {
  double largest = 0.0;      ///< max |a − b|; ∞ when sizes differ or a number is NaN
  double root_square = 0.0;  ///< √mean(b²) over the same rows
};
/// `found` and `expected` are [batch, .., token, width]; rows of padding are skipped.
RowDeviation row_deviation(const Shape& shape, std::span<const double> found, std::span<const float> expected,
                           const model::TokenBatch& tokens);
RowDeviation row_deviation(const Shape& shape, std::span<const float> found, std::span<const float> expected,
                           const model::TokenBatch& tokens);
/// Part `index` of a tensor's first axis: the maps or states of one layer.
std::span<const float> part_of(const Tensor& tensor, std::size_t index);

}  // namespace headlight::test
