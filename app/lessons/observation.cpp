#include "app/lessons/observation.h"

#include "app/engine/analyses/head_knockouts.h"
#include "app/engine/analyses/head_metrics.h"
#include "app/engine/predictions.h"
#include "app/lessons/exercise.h"
#include "app/lessons/lesson_condition.h"
#include "app/state/transient.h"

namespace headlight::app {
namespace {

using nlohmann::json;
using Test = LessonCondition::Test;

constexpr std::array<std::string_view, 7> kOfCell = {"quantity", "kind", "layer", "head", "batch", "row", "column"};
constexpr std::array<std::string_view, 5> kOfRow = {"kind", "layer", "head", "batch", "row"};
constexpr std::array<std::string_view, 5> kOfMetric = {"metric", "kind", "layer", "head", "batch"};
constexpr std::array<std::string_view, 3> kOfProbability = {"token", "batch", "row"};
constexpr std::array<std::string_view, 1> kOfLoss = {"batch"};

/// Is the run on screen that of the state? Numbers of an older one complete nothing.
bool is_run_of_state(const LessonRun& run) {
  const EngineResult& result = run.result;
  return result.run != 0 && !result.is_stale && result.first_layers == 0 && result.inputs &&
         *result.inputs == run_inputs(run.state);
}

HeadRef head_of(const LessonSubject& subject, const State& state) {
  HeadRef head{.block = state.selection.block, .head = subject.head.value_or(state.selection.head)};
  if (subject.kind) head.block.kind = *subject.kind;
  if (subject.layer) head.block.layer = LayerIndex{*subject.layer};
  return head;
}

json observe_field(const LessonSubject& subject, const LessonRun& run) {
  const json* value = find_setting(run.settings, subject.field);
  return value ? *value : json();
}

json observe_cell(const LessonSubject& subject, const LessonRun& run) {
  const std::optional<attention::Cell>& pinned = run.state.view.pinned;
  if (!pinned && (!subject.row || !subject.column)) return {};
  TileQuery query = query_of(subject, run);
  query.row = subject.row ? *subject.row : pinned->query;
  query.column = subject.column ? *subject.column : pinned->key;
  const std::span<const float> cell = cells_of(run, query);
  return cell.empty() ? json() : json(double{cell.front()});
}

/// Observes the key with the largest weight of a row, the first of equal ones.
json observe_largest_key(const LessonSubject& subject, const LessonRun& run) {
  const std::optional<attention::Cell>& pinned = run.state.view.pinned;
  if (!pinned && !subject.row) return {};
  TileQuery query = query_of(subject, run);
  query.row = subject.row ? *subject.row : pinned->query;
  const auto shape = run.result.shapes.find(query.block);
  if (shape == run.result.shapes.end()) return {};
  query.columns = shape->second.keys;
  const std::span<const float> row = cells_of(run, query);
  return row.empty() ? json() : json(std::ranges::max_element(row) - row.begin());
}

json observe_metric(const LessonSubject& subject, const LessonRun& run) {
  if (!is_run_of_state(run)) return {};
  const HeadRef head = head_of(subject, run.state);
  const HeadMetricsQuestion query{.kind = head.block.kind, .batch = subject.batch.value_or(run.state.selection.batch)};
  run.queries.emplace_back(query);
  const Analysed* analysed = run.result.analysed(query);
  const auto* found = analysed && analysed->run == run.result.run ? analysed->as<HeadMetricsFound>() : nullptr;
  const evaluation::HeadMetrics* metrics = found ? found->find(head) : nullptr;
  const std::optional<double> value = metrics ? metrics->value(subject.metric) : std::nullopt;
  return value ? json(*value) : json();
}

/// Returns the token without the space, or the sign for one, before it.
std::string_view bare(std::string_view token) {
  for (const std::string_view space : {" ", "\u00B7", "\u2423", "\u0120", "\u2581"}) {
    if (token.size() > space.size() && token.starts_with(space)) return token.substr(space.size());
  }
  return token;
}

/// Observes the probability of the text's tokens: several tokens with this text, as "rides" and " rides", count together.
json observe_probability(const LessonSubject& subject, const LessonRun& run) {
  if (!is_run_of_state(run) || !run.result.has_logits) return {};
  PredictionPosition position = prediction_position(run.state, run.result);
  if (subject.batch) position.batch = *subject.batch;
  if (subject.row) position.token = *subject.row;
  const PredictionQuery query{.batch = position.batch,
                              .token = position.token,
                              .layer = predicting_layers(*run.result.network),
                              .keeps_logits = true};
  run.queries.emplace_back(query);
  const Prediction* prediction = run.result.prediction(query);
  if (!prediction || prediction->run != run.result.run || !prediction->logits) return {};
  const std::vector<float>& logits = *prediction->logits;
  const double largest = logits.empty() ? 0.0 : double{*std::ranges::max_element(logits)};
  double all = 0.0, named = 0.0;
  const std::string_view wanted = bare(subject.token);
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const double share = std::exp(double{logits[id]} - largest);
    all += share;
    if (bare(predicted_label(run.result.model.get(), static_cast<std::uint32_t>(id))) == wanted) named += share;
  }
  return all > 0.0 ? json(named / all) : json();
}

/// Observes the mean surprise at the next token over the text, in nats.
json observe_loss(const LessonSubject& subject, const LessonRun& run) {
  if (!is_run_of_state(run) || !run.result.has_logits) return {};
  const AnalysisQuery query = knockout_query(Choices().set(kWhatIfView.measure, KnockoutMeasure::Loss),
                                             subject.batch.value_or(run.state.selection.batch), 0, 0, {});
  run.queries.emplace_back(query);
  const Analysed* analysed = run.result.analysed(query);
  const auto* found = analysed && analysed->run == run.result.run ? analysed->as<HeadKnockouts>() : nullptr;
  return found ? json(found->present.loss) : json();
}

/// Observes how many columns left of its row's diagonal cell the pinned cell is.
json observe_offset(const LessonSubject& /*subject*/, const LessonRun& run) {
  const std::optional<attention::Cell>& pinned = run.state.view.pinned;
  return pinned ? json(std::int64_t{pinned->query} - std::int64_t{pinned->key}) : json();
}

json observe_exercise(const LessonSubject& subject, const LessonRun& /*run*/) { return is_exercise_passed(subject.label); }

void read_exercise(const JsonReader& reader, LessonCondition& into) {
  into.subject.label = text_of(reader, "exercise");
  into.value = true;
  const bool is_there = std::ranges::find(exercises(), into.subject.label, &Exercise::name) != exercises().end();
  if (!is_there) throw Error("{}: there is no exercise '{}'", reader.path("exercise"), into.subject.label);
}

constexpr std::array kObservations = {
    Observation{.name = "field", .members = {}, .value = &observe_field},
    Observation{.name = "cell", .members = kOfCell, .value = &observe_cell},
    Observation{.name = "offset", .members = {}, .value = &observe_offset},
    Observation{.name = "largest_key", .members = kOfRow, .value = &observe_largest_key},
    Observation{.name = "metric", .members = kOfMetric, .value = &observe_metric},
    Observation{.name = "probability", .members = kOfProbability, .value = &observe_probability},
    Observation{.name = "loss", .members = kOfLoss, .value = &observe_loss},
    Observation{.name = "exercise", .members = {}, .value = &observe_exercise, .read = &read_exercise},
};

/// Has the value (at least) everything that is wanted?
bool covers(const json& value, const json& wanted) {
  if (!wanted.is_object() || !value.is_object()) return value == wanted;
  for (const auto& [key, part] : wanted.items()) {
    const auto found = value.find(key);
    if (found == value.end() || !covers(*found, part)) return false;
  }
  return true;
}

bool are_equal(const json& value, const json& wanted, double within) {
  return within == 0.0 || !value.is_number() || !wanted.is_number() ? value == wanted : are_near(value, wanted, within);
}

bool contains(const json& value, const json& wanted) {
  if (value.is_string() && wanted.is_string()) {
    return value.get_ref<const std::string&>().find(wanted.get_ref<const std::string&>()) != std::string::npos;
  }
  return value.is_array() && std::ranges::any_of(value, [&](const json& element) { return covers(element, wanted); });
}

bool is_met(const LessonCondition& condition, const json& value, const json& wanted) {
  const double within = condition.within, most = condition.most.value_or(std::numeric_limits<double>::infinity());
  const bool are_numbers = value.is_number() && wanted.is_number();
  switch (condition.test) {
    case Test::Equals:
      return are_equal(value, wanted, within);
    case Test::Differs:
      return !are_equal(value, wanted, within);
    case Test::AtLeast:
      return are_numbers && value.get<double>() >= wanted.get<double>() && value.get<double>() <= most;
    case Test::AtMost:
      return are_numbers && value.get<double>() <= wanted.get<double>();
    case Test::Contains:
      break;
  }
  return contains(value, wanted);
}

}  // namespace

std::span<const Observation> observations() {
  static const std::vector<Observation> kAll = [] {
    std::vector<Observation> all(kObservations.begin(), kObservations.end());
    all.insert(all.end(), questions().begin(), questions().end());
    return all;
  }();
  return kAll;
}

std::span<const float> cells_of(const LessonRun& run, TileQuery query) {
  if (!is_run_of_state(run) || !is_inside(query, run.result.shapes)) return {};
  run.queries.emplace_back(query);
  const bool is_known = run.result.is_current(query);
  return is_known ? std::span<const float>(run.result.tile(query)->values) : std::span<const float>();
}

TileQuery query_of(const LessonSubject& subject, const LessonRun& run) {
  const HeadRef head = head_of(subject, run.state);
  const bool has_heads = quantity(subject.quantity).scope == Scope::Head;
  return {.quantity = subject.quantity,
          .block = head.block,
          .batch = subject.batch.value_or(run.state.selection.batch),
          .head = has_heads ? head.head : 0,
          .rows = 1,
          .columns = 1};
}

const json* find_setting(const json& settings, const std::string& path) {
  const json* value = &settings;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string key = path.substr(begin, end - begin);
    if (value->is_array()) {
      const bool is_index = !key.empty() && key.size() < 9 && key.find_first_not_of("0123456789") == std::string::npos;
      const std::size_t index = is_index ? std::stoul(key) : value->size();
      if (index >= value->size()) return nullptr;
      value = &(*value)[index];
    } else {
      const auto found = value->is_object() ? value->find(key) : value->end();
      if (found == value->end()) return nullptr;
      value = &*found;
    }
    begin = end + 1;
  }
  return value;
}

ObservedCondition observe(const LessonCondition& condition, const LessonRun& run) {
  ObservedCondition observed;
  const LessonSubject& subject = condition.subject;
  observed.value = subject.observation->value(subject, run);
  observed.wanted = condition.measured            ? condition.measured->observation->value(*condition.measured, run)
                    : subject.observation->wanted ? subject.observation->wanted(subject, run)
                                                  : condition.value;
  // A setting may be null, such as that no cell is pinned. Null of any other observation means that it isn't known.
  const bool is_setting = subject.observation->value == &observe_field;
  const bool is_computed = condition.measured || subject.observation->wanted;
  observed.is_known = (is_setting ? find_setting(run.settings, subject.field) != nullptr : !observed.value.is_null()) &&
                      !(is_computed && observed.wanted.is_null());
  const auto is_right = subject.observation->is_right;
  observed.is_met = observed.is_known && (is_right ? is_right(observed.value, observed.wanted, condition)
                                                   : is_met(condition, observed.value, observed.wanted));
  return observed;
}

}  // namespace headlight::app
