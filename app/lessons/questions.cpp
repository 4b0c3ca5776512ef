#include <numeric>

#include "app/lessons/lesson_condition.h"
#include "app/lessons/observation.h"
#include "app/shapes/quantities/quantity.h"

namespace headlight::app {
namespace {

using nlohmann::json;
using Test = LessonCondition::Test;

constexpr std::size_t kMaxChoices = 8;
constexpr std::uint32_t kMaxFields = 16;  // of a row that is computed by hand
constexpr float kReach = 5.0F;            // of arrows
constexpr double kPassed = 0.6;           // overlap of a painted map, where the file doesn't say another one

constexpr std::array<std::string_view, 1> kOfExplain = {"answer"};

json given_answer(const LessonSubject& /*subject*/, const LessonRun& run) { return run.answer; }

/// Observes a cell that is pinned on the card, as [query, key].
json clicked_cell(const LessonSubject& /*subject*/, const LessonRun& run) {
  const std::optional<attention::Cell>& pinned = run.state.view.pinned;
  return pinned ? json({pinned->query, pinned->key}) : json();
}

/// Observes which mark the player gave the explanation; the answer has its text as well.
json given_mark(const LessonSubject& /*subject*/, const LessonRun& run) {
  return run.answer.is_object() ? run.answer.value("mark", json()) : json();
}

/// Observes q·k of two arrows, [[x, y], [x, y]].
json product_of_arrows(const LessonSubject& /*subject*/, const LessonRun& run) {
  if (!run.answer.is_array()) return {};
  const auto part = [&](std::size_t arrow, std::size_t axis) { return run.answer.at(arrow).at(axis).get<double>(); };
  return part(0, 0) * part(1, 0) + part(0, 1) * part(1, 1);
}

std::optional<inference::BlockShape::Extent> extent_of(const LessonRun& run, const TileQuery& query) {
  const auto shape = run.result.shapes.find(query.block);
  return shape == run.result.shapes.end() ? std::nullopt : quantity(query.quantity).shape(shape->second);
}

json computed_map(const LessonSubject& subject, const LessonRun& run) {
  TileQuery query = query_of(subject, run);
  const auto extent = extent_of(run, query);
  if (!extent || extent->rows > kMaxDrawn || extent->columns > kMaxDrawn) return {};
  query.rows = extent->rows;
  query.columns = extent->columns;
  const std::span<const float> cells = cells_of(run, query);
  json rows;
  for (std::size_t at = 0; at < cells.size(); at += query.columns) {
    const std::span<const float> row = cells.subspan(at, query.columns);
    rows.emplace_back(std::vector<double>(row.begin(), row.end()));
  }
  return rows;
}

json computed_row(const LessonSubject& subject, const LessonRun& run) {
  TileQuery query = query_of(subject, run);
  const auto extent = extent_of(run, query);
  if (!extent || extent->columns > kMaxFields) return {};
  query.row = subject.row.value_or(0);
  query.columns = extent->columns;
  const std::span<const float> row = cells_of(run, query);
  return row.empty() ? json() : json(std::vector<double>(row.begin(), row.end()));
}

bool is_painted_well(const json& value, const json& wanted, const LessonCondition& condition) {
  const std::vector<double> rows = overlaps(value, wanted);
  const double sum = std::accumulate(rows.begin(), rows.end(), 0.0);
  return !rows.empty() && sum >= condition.value.get<double>() * static_cast<double>(rows.size());
}

bool is_row_right(const json& value, const json& wanted, const LessonCondition& condition) {
  return value.is_array() && std::ranges::equal(value, wanted, [&](const json& typed, const json& computed) {
           return are_near(typed, computed, condition.within);
         });
}

std::vector<std::string> few_texts(const JsonReader& reader, const char* key) {
  std::vector<std::string> texts = texts_of(reader, key);
  const bool fits = texts.size() >= 2 && texts.size() <= kMaxChoices;
  if (!fits) throw Error("{}: expected a list of 2 to {} texts", reader.path(key), kMaxChoices);
  return texts;
}

void read_choice(const JsonReader& reader, LessonCondition& into) { into.subject.choices = few_texts(reader, "choice"); }
void read_number(const JsonReader& reader, LessonCondition& into) { into.subject.label = text_of(reader, "number"); }
void read_click(const JsonReader& reader, LessonCondition& into) { into.subject.label = text_of(reader, "click"); }

void read_order(const JsonReader& reader, LessonCondition& into) {
  into.subject.choices = few_texts(reader, "order");
  std::vector<std::size_t> order(into.subject.choices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  into.value = order;
}

void read_explain(const JsonReader& reader, LessonCondition& into) {
  into.subject.label = text_of(reader, "explain");
  into.subject.answer = texts_of(reader, "answer");
  if (into.subject.answer.empty()) throw Error("{}: expected a list of texts", reader.path("answer"));
  into.test = Test::AtLeast;
  into.value = 0;
}

void read_draw(const JsonReader& reader, LessonCondition& into) {
  refuse_unknown(JsonReader(*reader.find("draw"), reader.path("draw")), *reader.find("draw"), {});
  into.test = Test::AtLeast;
  into.value = kPassed;
}

void read_arrows(const JsonReader& reader, LessonCondition& into) {
  const JsonReader arrows(*reader.find("arrows"), reader.path("arrows"));
  refuse_unknown(arrows, *reader.find("arrows"), {"q", "k"});
  for (const auto& [key, arrow] : {std::pair("q", &into.subject.q), std::pair("k", &into.subject.k)}) {
    const json* ends = list_of(arrows, key);
    const auto is_within = [](const json& end) { return end.is_number() && std::abs(end.get<float>()) <= kReach; };
    if (!ends || ends->size() != 2 || !std::ranges::all_of(*ends, is_within)) {
      throw Error("{}: expected two numbers from {} to {}", arrows.path(key), -kReach, kReach);
    }
    *arrow = {ends->at(0).get<float>(), ends->at(1).get<float>()};
  }
}

void read_row_by_hand(const JsonReader& reader, LessonCondition& into) {
  const json& value = *reader.find("row_by_hand");
  const JsonReader row(value, reader.path("row_by_hand"));
  refuse_unknown(row, value, {"of", "kind", "layer", "head", "batch", "row"});
  json place = value;
  place["quantity"] = text_of(row, "of");
  read_place(JsonReader(place, reader.path("row_by_hand")), into.subject);
  if (!into.subject.row) throw Error("{}: expected the number of a row, from 0", row.path("row"));
  into.within = 0.005;
}

constexpr std::array kQuestions = {
    Observation{.name = "choice", .members = {}, .value = &given_answer, .is_answer = true, .read = &read_choice},
    Observation{.name = "number", .members = {}, .value = &given_answer, .is_answer = true, .read = &read_number},
    Observation{.name = "click", .members = {}, .value = &clicked_cell, .is_answer = true, .read = &read_click},
    Observation{.name = "order",
                .members = {},
                .value = &given_answer,
                .is_answer = true,
                .read = &read_order,
                .beside = {},
                .has_own_test = true},
    Observation{.name = "explain",
                .members = {},
                .value = &given_mark,
                .is_answer = true,
                .read = &read_explain,
                .beside = kOfExplain,
                .has_own_test = true},
    Observation{.name = "draw",
                .members = {},
                .value = &given_answer,
                .is_answer = true,
                .read = &read_draw,
                .beside = {},
                .has_own_test = false,
                .wanted = &computed_map,
                .is_right = &is_painted_well},
    Observation{.name = "arrows", .members = {}, .value = &product_of_arrows, .is_answer = true, .read = &read_arrows},
    Observation{.name = "row_by_hand",
                .members = {},
                .value = &given_answer,
                .is_answer = true,
                .read = &read_row_by_hand,
                .beside = {},
                .has_own_test = true,
                .wanted = &computed_row,
                .is_right = &is_row_right},
};

}  // namespace

std::span<const Observation> questions() { return kQuestions; }

bool are_near(const json& value, const json& wanted, double within) {
  return value.is_number() && wanted.is_number() && std::abs(value.get<double>() - wanted.get<double>()) <= within;
}

std::vector<double> overlaps(const json& painted, const json& computed) {
  std::vector<double> rows;
  const auto have_one_size = [](const json& a, const json& b) { return a.size() == b.size(); };
  if (!std::ranges::equal(painted, computed, have_one_size)) return rows;
  for (std::size_t row = 0; row < computed.size(); ++row) {
    const auto a = painted[row].get<std::vector<double>>(), b = computed[row].get<std::vector<double>>();
    const double sum_a = std::accumulate(a.begin(), a.end(), 0.0), sum_b = std::accumulate(b.begin(), b.end(), 0.0);
    double both = 0.0;
    for (std::size_t i = 0; i < a.size() && sum_a > 0.0 && sum_b > 0.0; ++i) both += std::min(a[i] / sum_a, b[i] / sum_b);
    rows.push_back(both);
  }
  return rows;
}

}  // namespace headlight::app
