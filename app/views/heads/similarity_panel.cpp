#include "app/engine/analyses/head_metric_text.h"
#include "app/engine/analyses/head_similarity.h"
#include "app/state/comparison.h"
#include "app/views/heads/find_panel.h"
#include "app/views/heads/similarity_map.h"
#include "app/widgets/cells/provenance.h"
#include "app/widgets/controls.h"
#include "app/widgets/head_controls.h"
#include "app/widgets/head_tools.h"
#include "app/widgets/table_view.h"
#include "app/widgets/tile_numbers.h"
#include "export/figure.h"

namespace headlight::app {
namespace {

class SimilarityPanel final : public FindPanel {
 public:
  Heading heading(const Frame& /*frame*/) override { return {.title = "Heads that look alike"}; }

  void draw(Frame& frame) override {
    choose_kind(frame, "heads.kind");
    choose_next(frame, kHeadsView.groups_similar, {}, 14.0F);
    const auto found = ask_of_both<HeadSimilarity>(frame, similarity_query(frame.state.selection));
    has_numbers_ = found.now != nullptr;
    const bool is_refused = found.answer && !found.answer->error.empty();
    if (is_refused) return draw_note(frame, "heads.similar.about", found.answer->error, frame.ui.theme().warning);
    if (!found.now) return draw_note(frame, "heads.similar.about", "comparing every two heads\u2026");
    map_.show(found, frame.state[kHeadsView.groups_similar]);
    const std::vector<HeadRef>& heads = found.now->heads;
    std::vector<HeadRef> listed;
    for (const std::uint32_t head : map_.order()) listed.push_back(heads[head]);
    move_through_heads(frame, listed, 1);
    explain(frame, *found.now);
    draw_comparison(frame, "heads", "how much every two heads differ", found.of_baseline);
    const Selection& selection = frame.state.selection;
    const auto at = static_cast<std::size_t>(std::ranges::find(heads, selection.head_ref()) - heads.begin());
    const auto selected = at < heads.size() ? std::optional(static_cast<std::uint32_t>(at)) : std::nullopt;
    const auto draw_map = [&] {
      const auto [clicked, is_opened, hovered] = map_.draw(frame, selected);
      if (hovered) point_at(frame, found, hovered->first, hovered->second);
      if (clicked) go_to_head(frame, heads[*clicked], is_opened);
    };
    const auto draw_nearest = [&] {
      if (selected) draw_list(frame, found, *selected);
    };
    ColumnPair().draw(draw_map, draw_nearest, std::floor(height_left() * 0.6F));
  }

  bool has_numbers() const override { return has_numbers_; }
  bool is_compared() const override { return has_numbers_ && map_.shown().baseline != nullptr; }
  std::unique_ptr<exporting::Drawing> figure(const FigureWords& words) const override {
    if (!has_numbers_ || map_.order().empty()) return nullptr;
    exporting::HeatmapFigure figure = map_.matrix().figure(words.color_map);
    figure.title = words.title;
    figure.subtitle = words.subtitle;
    return exporting::make_drawing(std::move(figure), exporting::DrawingFormat::Svg);
  }
  std::string csv() const override {
    Grid matrix = map_.matrix();
    if (matrix.is_signed) matrix.rows.title += " (change)";
    return app::csv(matrix.table());
  }

 private:
  static NumberRef number_of(const Frame& frame, const HeadSimilarity& found, std::uint32_t head, std::uint32_t other) {
    NumberRef number{.of = std::string(kHeadDifference),
                     .block = found.heads[head].block,
                     .batch = frame.state.selection.batch,
                     .head = found.heads[head].head,
                     .value = double{found.between(head, other)},
                     .notes = {{"compared with", head_name(found.heads[other])}}};
    if (found.compared_queries < found.queries) {
      number.notes.emplace_back(kSampledNote, fmt::format("{} of {} queries", found.compared_queries, found.queries));
    }
    return number;
  }

  static void point_at(Frame& frame, const SimilarityMap::Found& found, std::uint32_t head, std::uint32_t other) {
    NumberRef number = number_of(frame, *found.now, head, other);
    add_baseline(number, divergence(found, head, other));
    frame.transient.pointed_number = std::move(number);
  }

  static void explain(Frame& frame, const HeadSimilarity& found) {
    std::string text =
        "The mean over queries of the Jensen\u2013Shannon divergence of both heads' rows, in bits: 0 where they attend to "
        "the "
        "same keys alike, 1 where at different ones.";
    if (found.compared_queries < found.queries) {
      text +=
          fmt::format(" Sampled: {} of {} queries, in strips at equal distances.", found.compared_queries, found.queries);
    }
    if (found.order.empty()) text += " Some weights are no numbers, so heads can't be put in an order.";
    draw_note(frame, "heads.similar.about", text);
  }

  /// The nearest heads of one, or those whose divergence from it changed most.
  static void draw_list(Frame& frame, const SimilarityMap::Found& similar, std::uint32_t selected) {
    const HeadSimilarity& found = *similar.now;
    const bool compares = similar.baseline != nullptr;
    const std::string name = head_name(found.heads[selected]);
    write_strong(frame, compares ? fmt::format("Most changed against {}", name) : "Nearest to " + name);
    HeadScores others;
    for (std::uint32_t head = 0; head < found.heads.size(); ++head) {
      const Compared<double> both = divergence(similar, selected, head);
      if (head != selected && std::isfinite(both.shown()))
        others.heads.push_back({.head = found.heads[head], .score = both});
    }
    if (compares) others.sort();
    if (!compares) std::ranges::stable_sort(others.heads, {}, &ScoredHead::value);
    const auto about = [&](const HeadRef& head, double value) {
      return fmt::format("{:.4f} bits from {}. Click: selects {}. Double click: opens it.", value, name, head_name(head));
    };
    const auto number = [&](const HeadRef& head) {
      return number_of(frame, found, static_cast<std::uint32_t>(std::ranges::find(found.heads, head) - found.heads.begin()),
                       selected);
    };
    draw_score_list(frame, {.name = "heads.similar", .scores = others, .about = about, .number = number});
    if (others.heads.empty()) return;
    const NumberRef shown = frame.transient.pointed_number.value_or(number(others.heads[0].head));
    frame.says = fmt::format("{} and {} are {} bits apart: 0 is alike, 1 as different as can be.", shown.notes[0].second,
                             head_name({shown.block, shown.head}), number_word(*shown.value, "{:.3f}"));
  }

  SimilarityMap map_;
  bool has_numbers_ = false;
};

}  // namespace

std::unique_ptr<FindPanel> open_similarity_panel() { return std::make_unique<SimilarityPanel>(); }

}  // namespace headlight::app
