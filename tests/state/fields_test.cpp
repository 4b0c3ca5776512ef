// Fields and settings of a state: their names in files, labels of undo, flags and limits.
#include <algorithm>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/state/field.h"
#include "app/state/flow_settings.h"
#include "app/state/logits_settings.h"
#include "app/state/map_settings.h"
#include "app/state/state.h"
#include "app/state/state_json.h"
#include "app/state/usage.h"
#include "app/state/what_if_settings.h"
#include "core/error.h"
#include "state/unusual_state.h"

namespace fields_test {

using namespace headlight;
using namespace headlight::app;
using nlohmann::json;
using test::unusual_capture;
using test::unusual_notebook;
using test::unusual_state;

TEST_SUITE("cpu") {
  TEST_CASE("each field is read, told apart and called by a label of its own") {
    std::set<std::string> paths;
    for (const Field& field : state_fields()) {
      const std::string path = field.group + "/" + field.key;
      CAPTURE(path);
      CHECK(paths.insert(path).second);
      const bool is_of_preset = field.key == "preset_edits";  // changes of a notebook say nothing without one
      const State unusual_values = field.key == "preset" || is_of_preset ? unusual_notebook()
                                   : field.group == "capture"            ? unusual_capture()
                                                                         : unusual_state();
      State fresh;
      if (is_of_preset) change_to_notebook(fresh, "notebook-000");
      const json unusual = to_json(unusual_values);
      // This field alone differs from a new state's.
      const json& value = field.group.empty() ? unusual[field.key] : unusual[field.group][field.key];
      json alone = field.group.empty() ? json{{field.key, value}} : json{{field.group, {{field.key, value}}}};
      if (is_of_preset) alone["preset"] = "notebook-000";
      const State changed = state_from_json(alone).value();
      CHECK(field.is_same(changed, unusual_values));
      CHECK_FALSE(field.is_same(changed, fresh));
      const auto differs = [&](const Field& other) { return !other.is_same(changed, fresh); };
      CHECK(std::ranges::count_if(state_fields(), differs) == 1);
      CHECK_FALSE(describe_change(fresh, changed).label.empty());
    }
  }

  TEST_CASE("a field's flag sets that field and nothing else, with the limits that files have") {
    std::set<std::string> names;
    State unusual = unusual_state();
    std::erase_if(unusual.patterns, [](const auto& head) { return !head.second.weights.empty(); });  // which no flag can say
    for (const Field& field : state_fields()) {
      const FieldFlag& flag = field.flag;
      if (flag.name.empty()) continue;
      CAPTURE(flag.name);
      CHECK(names.insert(flag.name).second);
      const json value = field.write(unusual);
      std::vector<std::string> heads;  // of the patterns
      for (const json& one : flag.name == "--replace-pattern" ? value : json::array()) {
        heads.push_back(fmt::format("{}:L{}H{}={}", one.at("kind").get<std::string>(), one.at("layer").get<int>(),
                                    one.at("head").get<int>(), one.at("pattern").get<std::string>()));
      }
      const std::string typed = !heads.empty()       ? fmt::format("{}", fmt::join(heads, ","))
                                : value.is_boolean() ? (value.get<bool>() ? "on" : "off")
                                : value.is_string()  ? value.get<std::string>()
                                : value.is_object()
                                    ? fmt::format("{},{}", value.front()[0].get<float>(), value.front()[1].get<float>())
                                    : value.dump();
      State state;
      flag.parse(flag.name, typed)(state);
      CHECK(field.write(state) == value);
      const auto differs = [&](const Field& other) { return !other.is_same(state, State{}); };
      CHECK(std::ranges::count_if(state_fields(), differs) == 1);
      if (!flag.value_name.empty()) CHECK_THROWS_AS(flag.parse(flag.name, "no such value"), UsageError);
    }
    const auto field = [](const char* key) {
      return *std::ranges::find_if(state_fields(), [&](const Field& one) { return one.key == key; });
    };
    CHECK(field("heads").flag.help == "heads of each layer, 1 to 64 (default 8)");
    CHECK(field("d_k").flag.help == "width of a head's queries and keys (default 0: d_model / heads)");
    CHECK(field("bias").flag.help == "biases of the projections (default on)");
    CHECK(field("padding").flag.help == "where shorter lines of a batch are filled up (default right)");
    CHECK(field("padding").flag.value_name == "right|left");
    CHECK_THROWS_WITH_AS(field("heads").flag.parse("--heads", "65"),
                         "--heads: expected a whole number from 1 to 64, found '65'", UsageError);
  }

  TEST_CASE("a threshold of the flow is automatic or a number, which files of before keep") {
    CHECK_FALSE(State()[kFlowView.threshold]);
    CHECK(to_json(State())["flow"]["threshold"].is_null());
    const auto read = [](const char* text) { return state_from_json(json::parse(text)).value()[kFlowView.threshold]; };
    CHECK(read(R"({"flow": {"threshold": 0.04}})") == 0.04F);
    CHECK_FALSE(read(R"({"flow": {"threshold": null}})"));
    CHECK_FALSE(read(R"({"flow": {"method": "rollout"}})"));
    State chosen;
    chosen.set(kFlowView.threshold, 0.002F);
    CHECK(state_from_json(json::parse(to_json(chosen).dump())).value() == chosen);
  }

  TEST_CASE("files of before neither choose another score of patterns than the mean nor lose the metric of their order") {
    const auto read = [](const char* text) { return state_from_json(json::parse(text)).value().heads; };
    const HeadChoices old = read(R"({"heads": {"measure": "mul", "order": "relative"}})");
    CHECK(old.scoring.measure == evaluation::PatternMeasure::Mean);
    CHECK(old.order == evaluation::HeadMetric::RelativeEntropy);
    CHECK(to_json(State())["heads"]["score"] == "mean");
    CHECK(read(R"({"heads": {"score": "mul"}})").scoring.measure == evaluation::PatternMeasure::Mul);
    for (std::size_t metric = 0; metric < evaluation::kHeadMetrics; ++metric) {
      State state;
      state.heads.order = static_cast<evaluation::HeadMetric>(metric);
      CHECK(to_json(state)["heads"]["order"] == evaluation::metric_name(*state.heads.order));
    }
  }

  TEST_CASE("colours that were fitted are read as the quantile in sessions, and where nobody chose them as the largest") {
    const json old = {{"view", {{"color_range", "absolute"}}}};
    CHECK(state_from_json(old).value()[kMapView.color_range] == ColorRange::Quantile);
    CHECK(state_from_json(with_color_range(old, "largest")).value()[kMapView.color_range] == ColorRange::Largest);
    CHECK(with_color_range(json::array({1}), "largest") == json::array({1}));
    CHECK(State()[kMapView.color_range] == ColorRange::Largest);
  }

  TEST_CASE("settings are in files under the names that files of before have") {
    // Path, what it is in a new state, and the names of its values.
    const std::string known = R"(dropout.probability 0.0
dropout.seed 1
dropout.weights true
dropout.embeddings true
dropout.branches true
dropout.feed_forward true
view.color_map "viridis" viridis magma cividis greys
view.color_range "largest" largest row quantile
view.color_spread "linear" linear sqrt log
view.pooling "max" max mean
view.row_names "written" written read
view.grid_order "layer" layer concentration
view.show_numbers true
view.whole_words false
view.special_tokens "shown" shown hidden renormalized
view.groups_words false
view.shows_marginals false
view.paint_reach "head" head layer later all
view.brush_shape "cell" cell row column diagonal rectangle
view.brush_ink "mask" mask bias pattern
view.brush_bias 2.0
view.brush_weight 1.0
view.steps_all_heads false off on
view.text_side "query" query key
neuron.form "pair" pair all-keys
neuron.order "component" component size
block.activations false
block.reduces_motion false
block.speed 1.0
predictions.part "position" position positions layers
predictions.lens_color "probability" probability rank entropy kl
predictions.ranked null
predictions.lens ""
logits.token null
logits.other null
logits.sums_heads true on off
flow.method "routes" routes rollout flow
flow.threshold null
flow.residual_weight 0.5
heads.mode "metrics" metrics from-to pattern similarity composition vocabulary retrieval
heads.pattern "previous" previous itself first next duplicate induction uniform typed
heads.typed_pattern ""
heads.subtracts_chance false
heads.groups_similar true on off
heads.circuit_score "q" q k v copying
heads.draws_arcs false
heads.least_arc null
heads.read_token null
heads.has_distance false
heads.distance 1
heads.needle_longest 256
heads.needle_seed 1
heads.needle_is_predicted false
what_if.measure "logit" logit probability loss
what_if.ablation "zero" zero mean baseline-mean
what_if.is_sorted true on off
side_by_side.right "head" head baseline layer-mean
side_by_side.is_chosen false
side_by_side.layer 0
side_by_side.head 1
corpus.folder ""
corpus.mode "scatter" scatter layers table head
corpus.x ""
corpus.y ""
corpus.color ""
corpus.order ""
corpus.lowest_first false
corpus.metric ""
corpus.decile 0
checkpoints.metric "induction" previous duplicate induction sink concentration evenness entropy distance
checkpoints.log_axis true off on
prompts.set ""
prompts.experiment "knock-outs" knock-outs patching paths attribution lens metrics
prompts.lens "probability" probability rank logit
prompts.metric "induction" previous duplicate induction sink concentration evenness entropy distance
prompts.layer 4294967295
prompts.position ""
prompts.order "file" file lowest highest
notebook.cell ""
why.is_raw false on off
why.list "pairs" pairs writers
why.trail ""
)";
    const json usual = to_json(State());
    std::string found;
    for (const SettingGroup* group : setting_groups()) {
      for (const AnySetting* setting : group->settings) {
        found += fmt::format("{} {}", setting->path(), usual.at(group->name).at(setting->text.key).dump());
        for (const Option& option : setting->text.options) found += fmt::format(" {}", option.name);
        found += '\n';
      }
    }
    CHECK(found == known);
  }

  TEST_CASE("a setting that is put back leaves nothing behind, and every option is read back") {
    State state;
    state.set(kWhatIfView.ablation, Ablation::Mean).set(kLogitsView.token, 3);
    CHECK(state[kWhatIfView.ablation] == Ablation::Mean);
    CHECK(describe_change(State(), state).label == "Choose explained token");
    CHECK_FALSE(state == State());
    state.set(kWhatIfView.ablation, Ablation::Zero).set(kLogitsView.token, {});
    CHECK(state == State());
    std::size_t options = 0;
    for (const SettingGroup* group : setting_groups()) {
      for (const AnySetting* setting : group->settings) {
        CAPTURE(setting->path());
        for (std::size_t i = 0; i < setting->text.options.size(); ++i, ++options) {
          State chosen;
          choices_of(chosen, *setting).put(*setting, setting->value_of(i));
          CHECK(setting->option_of(choices_of(chosen, *setting).value(*setting)) == i);
          CHECK(state_from_json(json::parse(to_json(chosen).dump())).value() == chosen);
          const Option& option = setting->text.options[i];
          CHECK((option.label.empty() || option.help.ends_with('.')));
        }
        const json wrong = {{group->name, {{setting->text.key, json::array()}}}};
        const Result<State> refused = state_from_json(wrong);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().starts_with(setting->path() + ": expected "));
      }
    }
    CHECK(options > 80);
  }
}

}  // namespace fields_test
