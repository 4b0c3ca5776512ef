#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/state/state.h"
#include "core/tensor.h"
#include "inference/language_model.h"
#include "inference/session.h"

namespace headlight::app {

/// What an encoder–decoder has written by itself so far. It is a result, never part of the state: undo and saved files hold
/// only what a person typed.
struct Translated {
  std::vector<std::string> lines;  ///< one for each batch item
  bool is_done = false;
  bool was_cut = false;  ///< a line reached its longest before the model ended it
};

/// Does the model write the target itself: is it asked to, and did nobody give one?
bool translates_itself(const ModelChoice& choice);
/// … and can this model?
bool translates_itself(const ModelChoice& choice, const inference::LanguageModel& model);

/// A translation on its way, token by token, the likeliest one each time. Whoever owns it runs the network: states() says
/// whose logits are needed, take() chooses, prompt() is the next pass' input.
class Translation {
 public:
  /// `prompt`: the source, and for each item the decoder's start token.
  Translation(const inference::LanguageModel& model, const inference::Prompt& prompt);

  bool is_running() const;
  /// Of the last pass, `layers`: those of the decoder.
  std::vector<inference::StateRef> states(const model::TokenBatch& target, std::uint32_t layers) const;
  /// `logits` [state, vocabulary] of these states. Returns whether any line has grown.
  bool take(const Tensor& logits);
  /// The input of the next pass; the target's tokens know their bytes in lines().
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

/// Lines that belong to the items of a text, as one text whose lines stand where the items' lines do.
std::string target_text(const State& state, std::span<const std::string> lines);

struct EngineResult;

/// What gives the run on screen again: the state's inputs, with what the model has translated as given ids.
RunInputs inputs_on_screen(const State& state, const EngineResult& result);

/// Makes what the model has written by itself the person's own target, as if it had been typed; nothing where it writes
/// none.
void take_over_translation(State& state, const Translated* written);

}  // namespace headlight::app
