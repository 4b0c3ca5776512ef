#include <charconv>

#include <fmt/ranges.h>

#include "app/state/field.h"
#include "app/state/field_types.h"
#include "app/state/field_values.h"
#include "app/state/mask_json.h"
#include "app/state/state_names.h"
#include "inference/notebooks.h"

namespace headlight::app {
namespace {

using inference::PlaygroundSettings;
using inference::SamplingSettings;

template <auto member>
auto of_playground() {
  return member_by([](auto& state) -> auto& { return state.playground().*member; });
}
template <auto member>
auto in_playground() {
  return member_by([](auto& state) -> auto& { return state.playground().settings.*member; });
}
template <auto member>
auto in_model() {
  return member_by([](auto& state) -> auto& { return state.model().*member; });
}
template <auto member>
auto in_sampling() {
  return at<&State::generation, &GenerationChoices::sampling, member>();
}
Change describe_mask_change(const attention::MaskSpec& before, const attention::MaskSpec& after) {
  if (after == attention::MaskSpec{}) return {.label = "Reset masks"};
  for (const MaskPart& part : mask_parts()) {
    if (part.are_equal(before, after)) continue;
    if (!part.is_set(after)) return {.label = part.undo_removal};
    return {.label = part.undo_change, .is_continuous = part.is_typed};
  }
  if (before.fill != after.fill) return {.label = "Choose fill"};
  if (before.sliders != after.sliders) return {.label = "Move slider", .is_continuous = true};
  if (before.rule.causal != after.rule.causal) return {.label = "Switch causal mask"};
  if (before.rule.key_padding != after.rule.key_padding) return {.label = "Switch padding mask"};
  if (before.rule.window != after.rule.window) return {.label = "Change window", .is_continuous = true};
  return {.label = "Change prefix", .is_continuous = true};
}

Change describe_masks_change(const State& before, const State& after) {
  if (before.gains != after.gains || before.patterns != after.patterns || before.changes != after.changes ||
      before.settings != after.settings)
    return {.label = "Reset the model"};
  for (std::size_t kind = 0; kind < model::kBlockKinds; ++kind) {
    const attention::MaskSpec &old_mask = before.masks.by_kind[kind], &new_mask = after.masks.by_kind[kind];
    if (old_mask != new_mask) return describe_mask_change(old_mask, new_mask);
  }
  return {};
}

Change describe_kept_changes(const State& before, const State& after) {
  const KeptChanges &old_ones = before.changes, &new_ones = after.changes;
  if (new_ones.size() > old_ones.size()) return {.label = "Keep " + new_ones.back().name};
  if (new_ones.size() < old_ones.size())
    return {.label = new_ones.empty() ? "Drop kept activations" : "Drop a kept activation"};
  return {.label = "Change strength", .is_continuous = true};
}

Field masks_field(const char* key, const char* label, const Member<attention::MaskSet>& member) {
  return value_field(
      "", key, label, member, [](const attention::MaskSet& masks) { return to_json(masks); },
      [](const JsonReader& object, const char* name, attention::MaskSet& masks) {
        if (const nlohmann::json* found = object.find(name)) masks = masks_from_json(*found, object.path(name));
      });
}

Field ids_field(const char* key, const Member<IdLists>& ids) {
  return value_field(
      "model", key, "Change ids", ids, [](const IdLists& value) { return nlohmann::json(value); }, read_ids);
}

/// Throws Error where there is no such notebook: its masks are asked for wherever it is shown.
void check_notebook(const JsonReader& object, const char* member, const std::string& name) {
  const std::vector<std::string_view> names = inference::notebook_names();
  if (std::ranges::find(names, name) != names.end()) return;
  object.fail(member, fmt::format("one of {}", fmt::join(names, ", ")), name);
}

/// Returns the field of a name or path that says which source is shown: empty where the source is another one.
Field source_field(const char* group, const char* key, const std::string& (*name)(const Source&),
                   void (*change)(State&, const std::string&),
                   void (*check)(const JsonReader&, const char*, const std::string&) = nullptr) {
  Field field{.group = group, .key = key};
  field.write = [name](const State& state) { return nlohmann::json(name(state.source)); };
  field.read = [change, check](const JsonReader& object, const char* member, State& state) {
    std::string read;
    object.read(member, read);
    if (read.empty()) return;
    if (check != nullptr) check(object, member, read);
    change(state, read);
  };
  field.is_same = [name](const State& a, const State& b) { return name(a.source) == name(b.source); };
  return field;
}

Change describe_edits(const State& before, const State& after) {
  const inference::NotebookEdits &old_edits = notebook_edits(before.source), &edits = notebook_edits(after.source);
  if (edits.is_empty()) return {.label = "Back to the notebook's numbers"};
  if (old_edits.recipe != edits.recipe) return {.label = "Change the notebook's recipe", .is_continuous = true};
  for (const auto& [name, edit] : edits.matrices) {
    const auto earlier = old_edits.matrices.find(name);
    if (earlier == old_edits.matrices.end() || earlier->second != edit)
      return {.label = "Change " + inference::matrix_title(name), .is_continuous = true};
  }
  return {.label = "Take a matrix back"};
}

/// Returns the field of the changes of the shown notebook; "preset" comes before it in a file.
Field edits_field() {
  Field field{.group = "", .key = "preset_edits"};
  field.write = [](const State& state) { return write_edits(notebook_edits(state.source)); };
  field.read = [](const JsonReader& object, const char* member, State& state) {
    inference::NotebookEdits edits;
    read_edits(object, member, edits);
    if (auto* notebook = std::get_if<Notebook>(&state.source)) notebook->edits = std::move(edits);
  };
  field.is_same = [](const State& a, const State& b) { return notebook_edits(a.source) == notebook_edits(b.source); };
  field.describe = describe_edits;
  return field;
}

/// Returns the fields of the source. A file that names several sources has the last one's: a capture's, else a model's.
std::vector<Field> source_fields() {
  return {described(source_field("", "preset", notebook_name, change_to_notebook, check_notebook),
                    [](const State& before, const State& after) {
                      const Notebook* shown = std::get_if<Notebook>(&after.source);
                      return Change{.label = shown ? "Show " + shown->name : "Leave " + notebook_name(before.source)};
                    }),
          edits_field(),
          described(source_field("model", "path", model_path, change_to_model),
                    [](const State&, const State& after) {
                      return Change{.label = is_model(after.source) ? "Open model" : "Close model"};
                    }),
          described(source_field("capture", "path", capture_path, change_to_capture),
                    [](const State&, const State& after) {
                      return Change{.label = is_capture(after.source) ? "Open capture" : "Close capture"};
                    }),
          continuous(plain_field("", "text", "Edit text", member_by([](auto& state) -> auto& { return state.text(); }))),
          switch_field("", "cross", "Switch cross-attention", of_playground<&Playground::cross>()),
          continuous(plain_field("", "key_text", "Edit second text", of_playground<&Playground::key_text>()))};
}

/// Returns a switch of models whose flag has no value and puts it to `to`.
Field model_switch(const char* key, const char* label, const Member<bool>& at, const char* flag, const char* help, bool to) {
  return flagged(switch_field("model", key, label, at),
                 {.name = flag, .help = help, .parse = [at, to](const std::string&, const std::string&) -> StateEdit {
                    return [at, to](State& state) { at(state) = to; };
                  }});
}

std::vector<Field> model_fields() {
  Field thinking = choice_field("model", "thinks", "Choose thinking", in_model<&Model::thinking>(), kThinking,
                                {.name = "--thinking", .help = kThinkingHelp});
  thinking.read = [](const JsonReader& object, const char* name, State& state) {
    read_thinking(object, name, state.model().thinking);
  };
  return {
      continuous(plain_field("model", "pair_text", "Edit second sentence", in_model<&Model::pair_text>())),
      described(switch_field("model", "translates", "", in_model<&Model::translates>()),
                [](const State&, const State& after) {
                  return Change{.label = after.model().translates ? "Translate by itself" : "Write the target"};
                }),
      continuous(plain_field("model", "target_text", "Edit target", in_model<&Model::target_text>())),
      choice_field("model", "padding", "Choose padding side", in_model<&Model::padding>(), kPaddingSides,
                   {.name = "--padding-side", .help = "where shorter lines of a batch are filled up"}),
      model_switch("adds_special", "Switch special tokens", in_model<&Model::adds_special>(), "--no-special",
                   "without the tokens that the model expects around a text ([CLS], <s>, ...)", false),
      model_switch("chat", "Switch chat", in_model<&Model::is_chat>(), "--chat",
                   "texts are chats, which the model's template writes: lines 'system: ...', 'user: ...', 'assistant: ...' "
                   "begin turns, anything else is the user's; or JSON, a list of messages",
                   true),
      thinking,
      choice_field("model", "precision", "Choose precision", in_model<&Model::precision>(), kPrecisions,
                   {.name = "--precision",
                    .help = "how weights are kept on the device: exactly, as the file has them (f32), or "
                            "rounded to float16; arithmetic is float32"}),
      model_switch("applies_adapter", "Switch adapter", in_model<&Model::applies_adapter>(), "--no-adapter",
                   "the model that a LoRA adapter changes, without the adapter whose folder is given", false),
      switch_field("model", "joins_lines", "Join lines", in_model<&Model::joins_lines>(),
                   {.name = "--join-lines", .help = "all lines of a text are one item of the batch"}),
      switch_field("model", "stretches_positions", "Stretch positions", in_model<&Model::stretches_positions>(),
                   {.name = "--stretch-positions",
                    .help = "take texts that are longer than the model's table of learned positions by "
                            "interpolating the table; the model wasn't trained for that"}),
      ids_field("ids", in_model<&Model::ids>()),
      ids_field("target_ids", in_model<&Model::target_ids>())};
}

/// Reads "1/sqrt(d_k)", "none" or a number, after a flag.
StateEdit parse_scale(const std::string& flag, const std::string& text) {
  constexpr float kLargest = 1e6f;
  model::Scale scale;
  if (text == "none") {
    scale = {.kind = model::Scale::Kind::None, .value = 1.0f};
  } else if (text != "1/sqrt(d_k)") {
    scale = {.kind = model::Scale::Kind::Value, .value = parse_number(flag, text, -kLargest, kLargest)};
  }
  return [scale](State& state) { state.playground().settings.scale = scale; };
}

Field size_field(const char* key, const Member<std::uint32_t>& size, std::uint32_t low, std::uint32_t high,
                 const FlagText& flag) {
  return number_field("playground", key, std::string("Change ") + key, size, low, high, flag);
}

std::vector<Field> all_continuous(std::vector<Field> fields) {
  for (Field& field : fields) field.is_continuous = true;
  return fields;
}

std::vector<Field> playground_fields() {
  return all_continuous(
      {size_field("d_model", in_playground<&PlaygroundSettings::d_model>(), 1, inference::kMaxWidth,
                  {.name = "--d-model", .help = "width of the token vectors"}),
       size_field("heads", in_playground<&PlaygroundSettings::heads>(), 1, inference::kMaxHeads,
                  {.name = "--heads", .help = "heads of each layer"}),
       size_field("d_k", in_playground<&PlaygroundSettings::d_k>(), 0, inference::kMaxWidth,
                  {.name = "--d-k",
                   .help = "width of a head's queries and keys",
                   .default_text = "0: d_model / heads",
                   .tells_limits = false}),
       size_field("d_v", in_playground<&PlaygroundSettings::d_v>(), 0, inference::kMaxWidth,
                  {.name = "--d-v",
                   .help = "width of a head's values",
                   .default_text = "0: d_model / heads",
                   .tells_limits = false}),
       size_field("layers", in_playground<&PlaygroundSettings::layers>(), 1, inference::kMaxLayers,
                  {.name = "--layers", .help = "attention layers"}),
       number_field("playground", "seed", "Change seed", in_playground<&PlaygroundSettings::seed>(), std::uint64_t{0},
                    std::numeric_limits<std::uint64_t>::max(),
                    {.name = "--seed", .help = "torch.manual_seed of the weights", .tells_limits = false}),
       flagged(value_field("playground", "scale", "Change scale", in_playground<&PlaygroundSettings::scale>(), write_scale,
                           read_scale),
               {.name = "--scale",
                .value_name = "S",
                .help = "factor of the raw scores: 1/sqrt(d_k), none or a number (default 1/sqrt(d_k))",
                .parse = parse_scale}),
       switch_field("playground", "bias", "Switch bias", in_playground<&PlaygroundSettings::bias>(),
                    {.name = "--bias", .help = "biases of the projections"}),
       switch_field("playground", "output_projection", "Switch output projection",
                    in_playground<&PlaygroundSettings::output_projection>(),
                    {.name = "--output-projection", .help = "the projection W_O after the merged heads"}),
       switch_field("playground", "positions", "Switch positions", in_playground<&PlaygroundSettings::positions>(),
                    {.name = "--positions", .help = "sinusoidal positions added to the token vectors"}),
       choice_field(
           "playground", "merge", "Change merge order", in_playground<&PlaygroundSettings::merge>(), kMerges,
           {.name = "--merge", .help = "how heads are merged: concatenate or without-transpose", .value_name = "ORDER"})});
}

/// Reads a head such as "L1H4" or, in an encoder-decoder, "cross:L1H4"; none: it names no head.
std::optional<std::pair<model::BlockRef, std::uint32_t>> parse_head_name(const std::string& text) {
  std::string_view name = text;
  std::pair<model::BlockRef, std::uint32_t> head;
  if (const std::size_t colon = text.find(':'); colon != std::string::npos) {
    const auto kind = std::ranges::find(kKinds, text.substr(0, colon), &EnumName<model::BlockKind>::second);
    if (kind == kKinds.end()) return std::nullopt;
    head.first.kind = kind->first;
    name.remove_prefix(colon + 1);
  }
  const auto take = [&name](char letter, std::uint32_t& number) {
    if (!name.starts_with(letter)) return false;
    const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
    if (error != std::errc{}) return false;
    name.remove_prefix(static_cast<std::size_t>(end - name.data()));
    return true;
  };
  if (!take('L', head.first.layer.value) || !take('H', head.second) || !name.empty()) return std::nullopt;
  return head;
}

/// Reads "L1H4=uniform,cross:L0H2=first" after a flag.
StateEdit parse_patterns(const std::string& flag, const std::string& text) {
  inference::FixedPatterns patterns;
  for (const std::string& part : split_list(flag, {text})) {
    const std::size_t equals = part.find('=');
    const auto head = parse_head_name(part.substr(0, equals));
    const auto named = std::ranges::find(kFixedPatterns, equals == std::string::npos ? "" : part.substr(equals + 1),
                                         &EnumName<attention::FixedPattern>::second);
    // A painted one needs its weights, which only a session has.
    if (!head || named == kFixedPatterns.end() || named->first == attention::FixedPattern::Painted) {
      throw UsageError("{}: expected a head and its pattern such as L1H4=uniform (or diagonal, previous, first), found '{}'",
                       flag, part);
    }
    patterns[*head] = named->first;
  }
  return [patterns](State& state) {
    for (const auto& [head, pattern] : patterns) state.patterns[head] = pattern;
  };
}

Change describe_patterns_change(const State& before, const State& after) {
  const auto is_painted = [&](const auto& head) {
    const auto was = before.patterns.find(head.first);
    return head.second.kind == attention::FixedPattern::Painted &&
           (was == before.patterns.end() || was->second != head.second);
  };
  const bool paints = std::ranges::any_of(after.patterns, is_painted);
  return {.label = paints ? "Paint head pattern" : "Replace head pattern"};
}

/// The changes of the model: masks, gains and patterns.
std::vector<Field> change_fields() {
  return {
      described(masks_field("masks", "", at<&State::masks>()), describe_masks_change),
      value_field("", "gains", "Change head gain", at<&State::gains>(), write_gains, read_gains),
      flagged(described(value_field("", "patterns", "", at<&State::patterns>(), write_patterns, read_patterns),
                        describe_patterns_change),
              {.name = "--replace-pattern",
               .value_name = "HEAD=PATTERN",
               .help = "a head attends by a fixed pattern within its mask: uniform, diagonal, previous or first, as in "
                       "L1H4=uniform,L0H2=first (in an encoder-decoder decoder:L1H4 or cross:L1H4)",
               .parse = parse_patterns}),
      described(value_field("", "changes", "", at<&State::changes>(), write_changes, read_changes), describe_kept_changes)};
}

std::vector<Field> generation_fields() {
  constexpr const char* kLabel = "Change generation";
  return all_continuous({number_field("generation", "tokens", kLabel, at<&State::generation, &GenerationChoices::tokens>(),
                                      1u, kMaxGeneratedTokens),
                         choice_field("generation", "method", kLabel, in_sampling<&SamplingSettings::method>(), kMethods),
                         number_field("generation", "temperature", kLabel, in_sampling<&SamplingSettings::temperature>(),
                                      kMinTemperature, kMaxTemperature),
                         number_field("generation", "top_k", kLabel, in_sampling<&SamplingSettings::top_k>(), 0u, kMaxTopK),
                         number_field("generation", "top_p", kLabel, in_sampling<&SamplingSettings::top_p>(), 0.0f, 1.0f),
                         number_field("generation", "seed", kLabel, in_sampling<&SamplingSettings::seed>(), std::uint64_t{0},
                                      std::numeric_limits<std::uint64_t>::max())});
}

std::vector<Field> selection_fields() {
  constexpr const char* kLabel = "Select head";
  const auto index_flag = [](const char* name, const char* help) {
    return FlagText{.name = name, .help = help, .tells_limits = false, .tells_default = false};
  };
  return all_continuous(
      {number_field("selection", "layer", kLabel,
                    at<&State::selection, &Selection::block, &model::BlockRef::layer, &LayerIndex::value>(), 0u, kLastIndex,
                    index_flag("--layer", "selected layer, from 0")),
       number_field("selection", "head", kLabel, at<&State::selection, &Selection::head>(), 0u, kLastIndex,
                    index_flag("--head", "selected head, from 0")),
       number_field("selection", "batch", kLabel, at<&State::selection, &Selection::batch>(), 0u, kLastIndex,
                    index_flag("--batch", "selected batch item, from 0")),
       choice_field("selection", "kind", kLabel, at<&State::selection, &Selection::block, &model::BlockRef::kind>(), kKinds,
                    {.name = "--block",
                     .help = "kind of the selected attention, in presets that have several",
                     .tells_default = false}),
       choice_field("selection", "mean", kLabel, at<&State::selection, &Selection::mean>(), kMeans)});
}

/// The masks that the state goes back to, which only change together with others.
std::vector<Field> kept_mask_fields() {
  return {masks_field("model_masks", "Change masks", in_model<&Model::trained_masks>()),
          masks_field("playground_masks", "Change masks", of_playground<&Playground::kept_masks>())};
}

}  // namespace

std::span<const Field> state_fields() {
  static const std::vector<Field> kFields =
      fields_of({source_fields, model_fields, playground_fields, change_fields, generation_fields, selection_fields,
                 view_fields, setting_fields, kept_mask_fields});
  return kFields;
}

Change describe_change(const State& before, const State& after) {
  for (const Field& field : state_fields()) {
    if (field.is_same(before, after)) continue;
    if (field.describe) return field.describe(before, after);
    return {.label = field.label, .is_continuous = field.is_continuous};
  }
  return {};
}

}  // namespace headlight::app
