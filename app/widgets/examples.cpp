#include "app/widgets/examples.h"

#include "app/engine/analyses/token_losses.h"
#include "app/models/starter_view.h"

namespace headlight::app {
namespace {

constexpr std::array kExamples = {
    Example{"One sentence", "Life is short, eat dessert first", nullptr},
    Example{"A batch with padding",
            "The lamp lights the desk\nA ship waits\nEvery head looks at the same words in its own way", nullptr},
    Example{"Repeated words", "the cat saw the dog and the dog saw the cat", nullptr},
    Example{"Two texts", "Das Licht brennt noch", "The light is still on"},
    Example{"Greek and Cyrillic", "Το φως ανάβει το βράδυ\nВечером загорается свет", nullptr},
    Example{
        "A long paragraph",
        "A keeper climbs the stairs each evening and lights the lamp before the sun is gone because ships that come late "
        "need to know where the rocks are and the rocks do not move but the fog does and on some nights the fog is so "
        "thick that the beam ends a few steps from the glass and on those nights the keeper rings a bell every minute "
        "until morning and writes down in a book how many times the bell was rung and which ships answered",
        nullptr},
};

constexpr std::array kCaptionExamples = {
    Example{"A sentence twice", kCaptionsStarter.text.data(), nullptr},
    Example{"Two captions that share words", "A brown dog runs through the snow. A brown dog jumps over a fence.", nullptr},
    Example{"Words in no order, twice", "ball street red two water ball street red two water", nullptr},
    Example{"A batch of captions",
            "Two children play on a beach.\nA woman in a blue dress plays the guitar.\nPeople wait for a bus.", nullptr},
};

constexpr std::array kTranslatorExamples = {
    Example{"A dog and a ball", kTranslatorStarter.text.data(), nullptr},
    Example{"The verb waits for the end", "Eine Frau in einem roten Kleid hat auf der Straße ein Lied gesungen.", nullptr},
    Example{"While something else happens", "Zwei Arbeiter reparieren ein Dach, während ein Kind zuschaut.", nullptr},
    Example{"A batch", "Ein Mann fährt Fahrrad.\nDrei Kinder bauen eine Burg aus Sand.", nullptr},
};

constexpr ExamplePair kCaptionPair{"A man in a red shirt rides a horse. A man in a red shirt rides a",
                                   "A man in a red shirt rides a bike. A man in a red shirt rides a", " horse", " bike"};

std::string folder_of_model(const State& state) { return utf8(std::filesystem::path(model_path(state.source)).filename()); }

}  // namespace

bool has_copy_training() {
  static const bool kIsThere = find_bundled_model(kCopyStarter.model).has_value();
  return kIsThere;
}

void show_copy_training(State& state) {
  const std::optional<std::filesystem::path> path = find_bundled_model(kCopyStarter.model);
  if (!path) return;
  attention::MaskSet masks;
  masks[kCopyStarter.block.kind].rule.causal = true;
  select_model(state, path->string(), masks);
  show_example(state, {.title = "", .text = kCopyStarter.text.data(), .key_text = nullptr});
  state.selection = {};
  state.selection.block = kCopyStarter.block;
  state.selection.head = kCopyStarter.head;
}

std::span<const Example> examples() { return kExamples; }

std::span<const Example> examples_of(std::string_view folder) {
  if (folder == kCaptionsStarter.model) return kCaptionExamples;
  if (folder == kTranslatorStarter.model) return kTranslatorExamples;
  return {};
}

std::span<const Example> examples_for(const State& state) {
  return match(
      state.source, [](const Playground&) { return examples(); }, [](const Notebook&) { return std::span<const Example>(); },
      [](const Model& model) { return examples_of(utf8(std::filesystem::path(model.path).filename())); },
      [](const Capture&) { return std::span<const Example>(); });
}

const ExamplePair* example_pair(const State& state) {
  return is_model(state.source) && folder_of_model(state) == kCaptionsStarter.model ? &kCaptionPair : nullptr;
}

std::string_view trained_on(std::string_view folder) {
  for (const StarterView* starter : {&kCaptionsStarter, &kTranslatorStarter}) {
    if (folder == starter->model) return starter->trained_on;
  }
  return {};
}

std::string misfit_text(Frame& frame) {
  // captions-gpt2's captions cost it 1.8 to 4.0 nats a token, other English 5.1 to 7.6, other languages and programs more.
  constexpr double kSurprising = 4.5;
  constexpr std::size_t kMinLosses = 4;
  const State& state = frame.state;
  if (!is_model(state.source) || !state.model().ids.empty() || state.text().empty()) return {};
  const std::string folder = folder_of_model(state);
  const std::span<const Example> fitting = examples_of(folder);
  const auto begins = [&](const Example& example) { return std::string_view(example.text).starts_with(state.text()); };
  const bool has_losses = frame.result.input && !frame.result.input->target;
  if (!has_losses || fitting.empty() || std::ranges::any_of(fitting, begins)) return {};
  const Analysed* answer = frame.ask(TokenLossesQuestion{.batch = state.selection.batch});
  const auto* found = answer && answer->is_done ? answer->as<TokenLosses>() : nullptr;
  if (!found || found->losses.size() < kMinLosses || mean_loss(found->losses) < kSurprising) return {};
  return fmt::format(
      "This model has read nothing but {}: this text surprises it by {:.1f} nats a token, those by 2 to 4, so that its "
      "heads "
      "may look random. Examples that fit are above.",
      trained_on(folder), mean_loss(found->losses));
}

void show_example(State& state, const Example& example) {
  state.text() = example.text;
  if (!is_model(state.source)) {
    state.playground().cross = example.key_text != nullptr;
    if (example.key_text) state.playground().key_text = example.key_text;
    return;
  }
  state.model().ids.clear();
  state.model().joins_lines = false;
  state.model().target_text.clear();
  state.model().target_ids.clear();
}

}  // namespace headlight::app
