#pragma once

#include "app/engine/model_cache.h"
#include "app/state/state.h"

namespace headlight::app {

/// The bundled models' names.
inline constexpr const char* kCaptionWriter = "captions-gpt2";
inline constexpr const char* kTranslator = "multi30k-de-en";

/// Returns share/headlight beside the program's folder, with what comes along: models, lessons, perhaps fonts. A build's is
/// a link to assets/.
std::filesystem::path shared_folder();

/// Returns the bundled model of this name, of a training the step: "copy-training/checkpoint-40"; nullopt where this
/// installation lacks it.
std::optional<std::filesystem::path> find_bundled_model(std::string_view name);

/// Resolves --model: a bundled model's folder where `name` is its name and not a file's, else `name` itself
/// (inference::find_model).
std::string named_model(const std::string& name);
/// Returns the path of the model that the user named, or of the bundled one when `given` is empty. Throws Error in one line
/// when it isn't found.
std::filesystem::path chosen_model(const std::string& given, std::string_view bundled);
/// The values of --model, for its help.
inline constexpr const char* kModelNames =
    "its folder, a .gguf file, organisation/name in the local Hugging Face cache, or one that comes along: captions-gpt2, "
    "multi30k-de-en";

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

/// The copy task's training: the last of its steps, and the head that finds what followed a word's earlier occurrence.
inline constexpr StarterView kCopyStarter = {.model = "copy-training/checkpoint-1000",
                                             .text = "cat moon tree bell road fish lamp cat moon tree bell road fish lamp",
                                             .trained_on = "words that repeat",
                                             .block = {.kind = model::BlockKind::EncoderSelf, .layer = {1}},
                                             .head = 1};

/// Returns the starter view of a bundled model; nullptr for any other model.
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

/// Returns kCaptionsStarter, or the playground where the model is missing or broken.
FirstState first_state(ModelCache& models);

/// A remembered state may name a bundled model where an older installation had it, a shared session one as the Hugging Face
/// hub does: finds it where it is on this computer.
void find_moved_model(State& state);

}  // namespace headlight::app
