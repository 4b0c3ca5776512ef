#include "app/views/view.h"

#include "app/engine/analyses/head_metric_text.h"
#include "app/state/why_settings.h"
#include "app/views/why/why_parts.h"
#include "app/widgets/cell_grid.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/head_controls.h"
#include "app/widgets/pair_choice.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/sentence.h"
#include "app/widgets/table_view.h"
#include "export/figures.h"

namespace headlight::app {
namespace {

using attribution::Writer, attribution::WriterKind;

constexpr std::size_t kMostCopiedPairs = 20'000;
constexpr float kSourcesShare = 0.45F;  // of the list's height
constexpr float kGridShare = 0.52F;     // of the height, where lists are below the matrix

/// A head's part of the query or of the key, whose source tokens are listed.
struct ChosenPart {
  HeadRef head;
  bool is_of_key = false;

  bool operator==(const ChosenPart&) const = default;
};

/// Why a query looks at a key: its score by what wrote the query and what wrote the key. A matrix, lists of pairs and of
/// single writers, and of a head's part its source tokens, from which a click leads on to that head's own cell.
class WhyView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    if (!frame.result.input || !frame.result.network || !selected_shape(frame)) return;
    const Selection& selection = frame.state.selection;
    const attention::Cell cell = chosen_cell(frame);
    const ScoreQuestion question{
        .head = selection.head_ref(), .batch = selection.batch, .query = cell.query, .key = cell.key};
    if (question != question_) part_.reset();
    question_ = question;
    query_ = row_name(frame, cell.query);
    key_ = token_name(frame, shown_keys(frame), cell.key);
    draw_header(frame);
    choose_pair(frame, "why", cell, pair_);
    frame.point_at(cell);
    const Analysed* answer = frame.ask(question);
    const auto* found = answer ? answer->as<ScoreParts>() : nullptr;
    if (!found) {
      shown_ = nullptr;
      return write_missing(frame, answer);
    }
    const bool is_raw = frame.state[kWhyView.is_raw] || !found->has_row || found->visible < 2;
    if (answer->result != shown_ || is_raw != is_raw_) {
      shown_ = answer->result;
      is_raw_ = is_raw;
      lay_out(*found);
    }
    copy_when_asked(frame, [&] { return numbers(frame, *found); });
    draw_sum(frame, *found);
    ColumnPair{.share = 0.55F, .least = 640.0F}.draw([&] { draw_matrix(frame, *found); }, [&] { draw_lists(frame); },
                                                     std::floor(height_left() * kGridShare));
    const model::BlockKind kind = selection.block.kind;
    frame.says = why_sentence(*found, is_raw_, query_of(frame, kind, cell.query), key_of(frame, kind, cell.key));
    title_ = fmt::format("Why {} looks from \u201C{}\u201D to \u201C{}\u201D", head_name(question.head),
                         frame.ui.unshaped(query_), frame.ui.unshaped(key_));
    subtitle_ = fmt::format("Query {}, key {}, weight {:.3f}; {}. {}", cell.query, cell.key, found->weight, grid_.title,
                            sum_text(*found));
  }

  std::unique_ptr<exporting::Drawing> figure() const override {
    if (!shown_) return nullptr;
    exporting::HeatmapFigure figure = grid_.figure();
    for (std::size_t i = 0; i < figure.columns.tokens.size(); ++i) figure.columns.tokens[i] = name_in(keys_, i);
    figure.title = title_;
    figure.subtitle = subtitle_;
    return exporting::make_drawing(std::move(figure), exporting::DrawingFormat::Svg);
  }

 private:
  static std::string name_in(const std::vector<WriterGroup>& groups, std::size_t at) {
    return at < groups.size() ? groups[at].name : "sum";
  }

  /// What is found becomes what is drawn.
  void lay_out(const ScoreParts& found) {
    queries_ = groups_of(found.queries, unfolded_);
    keys_ = groups_of(found.keys, unfolded_);
    grid_ = why_grid(found, queries_, keys_, is_raw_);
    rows_ = writer_rows(found);
    weight_ = found.weight;
    pairs_.show(pairs_table(found, is_raw_, false));
    writers_.show(writers_table(found, rows_, is_raw_));
  }

  void draw_header(Frame& frame) {
    draw_view_title(frame, fmt::format("Why here? {}", head_name(question_.head)));
    const float width = segmented_width(frame, option_labels(kWhyView.is_raw)) + button_width(kCopyCsv) + kControlGap;
    continue_line_at_right(width, kControlGap);
    choose(frame, kWhyView.is_raw);
    ImGui::SameLine(0.0F, kControlGap);
    draw_copy_button(frame, "why.copy", "Copies the list as CSV: all pairs, or all writers.");
    place_sentence(frame);
    draw_trail(frame);
  }

  /// The cells that led here, and the one on show as the last.
  std::vector<TrailCell> trail(const Frame& frame) const {
    const TrailCell shown{question_.head, question_.query, question_.key};
    std::vector<TrailCell> cells = read_trail(frame.state[kWhyView.trail]);
    if (cells.empty() || cells.back() != shown) cells = {shown};
    return cells;
  }

  /// Draws them as buttons, which go back.
  void draw_trail(Frame& frame) const {
    std::vector<TrailCell> cells = trail(frame);
    for (std::size_t i = 0; i + 1 < cells.size(); ++i) {
      const std::string label = fmt::format("{} {}\u2192{}##{}", head_name(cells[i].head), cells[i].query, cells[i].key, i);
      if (i > 0) continue_line(button_width(label.c_str()), ImGui::GetStyle().ItemSpacing.x);
      if (!draw_small_button(frame, fmt::format("why.trail.{}", i), label.c_str(), "Goes back to this cell.")) continue;
      cells.resize(i + 1);
      return show(frame, cells);
    }
  }

  /// Shows the last cell of a trail.
  static void show(Frame& frame, const std::vector<TrailCell>& cells) {
    select_head(frame.state.selection, cells.back().head);
    frame.state.view.pinned = attention::Cell{.query = cells.back().query, .key = cells.back().key};
    clamp_selection(frame.state, frame.result.shapes);
    frame.state.set(kWhyView.trail, write_trail(cells));
  }

  std::string sum_text(const ScoreParts& found) const {
    const double score = found.score.value(is_raw_), off = std::abs(found.sum().value(is_raw_) - score);
    const std::size_t parts = found.pairs.size() + found.others.size();
    const bool is_right = off <= 1e-4 * std::max(std::abs(found.score.raw), 1.0);  // NaN isn't
    if (!is_right) {
      return fmt::format("The score is {}, but its parts sum to {}.", signed_text(score),
                         signed_text(found.sum().value(is_raw_)));
    }
    return fmt::format("{} parts sum to the {}{}{}; means and scales of norms are held.", parts,
                       found.has_cap ? "score before the soft cap" : "score", is_raw_ ? "" : " less the row\u2019s mean",
                       off > 0.0 ? fmt::format(", off by {:.0e}", off) : std::string());
  }

  void draw_sum(Frame& frame, const ScoreParts& found) const {
    std::string text = sum_text(found);
    if (!found.has_row) {
      text += " The row\u2019s other keys are being read\u2026";
    } else if (found.visible < 2) {
      text += " The query sees no other key: there is no mean to compare with.";
    }
    write_note(frame, text, {}, "why.sum");
  }

  void draw_matrix(Frame& frame, const ScoreParts& found) {
    write_strong(frame, "Query\u2019s writers \u00D7 key\u2019s writers");
    const std::size_t unfolded = unfolded_.size();
    if (!unfolded_.empty()) {
      continue_line_at_right(button_width("Fold"), kControlGap);
      if (draw_small_button(frame, "why.fold", "Fold", "Shows each layer\u2019s heads as one.")) unfolded_.clear();
    }
    const GridEvents events =
        draw_grid(frame, {.grid = grid_,
                          .name = [](GridCell cell) { return fmt::format("why.cell.{}.{}", cell.row, cell.column); },
                          .about =
                              [&](GridCell cell) {
                                return fmt::format(
                                    "{} in the query, {} in the key: {}. Click: unfolds heads, or lists the "
                                    "source tokens of one.",
                                    grid_.rows.tokens[cell.row], name_in(keys_, cell.column),
                                    signed_text(grid_.cells[cell.row][cell.column].value_or(0.0)));
                              },
                          .kind = GridKind::TextRows});
    const auto choose_group = [&](const std::vector<WriterGroup>& groups, std::size_t at, bool is_of_key) {
      if (at >= groups.size()) return;
      if (groups[at].head) part_ = {*groups[at].head, is_of_key};
      if (groups[at].folds && !groups[at].head) unfolded_.insert(*groups[at].folds);
    };
    if (events.cell) {
      choose_group(queries_, events.cell->row, false);
      choose_group(keys_, events.cell->column, true);
    }
    if (unfolded_.size() != unfolded) {
      lay_out(found);
      frame.ui.request_redraw(2);
    }
  }

  void draw_lists(Frame& frame) {
    choose(frame, kWhyView.list);
    if (part_) {
      ImGui::BeginChild("list", {0.0F, std::floor(height_left() * (1.0F - kSourcesShare))});
      draw_list(frame);
      ImGui::EndChild();
      return draw_sources(frame);
    }
    draw_list(frame);
  }

  void draw_list(Frame& frame) {
    if (frame.state[kWhyView.list] == WhyList::Pairs) {
      pairs_.list(all_rows(pairs_.table()), pair_order_);
      pairs_.draw(frame, {}, pair_order_);
      return;
    }
    write_note(frame,
               fmt::format("Last: the weight, now {:.3f}, without the writer in the query, in all keys, in both.", weight_));
    writers_.list(all_rows(writers_.table()), writer_order_);
    const auto is_head = [&](std::size_t row) { return rows_[row].writer.kind == WriterKind::Head; };
    const TableEvents events = writers_.draw(
        frame,
        {.about =
             [&](std::size_t row) {
               return std::string(is_head(row) ? "Click: the source tokens of its part of the key; again: of the query."
                                               : "");
             }},
        writer_order_);
    if (!events.clicked || !is_head(*events.clicked)) return;
    const WriterRow& row = rows_[*events.clicked];
    const ChosenPart of_key{{row.writer.block, row.writer.head}, true};
    part_ = {of_key.head, row.key && !(part_ == of_key && row.query)};
  }

  void draw_sources(Frame& frame) {
    const ChosenPart part = *part_;
    const Analysed* answer = frame.ask(ScoreSourcesQuestion{question_, part.head, part.is_of_key});
    const auto* found = answer ? answer->as<ScoreSources>() : nullptr;
    write_strong(frame,
                 fmt::format("{} in the {}, by source token", head_name(part.head), part.is_of_key ? "key" : "query"));
    frame.mark("why.sources", last_item_rect());
    if (!found) return write_missing(frame, answer);
    const model::TokenBatch& tokens = frame.result.input->keys(part.head.block.kind);
    std::vector<std::uint32_t> order;
    for (std::uint32_t token = tokens.start(question_.batch);
         token < std::min<std::size_t>(tokens.end(question_.batch), found->tokens.size()); ++token)
      order.push_back(token);
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](std::uint32_t token) { return std::abs(found->tokens[token]); });
    ImGui::BeginChild("sources");
    const TableEvents events = draw_bars(
        frame, "why.source",
        bar_table(
            order.size(),
            [&](std::size_t row) { return fmt::format("{}  {}", token_name(frame, tokens, order[row]), order[row]); },
            [&](std::size_t row) { return found->tokens[order[row]]; }),
        {.about = [&](std::size_t row) {
          return fmt::format("What {} brought from token {}: {}. Click: why that head looked there.", head_name(part.head),
                             order[row], signed_text(found->tokens[order[row]]));
        }});
    ImGui::EndChild();
    if (!events.clicked) return;
    std::vector<TrailCell> cells = trail(frame);
    cells.push_back({part.head, part.is_of_key ? question_.key : question_.query, order[*events.clicked]});
    show(frame, cells);
  }

  std::string numbers(const Frame& frame, const ScoreParts& found) const {
    if (frame.state[kWhyView.list] == WhyList::Writers) return csv(writers_.table());
    return csv(pairs_table(found, is_raw_, found.pairs.size() <= kMostCopiedPairs));
  }

  PairMemory pair_;
  std::set<model::BlockRef> unfolded_;
  std::optional<ChosenPart> part_;
  TableView pairs_{"why.pair"}, writers_{"why.writer"};
  TableOrder pair_order_, writer_order_;
  ScoreQuestion question_;  ///< of the last frame, as what follows
  std::string query_, key_, title_, subtitle_;
  std::shared_ptr<const AnalysisResult> shown_;  ///< null: nothing is
  bool is_raw_ = false;
  std::vector<WriterGroup> queries_, keys_;
  std::vector<WriterRow> rows_;
  double weight_ = 0.0;
  Grid grid_;
};

}  // namespace

std::unique_ptr<ViewPanel> open_why_view() { return std::make_unique<WhyView>(); }

}  // namespace headlight::app
