#pragma once

#include <memory>

#include "app/state/state.h"
#include "core/tensor.h"
#include "inference/language_model.h"
#include "inference/session.h"

namespace headlight::app {

/// The target that an encoder–decoder has generated so far. It is a result, never part of the state: undo and saved files
/// contain only the user's text.
struct Translated {
  std::vector<std::string> lines;  ///< one for each batch item
  bool is_done = false;
  bool was_cut = false;  ///< a line reached its longest before the model ended it
};

/// Does the model generate the target: is the option on, and no target given?
bool translates_itself(const Model& choice);
/// … and does this model support it?
bool translates_itself(const Model& choice, const inference::LanguageModel& model);

/// A translation in progress, greedy, token by token. The owner runs the network: states() lists the states whose logits are
/// needed, take() chooses tokens, prompt() is the next pass' input.
class Translation {
 public:
  /// `prompt`: the source, and for each item the decoder's start token.
  Translation(const inference::LanguageModel& model, const inference::Prompt& prompt);

  bool is_running() const;
  /// Of the last pass, `layers`: those of the decoder.
  std::vector<inference::StateRef> states(const model::TokenBatch& target, std::uint32_t layers) const;
  /// `logits` [state, vocabulary] of these states. Returns whether any line has grown.
  bool take(const Tensor& logits);
  /// The input of the next pass; the target's tokens have their byte ranges in lines().
  inference::Prompt prompt(const inference::LanguageModel& model, inference::PromptText text) const;

  Translated written() const;

 private:
  struct Line {
    std::vector<std::uint32_t> ids;      ///< with the start token
    std::vector<text::ByteRange> bytes;  ///< of each id in `text`
    std::string text;
    bool has_ended = false, was_cut = false;
  };
  void append(Line& line, std::uint32_t id) const;

  const text::Tokenizer* tokenizer_;
  std::vector<std::uint32_t> ends_, suppressed_;
  std::size_t most_ids_ = 0;
  std::vector<Line> lines_;
};

/// Lines that belong to the items of a text, as one text with the items' line numbers.
std::string target_text(const State& state, std::span<const std::string> lines);

struct EngineResult;

/// Inputs that reproduce the run on screen: the state's, with the generated translation as given ids.
RunInputs inputs_on_screen(const State& state, const EngineResult& result);

/// Makes the generated translation the user's target, as if typed; does nothing without one.
void take_over_translation(State& state, const Translated* written);

}  // namespace headlight::app
