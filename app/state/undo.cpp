#include "app/state/undo.h"

#include <utility>

namespace headlight::app {
namespace {

/// Approximate host memory of a state, for the budget: only parts of unbounded size are counted.
std::size_t approximate_bytes(const attention::MaskSet& masks) {
  constexpr std::size_t kBytesPerCell = 64;  // a node of std::map
  std::size_t bytes = 0;
  for (const attention::MaskSpec& mask : masks.by_kind) {
    if (mask.matrix) bytes += mask.matrix->keep.size();
    for (const auto& [scope, cells] : mask.painted) bytes += cells.size() * kBytesPerCell;
  }
  return bytes;
}

std::size_t approximate_bytes(const State& state) {
  return sizeof(State) + state.text.size() + state.key_text.size() + approximate_bytes(state.masks) +
         approximate_bytes(state.playground_masks);
}

}  // namespace

Undo::Undo(State initial, UndoLimits limits) : limits_(limits) {
  const std::size_t bytes = approximate_bytes(initial);
  steps_.push_back({.state = std::move(initial), .label = {}, .bytes = bytes});
  bytes_ = bytes;
}

bool Undo::observe(const State& state, double now_s, bool in_gesture) {
  const bool continues_gesture = gesture_is_open_ && in_gesture;
  gesture_is_open_ = gesture_is_open_ && in_gesture;
  if (state == steps_[position_].state) return false;

  Change change = describe_change(steps_[position_].state, state);
  while (can_redo()) {
    bytes_ -= steps_.back().bytes;
    steps_.pop_back();
  }
  const bool follows_quickly = change.is_continuous && now_s - last_change_s_ <= limits_.merge_seconds;
  const bool merges =
      !is_sealed_ && position_ > 0 && change.label == steps_.back().label && (continues_gesture || follows_quickly);
  if (merges) {
    bytes_ -= steps_.back().bytes;
    steps_.pop_back();
  }
  last_change_s_ = now_s;
  gesture_is_open_ = in_gesture;
  is_sealed_ = false;
  if (merges && steps_.back().state == state) {  // typed and deleted again: no step is left
    position_ = steps_.size() - 1;
    is_sealed_ = !in_gesture;
    return true;
  }
  const std::size_t bytes = approximate_bytes(state);
  steps_.push_back({.state = state, .label = std::move(change.label), .bytes = bytes});
  bytes_ += bytes;
  position_ = steps_.size() - 1;
  trim();
  return true;
}

void Undo::adopt(const State& state) {
  Step& step = steps_[position_];
  bytes_ -= step.bytes;
  step.state = state;
  step.bytes = approximate_bytes(state);
  bytes_ += step.bytes;
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
  }
}

}  // namespace headlight::app
