#include "app/lessons/card_runner.h"

#include "app/lessons/printed_numbers.h"
#include "app/state/state_json.h"
#include "core/error.h"

namespace headlight::app {

void CardRunner::open_next() {
  open_card(lesson_.cards.at(next_++), state_);
  ask({});
  if (result_.run == 0 || !result_.error.empty()) throw Error(result_.error_kind, "{}", result_.error);
  clamp_selection(state_, result_.shapes);
}

void CardRunner::ask(std::vector<Query> queries) {
  engine_.request({.revision = ++revision_,
                   .inputs = run_inputs(state_),
                   .queries = std::move(queries),
                   .laid_out_for = result_.shapes});
  engine_.wait_until_idle();
  if (std::optional<EngineResult> update = engine_.poll()) result_ = std::move(*update);
}

std::vector<ObservedCondition> CardRunner::observe_conditions() {
  const nlohmann::json settings = to_json(state_), no_answer;
  std::vector<ObservedCondition> observed;
  // First to find what has to be asked; its answer may need more, such as a metric of a head.
  for (int round = 0; round < 2; ++round) {
    std::vector<Query> queries;
    observed.clear();
    for (const LessonCondition& condition : card().done) {
      observed.push_back(observe(
          condition, {.state = state_, .settings = settings, .result = result_, .queries = queries, .answer = no_answer}));
    }
    if (round == 0 && !queries.empty()) ask(std::move(queries));
  }
  return observed;
}

std::vector<std::string> check_lesson(const Lesson& lesson, EngineOptions options) {
  std::vector<std::string> remarks;
  CardRunner runner(lesson, std::move(options));
  for (std::size_t i = 0; i < lesson.cards.size(); ++i) {
    const LessonCard& card = lesson.cards[i];
    const auto remark = [&](const std::string& text) {
      remarks.push_back(fmt::format("{}: card {}, \"{}\": {}", utf8(lesson.path.filename()), i + 1, card.title, text));
    };
    try {
      runner.open_next();
    } catch (const std::exception& error) {
      remark(error.what());
      continue;
    }
    const std::vector<ObservedCondition> conditions = runner.observe_conditions();
    const bool is_done = !conditions.empty() && std::ranges::all_of(conditions, &ObservedCondition::is_met);
    if (is_done) remark("its task is completed before anything is done");
    for (std::size_t condition = 0; condition < conditions.size(); ++condition) {
      if (!conditions[condition].is_met || is_done) continue;
      remark(fmt::format("done[{}] holds when the card opens", condition));
    }
    if (!card.numbers) continue;
    runner.ask({card.numbers->query});
    const attention::Tile* tile = runner.result().tile(card.numbers->query);
    if (!tile || tile->values.size() != card.numbers->values.size()) {
      remark("the run has no such matrix as \"numbers\" names");
    } else if (!agree(*card.numbers, tile->values)) {
      remark(verdict_of(*card.numbers, tile->values, {}));
    }
  }
  return remarks;
}

}  // namespace headlight::app
