#pragma once

#include "attention/expression.h"
#include "attention/mask.h"
#include "model/network.h"
#include "text/chat_template.h"

namespace headlight::inference {

struct LanguageModel;

enum class PaddingSide : std::uint8_t { Right, Left };

/// The text that the user typed for a model. Each line is a batch item.
struct PromptText {
  std::vector<std::string> lines;
  std::vector<std::string> pair_lines = {};          ///< second sentences (BERT), one for each line or empty
  std::vector<std::string> target_lines = {};        ///< of encoder–decoders; empty: the decoder's start token alone
  std::vector<std::vector<std::uint32_t>> ids = {};  ///< instead of lines, as they are
  /// Instead of target_lines, as they are: the decoder's whole input, its start token included.
  std::vector<std::vector<std::uint32_t>> target_ids = {};
  bool adds_special = true;  ///< [CLS], <s>, …
  bool is_chat = false;      ///< each line is a chat, which the model's template writes (text/chat_template.h)
  text::Thinking thinking = text::Thinking::Unset;
  PaddingSide padding = PaddingSide::Right;
  /// Take texts that are longer than a table of positions: the network needs a longer one (inference/stretch_positions.h).
  bool stretches_positions = false;

  bool operator==(const PromptText&) const = default;
};

/// A prompt as the network takes it, and the bytes of the text that each token covers.
struct Prompt {
  model::ModelInput input;
  std::vector<std::vector<text::Token>> tokens;         ///< [batch][real token]; without padding
  std::vector<std::vector<text::Token>> target_tokens;  ///< of the targets, as `tokens`
};

/// Throws Error in one line: a line without a token of its own (ErrorKind::NoToken), too many for the model's positions
/// (ErrorKind::TooFewPositions where PromptText::stretches_positions would take them), ids outside the vocabulary, no
/// tokenizer. The decoder's input is its start token followed by the target's tokens, as the model was trained: without the
/// end token, which training only ever asks for.
Prompt make_prompt(const LanguageModel& model, const PromptText& text);

/// Returns the ids that the decoder reads for a target: its start token and the target's tokens, without the end token;
/// a target without tokens has the start token alone. Throws Error where the model has no tokenizer or no start token.
std::vector<std::uint32_t> target_ids(const LanguageModel& model, const std::string& target);

/// Tokens that have a position on the side with this embedding; 0: there is no limit. Rotary positions and distances go on
/// for ever, well or badly.
std::uint32_t position_limit(const LanguageModel& model, const model::Embedding* embedding);

/// Returns for each token how many separators come before it in its item: [batch·length], the segments of expressions.
std::vector<std::uint32_t> token_segments(const model::TokenBatch& tokens, std::span<const std::uint32_t> separators);

/// Returns the number of layers in the stack of this kind of attention.
std::uint32_t layer_count(const model::Network& network, model::BlockKind kind);

/// The properties that a mask's expressions read of the tokens that attend to each other in one kind of attention.
class MaskTokens {
 public:
  /// Network and input must outlive it. Segments are computed where the mask's expressions need them.
  MaskTokens(const model::Network& network, const model::ModelInput& input, model::BlockKind kind,
             const attention::MaskSpec& mask);

  /// [item · token].
  attention::ExpressionTokens all() const;
  /// A map of one block: [token].
  attention::ExpressionMap map(std::uint32_t layer, std::uint32_t item, std::uint32_t head) const;

 private:
  const model::Network& network_;
  model::BlockKind kind_;
  const model::TokenBatch& queries_;
  const model::TokenBatch& keys_;
  std::vector<std::uint32_t> query_segments_, key_segments_;
};

}  // namespace headlight::inference
