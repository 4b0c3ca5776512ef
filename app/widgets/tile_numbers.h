#pragma once

#include "app/frame.h"
#include "app/shapes/quantities/compared.h"
#include "app/widgets/cells/arithmetic.h"
#include "app/widgets/shown_tile.h"

namespace headlight::app {

/// One head's numbers, from the tiles on screen or else requested: a row or a column is one thin tile.
class TileNumbers final : public NumberSource {
 public:
  /// `weights`: the head's, or a mean in their place.
  TileNumbers(Frame& frame, model::BlockRef block, std::uint32_t batch, std::uint32_t head,
              QuantityId weights = attention::Stage::Weights)
      : frame_(frame), block_(block), batch_(batch), head_(head), weights_(weights) {}

  Numbers row(attention::Stage stage, std::uint32_t row) override;
  Numbers column(attention::Stage stage, std::uint32_t column) override;
  std::optional<float> value(attention::Stage stage, std::uint32_t row, std::uint32_t column) override;
  /// Of any quantity that has a stage's rows and columns.
  std::optional<float> value(QuantityId map, std::uint32_t row, std::uint32_t column);
  std::optional<Softmax> softmax(std::uint32_t row) override;
  Numbers memory(std::uint32_t row) override;

  /// One query's weights, all keys, and what they amount to; the spans are the tile's.
  struct WeightsRow {
    std::span<const float> weights;
    RowStatistics statistics;
    std::span<const std::uint8_t> masked;  ///< [key] 1: hidden by the mask; empty: none is

    bool hides(std::uint32_t key) const { return key < masked.size() && masked[key] != 0; }
  };
  std::optional<WeightsRow> weights_row(std::uint32_t row);
  /// What all queries give to a key, Σ of its column; only where the whole map is known exactly. Requests nothing.
  std::optional<float> received(std::uint32_t key) const;

 private:
  TileQuery region(QuantityId quantity, std::uint32_t row, std::uint32_t rows, std::uint32_t column,
                   std::uint32_t columns) const;
  /// An exact tile of this run that covers the region; nothing when there is none.
  ShownTile find_exact(const TileQuery& region) const;
  /// Likewise; asks for exactly that region when there is none.
  ShownTile exact_with(const TileQuery& region);
  const attention::Tile* tile_with(attention::Stage stage, std::uint32_t row, std::uint32_t rows, std::uint32_t column,
                                   std::uint32_t columns) {
    return exact_with(region(stage, row, rows, column, columns)).tile;
  }
  std::optional<inference::BlockShape::Extent> extent(attention::Stage stage) const;

  Frame& frame_;
  model::BlockRef block_;
  std::uint32_t batch_, head_;
  QuantityId weights_;
};

// Views whose numbers come from an analysis show it of the baseline as well, and what it changed by since.

/// Do maps of this quantity show the present run minus the baseline? Of a capture and a network's run those of weights and
/// of their means do.
bool shows_difference_of(const Frame& frame, QuantityId shown);
/// The same of the quantity that the view Head shows.
bool head_map_shows_difference(const Frame& frame);

/// The same question about the baseline. Null: views show no differences, or it isn't answered yet.
const Analysed* ask_of_baseline(Frame& frame, AnalysisQuery query);
/// Of a question that names tokens: an error where the two texts have different numbers of them.
const Analysed* ask_of_same_tokens(Frame& frame, const AnalysisQuery& query);
/// Of a question whose `position` is a token of the last stack: about its counterpart. An error where there is none.
template <typename Question>
const Analysed* ask_of_counterpart(Frame& frame, Question question) {
  static const Analysed kNone{.result = nullptr, .error = "its token has no counterpart in the other text", .is_done = true};
  if (!frame.shows_difference()) return nullptr;
  const std::optional<std::uint32_t> token = frame.result.in_baseline(question.batch, question.position);
  if (!token) return &kNone;
  question.position = *token;
  return ask_of_baseline(frame, question);
}

/// The baseline's answer where both are whole, so that it can be subtracted, or where it is an error; else null.
const Analysed* subtractable(const Analysed* now, const Analysed* baseline);

/// One line where there is a baseline and differences are shown: what the numbers are, that the baseline's aren't known yet,
/// or why the two can't be compared. `of`: what changed, such as "each part of the logit"; marked "<view>.compared".
void draw_comparison(Frame& frame, const std::string& view, const std::string& of, const Analysed* baseline);

/// "+0.500 (now +1.200, baseline +0.700)"; without a number of the baseline "+1.200".
std::string change_text(const Compared<double>& number);

/// Adds the baseline's number, and the difference, to what is said about the present one.
void add_baseline(NumberRef& asked, const Compared<double>& number);

}  // namespace headlight::app
