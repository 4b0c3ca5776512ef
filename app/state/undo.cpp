#include "app/state/undo.h"

#include <utility>

namespace headlight::app {
namespace {

constexpr std::size_t kBytesPerScope = 128;  // a node of PaintedCells

/// Approximate host memory of masks that `before`, if there is one, doesn't share.
std::size_t approximate_bytes(const attention::MaskSpec& mask, const attention::MaskSpec* before) {
  std::size_t bytes = mask.painted.size() * kBytesPerScope;
  const bool shares_matrix = before && before->matrix.get() == mask.matrix.get();
  if (mask.matrix && !shares_matrix) bytes += mask.matrix->keep.size();
  for (const auto& [scope, cells] : mask.painted) {
    const auto earlier = before ? before->painted.find(scope) : mask.painted.end();
    const bool shares_cells =
        before && earlier != before->painted.end() && earlier->second.runs().data() == cells.runs().data();
    if (!shares_cells) bytes += cells.bytes();
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

/// Only parts of unbounded size are counted.
std::size_t approximate_bytes(const State& state, const State* before) {
  return sizeof(State) + state.text().size() + state.playground().key_text.size() +
         approximate_bytes(state.masks, before ? &before->masks : nullptr) +
         approximate_bytes(state.playground().kept_masks, before ? &before->playground().kept_masks : nullptr) +
         approximate_bytes(state.model().trained_masks, before ? &before->model().trained_masks : nullptr);
}

}  // namespace

Undo::Undo(State initial, UndoLimits limits) : limits_(limits) { append({.state = std::move(initial), .label = {}}); }

bool Undo::observe(const State& state, double now_s, bool in_gesture) {
  const bool continues_gesture = gesture_is_open_ && in_gesture;
  gesture_is_open_ = gesture_is_open_ && in_gesture;
  if (state == steps_[position_].state) return false;

  Change change = describe_change(steps_[position_].state, state);
  while (can_redo()) drop_last();
  const bool follows_quickly = change.is_continuous && now_s - last_change_s_ <= limits_.merge_seconds;
  const bool merges =
      !is_sealed_ && position_ > 0 && change.label == steps_.back().label && (continues_gesture || follows_quickly);
  if (merges) drop_last();
  last_change_s_ = now_s;
  gesture_is_open_ = in_gesture;
  is_sealed_ = false;
  if (merges && steps_.back().state == state) {  // typed and deleted again: no step is left
    position_ = steps_.size() - 1;
    is_sealed_ = !in_gesture;
    return true;
  }
  append({.state = state, .label = std::move(change.label)});
  position_ = steps_.size() - 1;
  trim();
  return true;
}

void Undo::adopt(const State& state) {
  steps_[position_].state = state;
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
  if (can_undo()) --position_;
  seal();
  return steps_[position_].state;
}

const State& Undo::redo() {
  if (can_redo()) ++position_;
  seal();
  return steps_[position_].state;
}

void Undo::trim() {
  while (position_ > 0 && (steps_.size() > limits_.steps || bytes_ > limits_.bytes)) {
    bytes_ -= steps_.front().bytes;
    steps_.pop_front();
    --position_;
    count(0);  // what it shared with the dropped step is kept by it alone now
  }
}

void Undo::append(Step step) {
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
