#include "app/lessons/card_runner.h"

#include <functional>

#include "app/lessons/lesson_condition.h"
#include "app/lessons/printed_numbers.h"
#include "app/state/state_json.h"
#include "core/error.h"

namespace headlight::app {

void CardRunner::open_next() {
  before_ = state_;
  ++next_;
  open_again(0);
}

void CardRunner::open_again(std::size_t attempt) {
  state_ = before_;
  open_card(card(), state_, attempt);
  compute();
}

bool CardRunner::do_task(const nlohmann::json& after) {
  const nlohmann::json settings = after.is_object() ? after : settings_once_done(card().done, to_json(state_));
  if (settings.is_null()) return false;
  open_card({.title = {}, .paragraphs = {}, .opens = settings, .task = {}}, state_);
  compute();
  return true;
}

void CardRunner::compute() {
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

std::vector<ObservedCondition> CardRunner::observe_conditions(const std::vector<LessonCondition>& conditions,
                                                              const std::vector<nlohmann::json>& answers) {
  const nlohmann::json settings = to_json(state_), no_answer;
  std::vector<ObservedCondition> observed;
  // First to find what has to be asked; its answer may need more, such as a metric of a head.
  for (int round = 0; round < 2; ++round) {
    std::vector<Query> queries;
    observed.clear();
    for (std::size_t i = 0; i < conditions.size(); ++i) {
      observed.push_back(observe(conditions[i], {.state = state_,
                                                 .settings = settings,
                                                 .result = result_,
                                                 .queries = queries,
                                                 .answer = i < answers.size() ? answers[i] : no_answer}));
    }
    if (round == 0 && !queries.empty()) ask(std::move(queries));
  }
  return observed;
}

namespace {

using Remark = std::function<void(const std::string&)>;

/// Finds what is odd about the card's try that is open.
void check_try(CardRunner& runner, std::size_t attempt, const Remark& remark) {
  const LessonCard& card = runner.card();
  const std::vector<ObservedCondition> conditions = runner.observe_conditions(card.done);
  const bool is_done = !conditions.empty() && std::ranges::all_of(conditions, &ObservedCondition::is_met);
  if (is_done) remark("its task is completed before anything is done");
  for (std::size_t condition = 0; condition < conditions.size(); ++condition) {
    if (conditions[condition].is_met && !is_done) remark(fmt::format("done[{}] holds when the card opens", condition));
    const bool is_unknown = card.done[condition].subject.observation->is_answer && conditions[condition].wanted.is_null();
    if (is_unknown)
      remark(fmt::format("done[{}]: the run doesn't know what is right, or has more than 16 numbers in a row", condition));
  }
  for (const LessonClaim& claim : card.claims) {
    if (!claim.after.is_null()) {
      runner.open_again(attempt);
      if (!runner.do_task(claim.after)) {
        remark(fmt::format("claims.{}: \"done\" doesn't say which settings the task leads to: write them into \"after\"",
                           claim.name));
        continue;
      }
    }
    const ObservedCondition observed = runner.observe_conditions({claim.condition}).front();
    if (!claim.after.is_null()) runner.open_again(attempt);
    if (observed.is_met) continue;
    remark(fmt::format("claims.{}: the run has {}, which isn't what is claimed ({})", claim.name,
                       observed.is_known ? observed.value.dump() : "no such number", observed.wanted.dump()));
  }
}

}  // namespace

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
      for (std::size_t attempt = 1; attempt <= std::max<std::size_t>(card.tries.opens.size(), 1); ++attempt) {
        check_try(runner, attempt - 1, remark);
        runner.open_again(attempt);  // in the end the first one
      }
    } catch (const std::exception& error) {
      remark(error.what());
      continue;
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
