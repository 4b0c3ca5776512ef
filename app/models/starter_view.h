#pragma once

#include "app/engine/model_cache.h"
#include "app/models/bundled_models.h"
#include "app/state/state.h"

namespace headlight::app {

/// A bundled model, a text and a head that shows what it has learned on that text. The models' cards have the numbers.
struct StarterView {
  std::string_view model;  ///< its folder's name
  std::string_view text;
  std::string_view trained_on;  ///< "captions of photos": all that the model has read, as its card says
  model::BlockRef block;
  std::uint32_t head = 0;
};

/// The window's first view: an induction head, which attends from each repeated word to the word that followed it before.
inline constexpr StarterView kCaptionsStarter = {
    .model = kCaptionWriter,
    .text = "A man in a red shirt rides a horse. A man in a red shirt rides a horse.",
    .trained_on = "captions of photos",
    .block = {.kind = model::BlockKind::EncoderSelf, .layer = {1}},
    .head = 4};

/// The welcome panel's translator view: the cross-attention head that aligns best.
inline constexpr StarterView kTranslatorStarter = {
    .model = kTranslator,
    .text = "Ein kleiner Hund läuft am Strand und ein Mädchen wirft einen Ball.",
    .trained_on = "captions of photos",
    .block = {.kind = model::BlockKind::Cross, .layer = {2}},
    .head = 6};

/// The starter view of a bundled model; nullptr for any other model.
const StarterView* find_starter_view(const inference::LanguageModel& model);

/// Selects the first view of a model that was just opened: its starter view's head, the last layer's cross-attention of
/// other encoder–decoders; for other models it changes nothing.
void select_first_head(State& state, const inference::LanguageModel& model);

/// The view of a first start.
struct FirstState {
  State state;
  std::shared_ptr<const inference::LanguageModel> model;  ///< of the state; keeps it open until the engine has it
  std::optional<std::string> warning;                     ///< one line with the reason when it is the playground
};

/// kCaptionsStarter; the playground where the model is missing or broken.
FirstState first_state(ModelCache& models);

/// A remembered state may name a bundled model where an older installation had it, a shared session one as the Hugging Face
/// hub does: finds it where it is on this computer.
void find_moved_model(State& state);

}  // namespace headlight::app
