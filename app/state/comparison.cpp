#include "app/state/comparison.h"

#include "app/state/field.h"
#include "app/state/model_changes.h"
#include "app/state/side_by_side_settings.h"
#include "core/utf8.h"

namespace headlight::app {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestName = 200;  // bytes that are read of a file
constexpr std::size_t kShownText = 40;     // bytes of the text in a chip

/// Is the field one of those that say what a run computes?
bool is_of_run(const Field& field) {
  return field.group.empty() || field.group == "model" || field.group == "playground" || field.group == "capture" ||
         field.changes_pass;
}

State state_of(const BaselineRun& baseline) {
  State state;
  state.source = baseline.inputs.source;
  state.pass() = baseline.inputs.pass();
  return state;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\t'; };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && !is_space(text[end])) ++end;
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

std::string differing_words(const std::string& text, const std::string& other, std::size_t most) {
  const std::vector<std::string_view> words = words_of(text), others = words_of(other);
  const std::size_t least = std::min(words.size(), others.size());
  std::size_t before = 0, after = 0;  // equal words
  while (before < least && words[before] == others[before]) ++before;
  while (after < least - before && words[words.size() - 1 - after] == others[others.size() - 1 - after]) ++after;
  const std::size_t begin = before > 0 ? before - 1 : 0;
  const std::size_t end = std::min(words.size() - after + 1, words.size());
  std::string shown = begin > 0 ? "\u2026" : "";
  for (std::size_t i = begin; i < end; ++i) shown += fmt::format("{}{}", i == begin ? "" : " ", words[i]);
  if (shown.size() > most) {
    std::size_t cut = most;
    while (cut > 0 && (static_cast<unsigned char>(shown[cut]) & 0xC0U) == 0x80U) --cut;
    return one_line(shown.substr(0, cut), most) + "\u2026";
  }
  return one_line(shown + (end < words.size() ? "\u2026" : ""), most + 8);
}

BaselineRun make_baseline(const State& state) {
  const std::string changes = model_changes(state);
  if (is_capture(state.source)) {
    const std::string file = utf8(std::filesystem::path(capture_path(state.source)).filename());
    return {.inputs = run_inputs(state), .name = one_line(file, kLongestName)};
  }
  return {.inputs = run_inputs(state), .name = changes.empty() ? "as trained" : one_line(changes, kLongestName)};
}

std::string compared_with(const State& state) {
  const BaselineRun& baseline = *state.compare.baseline;
  if (baseline.inputs == run_inputs(state)) {
    return state.compare.is_second_text ? "the same text: change a word" : "this very run: change something";
  }
  if (state.compare.is_second_text) return fmt::format("\u201C{}\u201D", baseline.name);
  const State then = state_of(baseline);
  if (is_model(baseline.inputs.source) && model_path(baseline.inputs.source) != model_path(state.source)) {
    const std::string model = utf8(std::filesystem::path(model_path(baseline.inputs.source)).filename());
    return fmt::format("{}, {}, \u201C{}\u201D", one_line(model, kShownText), baseline.name,
                       one_line(then.text(), kShownText));
  }
  if (is_capture(baseline.inputs.source)) return baseline.name;
  if (then.text() == state.text() || is_notebook(state.source)) return baseline.name;
  return fmt::format("{}, \u201C{}\u201D", baseline.name, differing_words(then.text(), state.text(), kShownText));
}

const char* baseline_name(const State& state) { return has_second_text(state) ? "the second text" : "the baseline"; }

const char* difference_caption(const State& state) {
  return has_second_text(state) ? "first \u2212 second text" : "now \u2212 baseline";
}

bool compares_capture_with_network(const State& state) {
  return is_capture(state.compare.baseline->inputs.source) != is_capture(state.source);
}

void compare_with_text(State& state, std::string text) {
  State other = state;
  other.text() = std::move(text);
  if (is_model(other.source)) other.model().ids.clear();
  state.compare.baseline =
      BaselineRun{.inputs = run_inputs(other), .name = differing_words(other.text(), state.text(), kShownText)};
  const bool is_usual = state[kSideBySideView.right] == SideMap::OtherHead && !state[kSideBySideView.is_chosen];
  if (!std::exchange(state.compare.is_second_text, true) && is_usual) state.set(kSideBySideView.right, SideMap::Baseline);
}

bool has_second_text(const State& state) { return state.compare.baseline && state.compare.is_second_text; }

std::string second_text(const State& state) { return state_of(*state.compare.baseline).text(); }

void follow_second_text(State& state) {
  if (!state.compare.is_second_text) return;
  const bool has_text = state.compare.baseline && !is_notebook(state.source) && !is_capture(state.source);
  if (!has_text) return stop_comparing(state);
  State next = state;
  compare_with_text(next, second_text(state));
  if (*next.compare.baseline != *state.compare.baseline) state.compare.baseline = next.compare.baseline;
}

void exchange_texts(State& state) {
  std::string first = std::exchange(state.text(), second_text(state));
  if (is_model(state.source)) state.model().ids.clear();
  compare_with_text(state, std::move(first));
}

void stop_comparing(State& state) {
  state.compare.baseline.reset();
  const bool had_text = std::exchange(state.compare.is_second_text, false);
  if (had_text && state[kSideBySideView.right] == SideMap::Baseline) state.set(kSideBySideView.right, SideMap::OtherHead);
}

bool can_return_to_baseline(const State& state) {
  if (!state.compare.baseline || state.compare.is_second_text) return false;
  const Source& source = state.compare.baseline->inputs.source;
  return source.index() == state.source.index() && names_same(source, state.source);
}

void return_to_baseline(State& state) {
  if (!can_return_to_baseline(state)) return;
  const RunInputs& inputs = state.compare.baseline->inputs;
  Source source = inputs.source;
  // Choices that a run doesn't need keep their present values.
  match(
      source,
      [&](Playground& playground) {
        if (!playground.cross) playground.key_text = state.playground().key_text;
      },
      [](Notebook&) {}, [&](Model& model) { model.trained_masks = state.model().trained_masks; }, [](Capture&) {});
  state.source = std::move(source);
  state.pass() = inputs.pass();
}

json write_baseline(const SharedValue<BaselineRun>& baseline) {
  if (!baseline) return nullptr;
  const State state = state_of(*baseline);
  json value = {{"name", baseline->name}};
  for (const Field& field : state_fields()) {
    if (!is_of_run(field)) continue;
    json& object = field.group.empty() ? value : value[field.group];
    object[field.key] = field.write(state);
  }
  return value;
}

void read_baseline(const JsonReader& object, const char* key, SharedValue<BaselineRun>& value) {
  const json* found = object.find(key);
  if (!found) return;
  value.reset();
  if (found->is_null()) return;
  const JsonReader whole(*found, object.path(key));
  State state;
  std::string name;
  whole.read("name", name);
  if (name.size() > kLongestName) throw Error("{}: expected a name of at most {} bytes", whole.path("name"), kLongestName);
  for (const Field& field : state_fields()) {
    if (!is_of_run(field)) continue;
    if (field.group.empty()) {
      field.read(whole, field.key.c_str(), state);
    } else if (const json* group = whole.find(field.group.c_str())) {
      field.read(JsonReader(*group, whole.path(field.group)), field.key.c_str(), state);
    }
  }
  value = BaselineRun{.inputs = run_inputs(state), .name = one_line(name, kLongestName)};
}

}  // namespace headlight::app
