#include "app/lessons/lesson_page.h"

#include "app/lessons/card_runner.h"
#include "app/lessons/printed_numbers.h"
#include "app/lessons/results.h"
#include "app/state/view_choices.h"
#include "export/lesson_page.h"
#include "export/markup.h"

namespace headlight::app {
namespace {

using exporting::Json;

constexpr std::uint32_t kMaxPageCells = 64;  // of an edge of a map
constexpr std::uint32_t kMaxStepCells = 16;  // likewise of the matrices beside it
/// The views beside which a card's page shows weights, of which they say something.
constexpr std::array<std::string_view, 6> kViewsOfWeights = {"steps", "lines", "text", "model", "neuron", "block"};
/// Questions that a page or a sheet of paper can ask.
constexpr std::array<std::string_view, 7> kAsked = {"choice", "number", "order", "explain", "click", "row_by_hand", "draw"};
constexpr std::array<const char*, 5> kTestNames = {"equals", "differs", "at_least", "at_most", "contains"};

std::vector<std::string> names_along(Axis axis, const EngineResult& result, const TileQuery& query, std::uint32_t first,
                                     std::uint32_t count) {
  const model::BlockKind kind = query.block.kind;
  const bool is_key = axis == Axis::Key || axis == Axis::KeyToken;
  const model::TokenBatch& tokens = is_key ? result.input->keys(kind) : result.input->queries(kind);
  std::vector<std::string> names;
  for (std::uint32_t i = first; i < first + count; ++i) {
    const std::string* text = axis < Axis::Feature ? tokens.label(query.batch, i) : nullptr;
    names.push_back(text != nullptr ? *text : "");
  }
  return names;
}

/// Is a matrix of the card blank until its task is completed?
bool is_hidden(const LessonCard& card, QuantityId id) {
  return card.conceals && (!card.conceals_from || quantity(id).stage >= *card.conceals_from);
}

/// Returns the queries of what a card shows: the map on screen, the outlined matrix, or weights; then, beside Steps, what is
/// computed with. Empty: it shows something else.
std::vector<TileQuery> map_queries(const CardRunner& runner) {
  using attention::Stage;
  const State& state = runner.state();
  const LessonCard& card = runner.card();
  const bool is_head = state.view.tab == kHeadView;
  if (state.selection.mean != HeadMean::None || (!is_head && !std::ranges::count(kViewsOfWeights, state.view.tab)))
    return {};
  std::vector<QuantityId> shown = {is_head ? state.view.heatmap_stage : QuantityId(Stage::Weights)};
  if (const auto matrix = find_quantity(card.matrix); !is_head && matrix) shown = {*matrix};
  if (state.view.tab == "steps") {
    for (const QuantityId id : {Stage::Q, Stage::K, Stage::V, Stage::Scaled, Stage::Weights, Stage::Heads}) {
      if (id != shown.front() && !is_hidden(card, id)) shown.push_back(id);
    }
  }
  std::vector<TileQuery> queries;
  const auto shape = runner.result().shapes.find(state.selection.block);
  if (shape == runner.result().shapes.end()) return queries;
  for (const QuantityId id : shown) {
    const auto extent = quantity(id).shape(shape->second);
    const std::uint32_t most = id == shown.front() ? kMaxPageCells : kMaxStepCells;
    if (!extent || extent->rows > most || extent->columns > most) continue;
    const TileQuery query{.quantity = id,
                          .block = state.selection.block,
                          .batch = state.selection.batch,
                          .head = quantity(id).scope == Scope::Head ? state.selection.head : 0,
                          .rows = extent->rows,
                          .columns = extent->columns};
    if (is_inside(query, runner.result().shapes)) queries.push_back(query);
  }
  return queries;
}

Json describe_map(const CardRunner& runner, const TileQuery& query, const attention::Tile& tile) {
  const Quantity& shown = quantity(query.quantity);
  const bool has_head = shown.scope == Scope::Head && !runner.card().is_nameless;
  return {{"title", shown.title},
          {"kind", model::to_string(query.block.kind)},
          {"layer", runner.card().is_nameless ? Json() : Json(query.block.layer.value)},
          {"head", has_head ? Json(query.head) : Json()},
          {"conceals", is_hidden(runner.card(), query.quantity)},
          {"rowTitle", to_string(shown.rows)},
          {"columnTitle", to_string(shown.columns)},
          {"rows", names_along(shown.rows, runner.result(), query, query.row, query.rows)},
          {"columns", names_along(shown.columns, runner.result(), query, query.column, query.columns)},
          {"firstRow", query.row},
          {"firstColumn", query.column},
          {"isSigned", shown.colors == ColorKind::Diverging},
          {"values", tile.values},
          {"masked", tile.masked}};
}

/// Null: only the window can ask it.
Json describe_question(const CardRunner& runner, const LessonCondition& condition, const nlohmann::json& right) {
  const LessonSubject& subject = condition.subject;
  const std::string_view name = subject.observation->name;
  const bool is_known = name == "order" || name == "explain" || !right.is_null();
  if (std::ranges::find(kAsked, name) == kAsked.end() || !is_known) return nullptr;
  Json question = {{"kind", name},
                   {"label", subject.label},
                   {"options", subject.choices},
                   {"answer", subject.answer},
                   {"test", kTestNames[static_cast<std::size_t>(condition.test)]},
                   {"right", right},
                   {"within", condition.within},
                   {"atLeast", condition.value},
                   {"hint", condition.hint}};
  if (name != "row_by_hand") return question;
  const TileQuery query{.block = runner.state().selection.block, .batch = runner.state().selection.batch};
  const Quantity& shown = quantity(subject.quantity);
  question["row"] = subject.row.value_or(0);
  question["of"] = shown.title;
  question["fields"] = names_along(shown.columns, runner.result(), query, 0, static_cast<std::uint32_t>(right.size()));
  return question;
}

Json describe_card(CardRunner& runner) {
  const LessonCard& card = runner.card();
  Json described = {{"title", card.title},   {"text", card.paragraphs},    {"task", card.task},
                    {"reveal", card.reveal}, {"conceals", card.conceals},  {"view", runner.state().view.tab},
                    {"isLive", false},       {"questions", Json::array()}, {"maps", Json::array()}};
  const std::vector<ObservedCondition> conditions = runner.observe_conditions(card.done);
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    Json question = describe_question(runner, card.done[i], conditions[i].wanted);
    if (question.is_null()) {
      described["isLive"] = true;
    } else {
      described["questions"].push_back(std::move(question));
    }
  }
  if (card.image) described["image"] = "data:image/png;base64," + exporting::base64(exporting::encode_png(*card.image));
  const std::vector<TileQuery> maps = map_queries(runner);
  std::vector<Query> queries(maps.begin(), maps.end());
  if (card.numbers) queries.emplace_back(card.numbers->query);
  if (!queries.empty()) runner.ask(std::move(queries));
  const EngineResult& result = runner.result();
  for (const TileQuery& map : maps) {
    if (const attention::Tile* tile = result.tile(map)) described["maps"].push_back(describe_map(runner, map, *tile));
  }
  const attention::Tile* tile = card.numbers ? result.tile(card.numbers->query) : nullptr;
  if (tile && tile->values.size() == card.numbers->values.size()) {
    described["numbers"] = describe_map(runner, card.numbers->query, *tile);
    described["numbers"].update({{"source", card.numbers->source},
                                 {"printed", card.numbers->values},
                                 {"decimals", card.numbers->decimals},
                                 {"verdict", verdict_of(*card.numbers, tile->values, {})}});
  }
  return described;
}

}  // namespace

std::string lesson_page(const Lesson& lesson, EngineOptions options, LessonMedium medium) {
  Json cards = Json::array();
  CardRunner runner(lesson, std::move(options));
  for (std::size_t i = 0; i < lesson.cards.size(); ++i) {
    runner.open_next();
    cards.push_back(describe_card(runner));
  }
  return exporting::encode_page({.kind = medium == LessonMedium::Paper ? "worksheet" : "lesson",
                                 .title = lesson.title,
                                 .language = lesson.languages.contains(lesson.language) ? lesson.language : "en",
                                 .data = {{"file", utf8(lesson.path.filename())},
                                          {"title", lesson.title},
                                          {"summary", lesson.summary},
                                          {"minutes", lesson.minutes},
                                          {"cards", cards}}});
}

std::string results_page(std::span<const std::filesystem::path> files, const LessonList& lessons) {
  Json list = Json::array(), titles = Json::object();
  for (const std::filesystem::path& file : files) {
    const LessonResults results = read_results(file);
    Json answers = Json::array();
    for (const LessonResults::Answer& answer : results.answers) {
      answers.push_back(
          {{"lesson", answer.lesson}, {"card", answer.card}, {"condition", answer.condition}, {"right", answer.is_right}});
      if (const Lesson* lesson = lessons.find(answer.lesson)) titles[answer.lesson] = lesson->title;
    }
    list.push_back({{"name", results.name.empty() ? utf8(file.stem()) : results.name}, {"answers", std::move(answers)}});
  }
  return exporting::encode_page({.kind = "results",
                                 .title = "Headlight: results of lessons",
                                 .language = "en",
                                 .data = {{"files", std::move(list)}, {"titles", std::move(titles)}}});
}

}  // namespace headlight::app
