#include "app/dialogs/preview_numbers.h"

#include "core/error.h"

namespace headlight::app {
namespace {

std::shared_ptr<const attention::Tile> ask_tile(Frame& frame, const TileQuery& query) {
  const EngineTile* known = frame.ask(query);
  return known == nullptr ? nullptr : known->tile;
}

std::shared_ptr<const AnalysisResult> ask_analysis(Frame& frame, const AnalysisQuery& query) {
  const Analysed* known = frame.ask(query);
  if (known == nullptr) return nullptr;
  if (!known->error.empty()) throw Error("{}", known->error);
  return known->result;
}

}  // namespace

bool PreviewNumbers::renew(Frame& frame) {
  bool is_same = true;
  for (const auto& [query, tile] : tiles_) is_same = ask_tile(frame, query) == tile && is_same;
  for (const auto& [query, result] : analyses_) is_same = ask_analysis(frame, query) == result && is_same;
  for (const auto& [query, run] : predictions_) {
    const Prediction* known = frame.ask(query);
    is_same = (known == nullptr ? 0 : known->run) == run && is_same;
  }
  return is_same;
}

void PreviewNumbers::begin(Frame& frame) {
  frame_ = &frame;
  tiles_.clear();
  analyses_.clear();
  predictions_.clear();
}

std::shared_ptr<const attention::Tile> PreviewNumbers::tile(const TileQuery& query) {
  return tiles_.emplace_back(query, ask_tile(*frame_, query)).second;
}

std::shared_ptr<const AnalysisResult> PreviewNumbers::analysis(const AnalysisQuery& query) {
  return analyses_.emplace_back(query, ask_analysis(*frame_, query)).second;
}

std::shared_ptr<const Prediction> PreviewNumbers::prediction(const PredictionQuery& query) {
  const Prediction* known = frame_->ask(query);
  predictions_.emplace_back(query, known == nullptr ? 0 : known->run);
  return known == nullptr ? nullptr : std::make_shared<const Prediction>(*known);
}

std::uint32_t PreviewNumbers::edge(std::uint32_t most, std::size_t maps) const {
  // Each value is a rectangle in every frame: so many for all maps together.
  constexpr double kMostValues = 83'000.0;
  constexpr std::uint32_t kLeast = 24, kMost = 96;
  const double fitting = std::sqrt(kMostValues / static_cast<double>(std::max(maps, std::size_t{1})));
  return std::min(most, std::clamp(static_cast<std::uint32_t>(fitting), kLeast, kMost));
}

std::uint32_t PreviewNumbers::largest_pool() const {
  std::uint32_t largest = 1;
  for (const auto& [query, tile] : tiles_) largest = std::max({largest, query.pool, query.column_pool()});
  return largest;
}

}  // namespace headlight::app
