#pragma once

#include "inference/notebooks.h"
#include "model/torch_random.h"

namespace headlight::inference {

// One builder for each preset; make_notebook() chooses by name. `recipe` has all values that the notebook's own has.
Notebook boolean_mask(const NotebookRecipe& recipe);          // notebook-000
Notebook boolean_mask_class(const NotebookRecipe& recipe);    // notebook-000-class
Notebook causal_seeded(const NotebookRecipe& recipe);         // notebook-001
Notebook encoder_decoder(const NotebookRecipe& recipe);       // notebook-002
Notebook single_head(const NotebookRecipe& recipe);           // notebook-003
Notebook fused_projection(const NotebookRecipe& recipe);      // notebook-003-fused
Notebook fused_wide(const NotebookRecipe& recipe);            // notebook-003-fused-512
Notebook from_scratch(const NotebookRecipe& recipe);          // notebook-004
Notebook from_scratch_heads(const NotebookRecipe& recipe);    // notebook-004-heads
Notebook from_scratch_encoder(const NotebookRecipe& recipe);  // notebook-004-encoder

/// A network of encoder layers whose input brings vectors, or Q, K and V, when there is no embedding.
std::shared_ptr<const model::Network> encoder_network(std::vector<model::AttentionLayer> layers,
                                                      std::shared_ptr<const model::Embedding> embedding = nullptr);

/// One attention layer and nothing after it.
model::AttentionLayer attention_layer(const model::AttentionConfig& config, model::AttentionWeights weights);

/// Weights of queries, keys, values and the output, [width, width] each, in the order of their draws.
model::AttentionWeights draw_weights(model::TorchRandom& random, std::uint32_t width);

/// A LayerNorm as PyTorch makes it: weights 1, biases 0.
model::Norm fresh_norm(std::uint32_t width);

/// A batch without padding whose tokens are called "t0", "t1", ….
model::TokenBatch numbered_tokens(std::uint32_t batch, std::uint32_t length);

/// A batch without padding with the given labels, all sequences equally long.
model::TokenBatch labelled_tokens(std::vector<std::vector<std::string>> labels);

}  // namespace headlight::inference
