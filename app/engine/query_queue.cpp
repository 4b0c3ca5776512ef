#include "app/engine/query_queue.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "core/error.h"

namespace headlight::app {

void QueryQueue::ask(const Query& query, QueryPriority priority, std::size_t position,
                     const std::function<std::unique_ptr<QueryTask>()>& make_task) {
  if (waiting_.empty()) done_ = 0;
  const auto [entry, is_new] = waiting_.try_emplace(query);
  entry->second.priority = priority;
  entry->second.position = position;
  if (is_new) entry->second.task = make_task();
}

void QueryQueue::cancel(const std::function<bool(const Query&)>& is_unwanted) {
  std::erase_if(waiting_, [&](const auto& entry) { return is_unwanted(entry.first); });
}

bool QueryQueue::has(const std::function<bool(const Query&)>& is_meant) const {
  return std::ranges::any_of(waiting_, [&](const auto& entry) { return is_meant(entry.first); });
}

std::vector<QueryQueue::Waitings::iterator> QueryQueue::in_order() {
  std::vector<Waitings::iterator> order;
  for (auto entry = waiting_.begin(); entry != waiting_.end(); ++entry) order.push_back(entry);
  std::ranges::sort(order, {},
                    [](Waitings::iterator entry) { return std::pair(entry->second.priority, entry->second.position); });
  return order;
}

void QueryQueue::answer_some(const Runs& runs, const QueryTask::Cost& budget, const ChangedRun& changed_run,
                             const ComputePasses& compute_passes) {
  const std::vector<Waitings::iterator> order = in_order();
  if (order.empty()) return;
  QueryTask::Cost all;
  for (const Waitings::iterator entry : order) {
    const QueryTask::Cost cost = entry->second.task->cost();
    all.cells += cost.cells;
    all.logits += cost.logits;
  }
  const bool fits = all.cells <= budget.cells && all.logits <= budget.logits;
  try {
    std::vector<Part> batch;
    QueryStep step;
    QueryTask::Cost cost;
    for (const Waitings::iterator entry : order) {
      const QueryPriority priority = entry->second.priority, first = order.front()->second.priority;
      const bool is_next = priority == first || (fits && priority != QueryPriority::Background);
      const QueryTask::Cost own = entry->second.task->cost();
      const bool has_room = cost.cells < budget.cells && cost.logits + own.logits <= budget.logits;
      if (!batch.empty() && (!is_next || !has_room)) break;
      QueryStep part = entry->second.task->next(budget.cells);
      if (!batch.empty() && !part.is_of_same_run(step)) break;
      batch.push_back({.waiting = entry,
                       .tiles = part.tiles.size(),
                       .states = part.states.size(),
                       .residuals = part.residuals.size(),
                       .reads_encoder_output = part.reads_encoder_output});
      step.of = part.of;
      step.changes = std::move(part.changes);
      step.passes = std::move(part.passes);
      for (const attention::TileRequest& tile : part.tiles) cost.cells += tile.cells();
      cost.logits += own.logits;
      std::ranges::move(part.tiles, std::back_inserter(step.tiles));
      std::ranges::move(part.states, std::back_inserter(step.states));
      std::ranges::move(part.residuals, std::back_inserter(step.residuals));
      step.reads_encoder_output = step.reads_encoder_output || part.reads_encoder_output;
    }
    if (step.passes.empty()) {
      answer(runs, batch, step, changed_run);
    } else {
      const auto one_by_one = [&](Evaluation::Of of, std::uint32_t, std::span<const inference::Interventions> passes,
                                  std::size_t) { return ChangedPasses{.run = changed_run(of, passes.front())}; };
      if (!compute_passes && !changed_run) throw Error("there is nothing that computes a changed pass");
      // Half of the budget: what is read of the passes is added up in one go.
      const std::size_t of_logits = budget.logits / 2 / std::max<std::size_t>(cost.logits, 1);
      const std::size_t of_cells = budget.cells / 2 / std::max<std::size_t>(cost.cells, 1);
      const std::size_t most = std::max<std::size_t>(std::min(of_logits, of_cells), 1);
      const bool has_run = step.of == Evaluation::Of::Run || runs.reference != nullptr;
      if (!has_run) throw Error("there is no run to compare with");
      answer_passes(batch, step, most, compute_passes ? compute_passes : ComputePasses(one_by_one));
    }
  } catch (...) {
    clear();
    throw;
  }
}

void QueryQueue::fail(std::vector<Part>& batch, const std::string& why) {
  for (const Part& part : batch) {
    part.waiting->second.task->fail(why);
    waiting_.erase(part.waiting);
    ++done_;
  }
}

void QueryQueue::answer_passes(std::vector<Part>& batch, QueryStep& step, std::size_t most, const ComputePasses& compute) {
  ChangedPasses passes;
  const std::uint32_t line = step.states.empty() ? step.tiles.front().batch : step.states.front().batch;
  try {
    passes = compute(step.of, line, step.passes, most);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::DeviceLost || error.kind() == ErrorKind::Cancelled) throw;
    return fail(batch, error.what());
  }
  std::vector<inference::StateRef> states;
  std::vector<attention::TileRequest> tiles;
  for (std::uint32_t pass = 0; pass < passes.count; ++pass) {
    const std::uint32_t item = passes.count > 1 ? pass : line;  // each pass is an item of the run
    for (inference::StateRef state : step.states) {
      state.batch = item;
      states.push_back(state);
    }
    for (attention::TileRequest tile : step.tiles) {
      tile.batch = item;
      tiles.push_back(tile);
    }
  }
  inference::Run::Answers answers = passes.run->answer({.tiles = tiles, .states = states});
  const Waitings::iterator waiting = batch.front().waiting;
  waiting->second.task->take({.tiles = answers.tiles, .logits = answers.logits.values, .passes = passes.count});
  if (!waiting->second.task->is_done()) return;
  waiting_.erase(waiting);
  ++done_;
}

void QueryQueue::answer(const Runs& runs, std::vector<Part>& batch, const QueryStep& step, const ChangedRun& changed_run) {
  const inference::Run* asked = step.of == Evaluation::Of::Run         ? &runs.run
                                : step.of == Evaluation::Of::Reference ? runs.reference
                                                                       : runs.reference_itself;
  if (asked == nullptr) throw Error("there is no run to compare with");
  std::shared_ptr<const inference::Run> changed;
  if (!step.changes.empty()) {
    if (!changed_run) throw Error("there is nothing that computes a changed pass");
    try {
      changed = changed_run(step.of, step.changes);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::DeviceLost || error.kind() == ErrorKind::Cancelled) throw;
      return fail(batch, error.what());
    }
  }
  const inference::Run& run = changed ? *changed : *asked;
  inference::Run::Answers answers;
  if (!step.tiles.empty() || !step.states.empty() || !step.residuals.empty()) {
    answers = run.answer({.tiles = step.tiles, .states = step.states, .residuals = step.residuals});
  }
  const std::size_t width = step.states.empty() ? 0 : answers.logits.values.size() / step.states.size();
  std::span<attention::Tile> tiles = answers.tiles;
  std::span<const float> logits = answers.logits.values;
  std::span<const Tensor> residuals = answers.residuals;
  for (const Part& part : batch) {
    QueryTask& task = *part.waiting->second.task;
    task.take({.tiles = tiles.first(part.tiles),
               .logits = logits.first(part.states * width),
               .encoder_output = part.reads_encoder_output ? runs.run.encoder_output() : Tensor(),
               .residuals = residuals.first(part.residuals)});
    tiles = tiles.subspan(part.tiles);
    logits = logits.subspan(part.states * width);
    residuals = residuals.subspan(part.residuals);
    if (!task.is_done()) continue;
    waiting_.erase(part.waiting);
    ++done_;
  }
}

}  // namespace headlight::app
