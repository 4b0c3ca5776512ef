#include "app/state/undo.h"

#include <utility>

#include "app/state/looks.h"

namespace headlight::app {
namespace {

constexpr std::size_t kBytesPerScope = 128;  // a node of PaintedCells

template <typename Paint>
std::size_t approximate_bytes(const attention::PaintByScope<Paint>& painted, const attention::PaintByScope<Paint>* before) {
  std::size_t bytes = 0;
  for (const auto& [scope, cells] : painted) {
    const auto earlier = before ? before->find(scope) : painted.end();
    const bool shares_cells = before && earlier != before->end() && earlier->second.runs().data() == cells.runs().data();
    if (!shares_cells) bytes += cells.bytes();
  }
  return bytes;
}

std::size_t approximate_bytes(const inference::FixedPatterns& patterns, const inference::FixedPatterns* before) {
  std::size_t bytes = 0;
  for (const auto& [head, pattern] : patterns) {
    const auto earlier = before ? before->find(head) : patterns.end();
    const bool shares_cells =
        before && earlier != before->end() && earlier->second.weights.runs().data() == pattern.weights.runs().data();
    if (!shares_cells) bytes += pattern.weights.bytes();
  }
  return bytes;
}

/// Returns the approximate host memory of masks that `before`, if there is one, doesn't share.
std::size_t approximate_bytes(const attention::MaskSpec& mask, const attention::MaskSpec* before) {
  std::size_t bytes = (mask.painted.size() + mask.biases.size()) * kBytesPerScope;
  const bool shares_matrix = before && before->matrix.get() == mask.matrix.get();
  if (mask.matrix && !shares_matrix) bytes += mask.matrix->keep.size();
  bytes += approximate_bytes(mask.painted, before ? &before->painted : nullptr);
  bytes += approximate_bytes(mask.biases, before ? &before->biases : nullptr);
  if (mask.documents && !(before && before->documents.get() == mask.documents.get())) {
    for (const auto& [item, begins] : *mask.documents) bytes += begins.size() * sizeof(std::uint32_t);
  }
  return bytes;
}

std::size_t approximate_bytes(const attention::MaskSet& masks, const attention::MaskSet* before) {
  std::size_t bytes = 0;
  for (std::size_t kind = 0; kind < model::kBlockKinds; ++kind) {
    bytes += approximate_bytes(masks.by_kind[kind], before ? &before->by_kind[kind] : nullptr);
  }
  return bytes;
}

std::size_t approximate_bytes(const inference::NotebookEdits& edits) {
  constexpr std::size_t kBytesPerCell = 48;  // a node of the map
  std::size_t cells = 0;
  for (const auto& [name, edit] : edits.matrices) cells += edit.cells.size();
  return cells * kBytesPerCell + edits.recipe.sentence.value_or("").size();
}

/// Counts the numbers of steering vectors and patches.
std::size_t approximate_bytes(const KeptChanges& changes) {
  std::size_t bytes = 0;
  for (const KeptChange& change : changes) {
    const inference::Operation& operation = change.intervention->operation;
    if (const auto* add = std::get_if<inference::Add>(&operation)) bytes += add->vector.size() * sizeof(float);
    if (const auto* replace = std::get_if<inference::Replace>(&operation)) bytes += replace->rows.size() * sizeof(float);
  }
  return bytes;
}

/// Counts the baseline's masks in full, although mostly they are also those of a step.
std::size_t approximate_bytes(const BaselineRun& baseline) {
  const std::size_t text = match(
      baseline.inputs.source, [](const Playground& shown) { return shown.text.size() + shown.key_text.size(); },
      [](const Notebook& shown) { return approximate_bytes(shown.edits); },
      [](const Model& shown) { return shown.text.size() + shown.pair_text.size() + shown.target_text.size(); },
      [](const Capture& shown) { return shown.path.size(); });
  return sizeof(BaselineRun) + text + approximate_bytes(baseline.inputs.masks, nullptr) +
         approximate_bytes(baseline.inputs.changes);
}

/// Counts only parts of unbounded size.
std::size_t approximate_bytes(const State& state, const State* before) {
  const bool shares_baseline = before && before->compare.baseline.get() == state.compare.baseline.get();
  const std::size_t baseline = state.compare.baseline && !shares_baseline ? approximate_bytes(*state.compare.baseline) : 0;
  const std::size_t changes = before && before->changes == state.changes ? 0 : approximate_bytes(state.changes);
  const std::size_t patterns = approximate_bytes(state.patterns, before ? &before->patterns : nullptr);
  return sizeof(State) + baseline + patterns + changes + state.text().size() + state.playground().key_text.size() +
         approximate_bytes(state.masks, before ? &before->masks : nullptr) +
         approximate_bytes(state.playground().kept_masks, before ? &before->playground().kept_masks : nullptr) +
         approximate_bytes(state.model().trained_masks, before ? &before->model().trained_masks : nullptr);
}

}  // namespace

Undo::Undo(State initial, UndoLimits limits) : limits_(limits), shown_(initial) {
  append({.state = std::move(initial), .label = {}});
}

bool Undo::observe(const State& state, double now_s, bool in_gesture) {
  const bool continues_gesture = gesture_is_open_ && in_gesture;
  gesture_is_open_ = gesture_is_open_ && in_gesture;
  if (state == shown_) return false;
  const State before = std::exchange(shown_, state);
  State with_looks = before;
  take_looks(with_looks, state);
  if (state == with_looks) {
    looked_elsewhere_ = true;
    if (steps_[position_].name.empty()) steps_[position_].state = state;
    return true;
  }

  Change change = describe_change(with_looks, state);
  drop_undone();
  const bool follows_quickly = change.is_continuous && now_s - last_change_s_ <= limits_.merge_seconds;
  const bool merges = !is_sealed_ && position_ > 0 && steps_.back().name.empty() && change.label == steps_.back().label &&
                      (continues_gesture || follows_quickly);
  const bool has_looks = with_looks != before || (merges && steps_.back().has_looks);
  if (merges) drop_last();
  looked_elsewhere_ = false;
  last_change_s_ = now_s;
  gesture_is_open_ = in_gesture;
  is_sealed_ = false;
  if (merges) take_looks(steps_.back().state, state);
  if (merges && steps_.back().state == state) {  // typed and deleted again: no step is left
    position_ = steps_.size() - 1;
    is_sealed_ = !in_gesture;
    return true;
  }
  append({.state = state, .label = std::move(change.label), .has_looks = has_looks});
  position_ = steps_.size() - 1;
  trim();
  return true;
}

void Undo::adopt(const State& state) {
  steps_[position_].has_looks = steps_[position_].has_looks || differ_in_looks_alone(shown_, state);
  steps_[position_].state = shown_ = state;
  count(position_);
  if (can_redo()) count(position_ + 1);
}

void Undo::seal() {
  is_sealed_ = true;
  gesture_is_open_ = false;
}

std::string Undo::undo_label() const { return can_undo() ? steps_[position_].label : std::string(); }
std::string Undo::redo_label() const { return can_redo() ? steps_[position_ + 1].label : std::string(); }

const State& Undo::undo() {
  return show(can_undo() ? position_ - 1 : position_, steps_[position_].has_looks && !looked_elsewhere_);
}

const State& Undo::redo() {
  const std::size_t next = can_redo() ? position_ + 1 : position_;
  return show(next, steps_[next].has_looks && !looked_elsewhere_);
}

const State& Undo::show(std::size_t position, bool has_own_looks) {
  seal();
  State next = steps_[position].state;
  if (!has_own_looks) take_looks(next, shown_);
  position_ = position;
  shown_ = std::move(next);
  looked_elsewhere_ = false;
  return shown_;
}

std::vector<HistoryStep> Undo::history() const {
  std::vector<HistoryStep> list;
  const auto add = [&](const Step& step, bool is_shown, bool is_undone) {
    list.push_back({.id = step.id,
                    .state = &step.state,
                    .label = &step.label,
                    .is_shown = is_shown,
                    .is_undone = is_undone,
                    .name = &step.name});
  };
  for (std::size_t i = 0; i < steps_.size(); ++i) add(steps_[i], i == position_, i > position_);
  for (const Step& step : aside_) add(step, false, true);
  return list;
}

const State& Undo::go_to(std::uint64_t id) {
  std::size_t position = position_;
  if (const auto at = std::ranges::find(steps_, id, &Step::id); at != steps_.end()) {
    position = static_cast<std::size_t>(at - steps_.begin());
  } else if (const auto kept = std::ranges::find(aside_, id, &Step::id); kept != aside_.end()) {
    Step step = std::move(*kept);
    aside_.erase(kept);
    drop_undone();
    bytes_ -= std::exchange(step.bytes, 0);  // append() counts them again
    append(std::move(step));
    position_ = steps_.size() - 1;
    trim();
    position = position_;
  }
  return show(position, !steps_[position].name.empty());
}

void Undo::drop_undone() {
  const auto first = steps_.begin() + static_cast<std::ptrdiff_t>(position_) + 1;
  for (auto step = first; step != steps_.end(); ++step) {
    if (step->name.empty()) {
      bytes_ -= step->bytes;
    } else {
      aside_.push_back(std::move(*step));
    }
  }
  steps_.erase(first, steps_.end());
}

void Undo::trim() {
  const auto is_too_large = [this] { return steps_.size() + aside_.size() > limits_.steps || bytes_ > limits_.bytes; };
  for (std::size_t at = 0; at < position_ && is_too_large();) {
    if (!steps_[at].name.empty()) {
      ++at;
      continue;
    }
    bytes_ -= steps_[at].bytes;
    steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(at));
    --position_;
    count(at);  // what it shared with the dropped step is kept by it alone now
  }
}

void Undo::name_step(std::uint64_t id, std::string name) {
  const auto step = std::ranges::find(steps_, id, &Step::id);
  if (step == steps_.end()) return;
  const auto is_named = [](const Step& one) { return !one.name.empty(); };
  const auto named = std::ranges::count_if(steps_, is_named) + static_cast<std::ptrdiff_t>(aside_.size());
  if (name.empty() || is_named(*step) || named < static_cast<std::ptrdiff_t>(kMaxNamedSteps)) step->name = std::move(name);
}

void Undo::append(Step step) {
  if (step.id == 0) step.id = ++last_id_;
  steps_.push_back(std::move(step));
  count(steps_.size() - 1);
}

void Undo::drop_last() {
  bytes_ -= steps_.back().bytes;
  steps_.pop_back();
}

void Undo::count(std::size_t index) {
  Step& step = steps_[index];
  bytes_ -= step.bytes;
  step.bytes = approximate_bytes(step.state, index > 0 ? &steps_[index - 1].state : nullptr);
  bytes_ += step.bytes;
}

}  // namespace headlight::app
