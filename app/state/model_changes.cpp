#include "app/state/model_changes.h"

#include <limits>

#include <fmt/ranges.h>

#include "app/state/mask_json.h"
#include "inference/stretch_positions.h"

namespace headlight::app {

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : noun.ends_with('s') ? "es" : "s");
}

namespace {

using attention::MaskSpec;

std::string limit_text(const char* name, std::uint32_t tokens) {
  return tokens == 0 ? fmt::format("{} off", name) : fmt::format("{} {}", name, tokens);
}

const char* fill_name(attention::MaskFill fill) {
  constexpr std::array<const char*, 3> kNames = {"fill \u2212\u221E", "fill \u22121e9", "fill \u22121e10"};
  return kNames[static_cast<std::size_t>(fill)];
}

using Heads = std::vector<std::pair<model::BlockRef, std::uint32_t>>;

/// Returns the beginning of layers' names where these aren't the encoder's, or a decoder-only model's: "cross ".
std::string kind_in_words(model::BlockKind kind) {
  return kind == model::BlockKind::EncoderSelf ? "" : fmt::format("{} ", to_string(kind));
}

/// Returns "L1H4, cross L0H2–5": ascending; of more parts than `most` how many heads there are.
std::string heads_in_words(const Heads& heads, std::size_t most) {
  std::vector<std::string> parts;
  for (std::size_t first = 0, end = 0; first < heads.size(); first = end) {
    const auto& [block, head] = heads[first];
    while (end < heads.size() && heads[end].first == block && heads[end].second == head + (end - first)) ++end;
    if (end - first == 2) --end;  // two neighbours have a name each
    parts.push_back(fmt::format("{}L{}H{}{}", kind_in_words(block.kind), block.layer.value, head,
                                end - first > 1 ? fmt::format("\u2013{}", heads[end - 1].second) : ""));
  }
  return parts.size() > most ? counted(heads.size(), "head") : fmt::format("{}", fmt::join(parts, ", "));
}

struct Wording {
  std::size_t most = 0;       ///< heads, or places, of a kind that have names
  bool has_one_text = false;  ///< the batch item needs no name
};

/// Returns "3 cells painted in L1H4, L2": without the place where every map has them, or there are too many places.
std::string painted_in_words(model::BlockKind kind, const std::map<attention::PaintScope, std::size_t>& cells,
                             const char* noun, const Wording& words) {
  const auto of_item = [&](std::optional<std::uint32_t> batch) {
    return batch && !words.has_one_text ? fmt::format(" of batch item {}", *batch) : std::string();
  };
  std::size_t count = 0;
  std::map<std::optional<std::uint32_t>, Heads> heads;  // by batch item, where layer and head are named
  std::vector<std::string> places;
  for (const auto& [scope, of_scope] : cells) {
    count += of_scope;
    if (scope.layer && scope.head) {
      heads[scope.batch].push_back({{kind, {*scope.layer}}, *scope.head});
      continue;
    }
    places.push_back((scope.layer  ? fmt::format("{}L{}", kind_in_words(kind), *scope.layer)
                      : scope.head ? fmt::format("H{} of every layer", *scope.head)
                                   : "every head") +
                     of_item(scope.batch));
  }
  const bool is_everywhere = cells.size() == 1 && cells.begin()->first == attention::PaintScope();
  for (const auto& [batch, named] : heads) places.push_back(heads_in_words(named, words.most) + of_item(batch));
  const std::string painted = counted(count, noun) + " painted";
  return is_everywhere || places.size() > words.most ? painted : fmt::format("{} in {}", painted, fmt::join(places, ", "));
}

constexpr const char *kMaskPanel = "mask", *kModelPanel = "model";

/// Returns what puts a part of a kind's mask back, which `copy` copies.
template <typename Copy>
std::function<void(State&)> taking_back(std::size_t kind, Copy copy) {
  return [kind, copy](State& state) {
    const attention::MaskSet trained = trained_masks(state.source);
    copy(trained.by_kind[kind], state.masks.by_kind[kind]);
  };
}

void compare(std::size_t index, const MaskSpec& now, const MaskSpec& trained, const Wording& words,
             std::vector<ModelChange>& parts) {
  const auto kind = static_cast<model::BlockKind>(index);
  const auto add = [&](std::string text, auto copy) {
    std::function<void(State&)> take_back = taking_back(index, copy);
    const auto same = std::ranges::find(parts, text, &ModelChange::text);
    if (same == parts.end()) return parts.push_back({std::move(text), kMaskPanel, std::move(take_back)});
    same->take_back = [first = same->take_back, take_back](State& state) {
      first(state);
      take_back(state);
    };
  };
  const auto on_or_off = [](bool is_on) { return is_on ? "on" : "off"; };
  const auto compare_rule = [&](auto member, std::string text) {
    if (now.rule.*member == trained.rule.*member) return;
    add(std::move(text), [member](const MaskSpec& from, MaskSpec& to) { to.rule.*member = from.rule.*member; });
  };
  using attention::MaskRule;
  compare_rule(&MaskRule::causal, fmt::format("causal {}", on_or_off(now.rule.causal)));
  compare_rule(&MaskRule::key_padding, fmt::format("padding {}", on_or_off(now.rule.key_padding)));
  compare_rule(&MaskRule::window, limit_text("window", now.rule.window));
  compare_rule(&MaskRule::prefix, limit_text("prefix", now.rule.prefix));
  if (now.fill != trained.fill) add(fill_name(now.fill), [](const MaskSpec& from, MaskSpec& to) { to.fill = from.fill; });
  for (const MaskPart& part : mask_parts()) {
    if (part.are_equal(now, trained)) continue;
    const bool is_counted = part.painted != nullptr && part.is_set(now);
    add(is_counted         ? painted_in_words(kind, part.painted(now), part.change, words)
        : part.is_set(now) ? part.change
                           : part.removal,
        part.copy);
  }
}

/// Lists the changes of the pass in a state or in a run's inputs. Up to `most` heads of a kind have names.
template <typename Changed>
std::vector<ModelChange> changes_of(const Changed& changed, const attention::MaskSet& trained,
                                    std::size_t most = std::numeric_limits<std::size_t>::max()) {
  std::vector<ModelChange> parts;
  if (const inference::NotebookEdits& edits = notebook_edits(changed.source); !edits.is_empty())
    parts.push_back({fmt::format("{}", fmt::join(inference::words_of(edits), " \u00B7 ")), kModelPanel,
                     [](State& state) { edit_notebook(state, {}); }});
  const auto* model = std::get_if<Model>(&changed.source);
  if (model != nullptr && !model->applies_adapter)
    parts.push_back({"without the adapter", kModelPanel, [](State& state) { state.model().applies_adapter = true; }});
  std::map<float, Heads> scaled;
  for (const auto& [head, gain] : changed.gains) scaled[gain].push_back(head);
  for (const auto& [gain, heads] : scaled) {
    parts.push_back(
        {heads_in_words(heads, most) + (gain == 0.0F ? " knocked out" : fmt::format(" \u00D7 {:g}", gain)), "",
         [gain = gain](State& state) { std::erase_if(state.gains, [&](const auto& of) { return of.second == gain; }); }});
  }
  std::map<attention::FixedPattern, Heads> replaced;
  for (const auto& [head, pattern] : changed.patterns) replaced[pattern.kind].push_back(head);
  for (const auto& [kind, heads] : replaced) {
    parts.push_back({fmt::format("{} replaced ({})", heads_in_words(heads, most), attention::to_string(kind)), "",
                     [kind = kind](State& state) {
                       std::erase_if(state.patterns, [&](const auto& of) { return of.second.kind == kind; });
                     }});
  }
  for (const KeptChange& kept : changed.changes) {
    parts.push_back({kept.strength == 1.0F ? kept.name : fmt::format("{:g} \u00D7 {}", kept.strength, kept.name), "",
                     [kept](State& state) { std::erase(state.changes, kept); }});
  }
  for (const SettingGroup* group : effective_groups(changed.settings)) {
    parts.push_back({group->words(changed.settings), kMaskPanel, [group](State& state) {
                       for (const AnySetting* setting : group->settings) state.put(*setting, State().value(*setting));
                     }});
  }
  const std::string text = typed_text(changed.source);
  const bool has_one_text =
      model != nullptr && !model->ids.empty() ? model->ids.size() == 1 : !text.empty() && text.find('\n') == text.npos;
  const Wording words{.most = most, .has_one_text = has_one_text};
  for (std::size_t kind = 0; kind < model::kBlockKinds; ++kind)
    compare(kind, changed.masks.by_kind[kind], trained.by_kind[kind], words, parts);
  return parts;
}

std::string joined_parts(const std::vector<ModelChange>& parts) {
  std::string text;
  for (const ModelChange& part : parts) text += (text.empty() ? "" : " \u00B7 ") + part.text;
  return text;
}

}  // namespace

std::vector<ModelChange> list_model_changes(const State& state) {
  constexpr std::size_t kMaxNamed = 8;  // in a line of the window
  return changes_of(state, trained_masks(state.source), kMaxNamed);
}

std::string model_changes(const State& state) { return joined_parts(list_model_changes(state)); }

std::string run_changes(const RunInputs& inputs, const inference::LanguageModel* model, const model::Network& network) {
  if (is_capture(inputs.source)) return {};  // nothing is computed that could be changed
  std::vector<ModelChange> parts = changes_of(inputs, model != nullptr ? model->masks : trained_masks(inputs.source));
  const std::string stretched = model != nullptr ? stretch_in_words(*model->network, network) : std::string();
  if (!stretched.empty()) parts.push_back({stretched});
  if (precision_of(inputs.source) == inference::Precision::F16) parts.push_back({"weights rounded to float16"});
  return joined_parts(parts);
}

std::string changes_note(const Source& source, const std::string& changes, const std::optional<std::string>& compared) {
  const std::string& other = compared ? *compared : changes;
  if (changes.empty() && other.empty()) return {};
  const auto words = [](const std::string& text) { return text.empty() ? std::string("nothing") : text; };
  std::string note = (is_model(source) ? "Differs from the trained model: " : "Changed: ") + words(changes);
  if (other != changes) note += "; in the compared run: " + words(other);
  return note;
}

std::string stretch_in_words(const model::Network& trained, const model::Network& used) {
  const inference::PositionStretch stretch = inference::stretch_between(trained, used);
  const std::uint32_t factor = std::max(stretch.source, stretch.target);
  return factor > 1 ? fmt::format("positions stretched {}\u00D7", factor) : std::string();
}

}  // namespace headlight::app
