#include "app/engine/query_queue.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "app/engine/compared_run.h"
#include "core/error.h"

namespace headlight::app {
void FoundRuns::take(std::shared_ptr<const inference::Run> found, const RunSource::Source& of, const RunInputs& inputs) {
  run = std::move(found);
  source = of;
  subject = std::make_shared<const AnalysisSubject>(AnalysisSubject{.network = of.network,
                                                                    .input = of.input,
                                                                    .inputs = std::make_shared<const RunInputs>(inputs),
                                                                    .model = of.model,
                                                                    .shapes = shapes_of(*run),
                                                                    .has_logits = run->has_logits()});
}

void FoundRuns::compare_with(const KnownRun& found, const RunInputs& inputs) {
  baseline_itself = found.run;
  baseline = by_positions_of(*subject->inputs, *run, inputs, found.run);
  baseline_source = found.source;
  baseline_input =
      baseline == baseline_itself ? found.source.input : std::make_shared<const model::ModelInput>(baseline->inputs().input);
}

void QueryQueue::ask(const Query& query, QueryPriority priority, std::size_t position,
                     const std::function<QueryTask()>& make_task) {
  if (waiting_.empty()) done_ = 0;
  if (const auto known = waiting_.find(query); known != waiting_.end()) {
    known->second.priority = priority;
    known->second.position = position;
    return;
  }
  QueryTask task = make_task();
  if (task.is_done()) {  // some are answered without reading
    ++done_;
    return;
  }
  waiting_.emplace(query, Waiting{.priority = priority, .position = position, .task = std::move(task)});
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

Reads QueryQueue::next_reads(const QueryBudget& budget, std::vector<Part>& batch) {
  const std::vector<Waitings::iterator> order = in_order();
  const auto cells_of = [](const Reads& reads) {
    std::size_t cells = 0;
    for (const attention::TileRequest& tile : reads.tiles) cells += tile.cells();
    return cells;
  };
  QueryBudget all, cost;
  for (const Waitings::iterator entry : order) {
    all.cells += cells_of(entry->second.task.reads());
    all.states += entry->second.task.reads().logits.size();
  }
  const bool fits = all.cells <= budget.cells && all.states <= budget.states;
  Reads together;
  for (const Waitings::iterator entry : order) {
    const QueryPriority priority = entry->second.priority, first = order.front()->second.priority;
    const bool is_next = priority == first || (fits && priority != QueryPriority::Background);
    Reads& own = entry->second.task.reads();
    const bool has_room = cost.cells < budget.cells && cost.states + own.logits.size() <= budget.states;
    const bool is_of_same_run = own.of == together.of && !own.is_of_passes();
    if (!batch.empty() && (!is_next || !has_room || !is_of_same_run || together.is_of_passes())) break;
    batch.push_back({.waiting = entry,
                     .tiles = own.tiles.size(),
                     .states = own.logits.size(),
                     .residuals = own.residuals.size(),
                     .products = own.products.size()});
    cost.cells += cells_of(own);
    cost.states += own.logits.size();
    if (batch.size() == 1) {
      together = std::move(own);
      continue;
    }
    std::ranges::copy(own.tiles, std::back_inserter(together.tiles));
    std::ranges::copy(own.logits, std::back_inserter(together.logits));
    std::ranges::copy(own.residuals, std::back_inserter(together.residuals));
    std::ranges::move(own.products, std::back_inserter(together.products));
  }
  return together;
}

const inference::Run& QueryQueue::asked(const Runs& runs, WhichRun of) {
  const inference::Run* run = of == WhichRun::Newest     ? &runs.run
                              : of == WhichRun::Baseline ? runs.baseline
                                                         : runs.baseline_itself;
  if (run == nullptr) throw Error("there is no run to compare with");
  return *run;
}

void QueryQueue::answer_some(const Runs& runs, const QueryBudget& budget, const ComputePasses& compute_passes) {
  if (waiting_.empty()) return;
  try {
    std::vector<Part> batch;
    const Reads reads = next_reads(budget, batch);
    const inference::Run& run = asked(runs, reads.of);
    if (!reads.is_of_passes()) return answer(run, batch, reads);
    if (!compute_passes) throw Error("there is nothing that computes a changed pass");
    answer_passes(batch.front().waiting, reads, budget, compute_passes);
  } catch (...) {
    clear();
    throw;
  }
}

void QueryQueue::end_step(Waitings::iterator entry) {
  if (!entry->second.task.is_done()) return;
  waiting_.erase(entry);
  ++done_;
}

void QueryQueue::answer_named(const QueryBudget& budget, const FindRuns& find, const ComputePasses& compute_passes,
                              const std::function<bool()>& is_wanted) {
  if (waiting_.empty()) return;
  const Waitings::iterator asking = in_order().front();
  Reads reads = std::move(asking->second.task.reads());
  try {
    const FoundRuns found = reads.named ? find(reads.named) : FoundRuns();
    if (reads.named && !found.run) {
      asking->second.task.reads() = std::move(reads);
      return;
    }
    if (reads.visit) reads.visit(found);
    if (reads.is_of_passes()) return answer_passes(asking, reads, budget, compute_passes);
    Answers answers{.subject = found.subject, .refuses_copies = found.refuses_copies};
    inference::Run::Answers read;
    if (reads.named && !reads.is_empty()) {
      const auto run = found.of(reads.of);
      if (!run) throw Error("there is no run to compare with");
      read = run->answer(
          {.tiles = reads.tiles, .states = reads.logits, .residuals = reads.residuals, .products = reads.products});
    }
    if (is_wanted && !is_wanted()) throw Error(ErrorKind::Cancelled, "the task was let go");
    answers.tiles = std::move(read.tiles);
    answers.logits = read.logits.values;
    answers.residuals = std::move(read.residuals);
    answers.products = std::move(read.products);
    asking->second.task.take(std::move(answers));
    end_step(asking);
  } catch (const std::exception& error) {
    constexpr int kMostLosses = 3;
    const ErrorKind kind = headlight::kind_of(error);
    const bool is_lost = kind == ErrorKind::DeviceLost;
    if (kind == ErrorKind::Cancelled || (is_lost && ++asking->second.losses < kMostLosses)) {
      asking->second.task.reads() = std::move(reads);
      throw;
    }
    asking->second.task.refuse(std::current_exception());
    end_step(asking);
    if (is_lost) throw;
  }
}

void QueryQueue::answer_passes(Waitings::iterator asking, const Reads& reads, const QueryBudget& budget,
                               const ComputePasses& compute) {
  // Half of the budget: what is read of the passes is added up in one go.
  std::size_t cells = 0;
  for (const attention::TileRequest& tile : reads.tiles) cells += tile.cells();
  const std::size_t of_states = budget.states / 2 / std::max<std::size_t>(reads.logits.size(), 1);
  const std::size_t of_cells = budget.cells / 2 / std::max<std::size_t>(cells, 1);
  const std::size_t most = std::max<std::size_t>(std::min(of_states, of_cells), 1);
  ChangedPasses passes;
  const std::uint32_t line = reads.logits.empty() ? reads.tiles.front().batch : reads.logits.front().batch;
  try {
    passes = compute(reads, line, most);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::DeviceLost || error.kind() == ErrorKind::Cancelled) throw;
    asking->second.task.refuse(std::current_exception());
    return end_step(asking);
  }
  std::vector<inference::StateRef> states;
  std::vector<attention::TileRequest> tiles;
  for (std::uint32_t pass = 0; pass < passes.count; ++pass) {
    const std::uint32_t item = passes.count > 1 || passes.is_of_copies ? pass : line;
    for (inference::StateRef state : reads.logits) {
      state.batch = item;
      states.push_back(state);
    }
    for (attention::TileRequest tile : reads.tiles) {
      tile.batch = item;
      tiles.push_back(tile);
    }
  }
  inference::Run::Answers answers = passes.run->answer({.tiles = tiles, .states = states});
  asking->second.task.take({.tiles = std::move(answers.tiles), .logits = answers.logits.values, .passes = passes.count});
  end_step(asking);
}

void QueryQueue::answer(const inference::Run& run, const std::vector<Part>& batch, const Reads& reads) {
  // Several tasks may ask for the same tile: the tiles of a map for what is said of its head.
  std::map<attention::TileRequest, std::size_t> known;
  std::vector<attention::TileRequest> different;
  std::vector<std::size_t> place;
  for (const attention::TileRequest& tile : reads.tiles) {
    const auto [found, is_new] = known.emplace(tile, different.size());
    if (is_new) different.push_back(tile);
    place.push_back(found->second);
  }
  inference::Run::Answers answers;
  if (!reads.is_empty()) {
    answers =
        run.answer({.tiles = different, .states = reads.logits, .residuals = reads.residuals, .products = reads.products});
  }
  if (different.size() < place.size()) {
    std::vector<attention::Tile> all;
    for (const std::size_t at : place) all.push_back(answers.tiles[at]);
    answers.tiles = std::move(all);
  }
  const std::size_t width = reads.logits.empty() ? 0 : answers.logits.values.size() / reads.logits.size();
  std::span<const float> logits = answers.logits.values;
  auto tiles = std::make_move_iterator(answers.tiles.begin());
  auto residuals = std::make_move_iterator(answers.residuals.begin());
  auto products = std::make_move_iterator(answers.products.begin());
  for (const Part& part : batch) {
    const auto end_tiles = tiles + static_cast<std::ptrdiff_t>(part.tiles);
    const auto end_residuals = residuals + static_cast<std::ptrdiff_t>(part.residuals);
    const auto end_products = products + static_cast<std::ptrdiff_t>(part.products);
    part.waiting->second.task.take({.tiles = {tiles, end_tiles},
                                    .logits = logits.first(part.states * width),
                                    .residuals = {residuals, end_residuals},
                                    .products = {products, end_products}});
    tiles = end_tiles;
    residuals = end_residuals;
    products = end_products;
    logits = logits.subspan(part.states * width);
    end_step(part.waiting);
  }
}

}  // namespace headlight::app
