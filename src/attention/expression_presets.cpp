#include "attention/expression_presets.h"

#include <array>

namespace headlight::attention {

std::span<const ExpressionPreset> expression_presets() {
  using Use = ExpressionUse;
  static constexpr std::array kPresets{
      ExpressionPreset{"Sliding window", Use::Mask, "abs(q - k) < slider(width, 1, 256, 16)",
                       "A query sees keys that are less than so many tokens away (Longformer, Beltagy et al. 2020)."},
      ExpressionPreset{"Dilated window", Use::Mask,
                       "abs(q - k) < slider(width, 1, 256, 16) && (q - k) % int(slider(stride, 1, 8, 2)) == 0",
                       "Of a window, every second or third key (Longformer, Beltagy et al. 2020)."},
      ExpressionPreset{"Prefix-LM", Use::Mask, "k <= q || k < slider(prefix, 0, 64, 4)",
                       "All queries see the first tokens, and after these only keys up to their own position (T5's prefix "
                       "language model, Raffel et al. 2020). Switches the causal rule off.",
                       true},
      ExpressionPreset{"Documents", Use::Mask, "segment_q == segment_k",
                       "A query sees keys of its own document: [SEP], </s> or <|endoftext|> ends one."},
      ExpressionPreset{"Attention sinks", Use::Mask, "k < slider(sinks, 0, 16, 4) || abs(q - k) < slider(width, 1, 256, 16)",
                       "The first tokens and a window (StreamingLLM, Xiao et al. 2023)."},
      ExpressionPreset{"ALiBi", Use::Score, "score - exp2(-8.0 * float(head + 1) / float(n_heads)) * float(abs(q - k))",
                       "Each head takes off more the further away a key is, by a slope of its own (Press et al. 2022)."},
      ExpressionPreset{"Soft cap", Use::Score, "slider(cap, 1, 100, 30) * tanh(score / cap)",
                       "Keeps scores between \u2212cap and cap (Gemma 2)."},
      ExpressionPreset{"Temperature", Use::Score, "score / slider(temperature, 0.1, 10, 1)",
                       "Below 1 rows become sharper, above 1 flatter."},
  };
  return kPresets;
}

}  // namespace headlight::attention
