#include "app/views/predictions/lens_grid.h"

#include <array>

#include "app/figures/view_figures.h"
#include "app/state/map_settings.h"
#include "app/state/predictions_settings.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/cells/provenance.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/position_header.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/sentence.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/size_text.h"

namespace headlight::app {
namespace {

constexpr float kLeastHeight = 68.0F;

/// What colours the cells: a number of each, and the range of its colours in a vocabulary of this size.
struct Coloring {
  const char* unit;
  double (*value)(const LensCell& cell);
  chart::ValueLimits (*limits)(double vocabulary);
  std::string (*text)(const LensCell& cell);
};
/// By LensColor.
constexpr std::array<Coloring, 4> kColorings = {
    {{"probability of the likeliest token", [](const LensCell& cell) { return cell.likeliest.front().probability; },
      [](double) { return chart::ValueLimits{.low = 0.0F, .high = 1.0F}; },
      [](const LensCell& cell) { return percent_text(cell.likeliest.front().probability); }},
     {"\u2212log\u2081\u2080 of the rank", [](const LensCell& cell) { return -std::log10(static_cast<double>(cell.rank)); },
      [](double vocabulary) { return chart::ValueLimits{.low = -static_cast<float>(std::log10(vocabulary)), .high = 0.0F}; },
      [](const LensCell& cell) { return std::to_string(cell.rank); }},
     {"entropy, nats", [](const LensCell& cell) { return cell.entropy; },
      [](double vocabulary) { return chart::ValueLimits{.low = 0.0F, .high = static_cast<float>(std::log(vocabulary))}; },
      [](const LensCell& cell) { return fmt::format("{:.2f}", cell.entropy); }},
     {"KL(last layer \u2016 this), nats", [](const LensCell& cell) { return cell.divergence; },
      [](double vocabulary) { return chart::ValueLimits{.low = 0.0F, .high = static_cast<float>(std::log(vocabulary))}; },
      [](const LensCell& cell) { return fmt::format("{:.2f}", cell.divergence); }}}};

const Coloring& coloring(const State& state) {
  return kColorings[static_cast<std::size_t>(state[kPredictionsView.lens_color])];
}

std::string quoted(const Frame& frame, std::uint32_t id) {
  return fmt::format("\u201C{}\u201D", candidate_label(frame.result, id));
}

/// The five likeliest, and what else is known.
std::string lens_words(const Frame& frame, const LensCell& cell) {
  std::string text;
  for (std::uint32_t i = 0; i < cell.known; ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : " \u00B7 ", quoted(frame, cell.likeliest[i].id),
                        percent_text(cell.likeliest[i].probability));
  }
  return text;
}
std::string lens_name(const State& state) { return utf8(std::filesystem::path(state[kPredictionsView.lens]).filename()); }

}  // namespace

void LensGrid::draw_controls(Frame& frame, const PredictionPosition& position) {
  State& state = frame.state;
  choose(frame, kPredictionsView.lens_color);
  constexpr float kListRoom = 200.0F;
  if (state[kPredictionsView.lens_color] == LensColor::Rank) {
    continue_line(kListRoom, 12.0F);
    ImGui::SetNextItemWidth(kListRoom);
    const std::string automatic = "of the last layer\u2019s likeliest";
    const std::string shown = question_.ranked ? fmt::format("of {}", quoted(frame, *question_.ranked)) : automatic;
    constexpr const char* kHelp =
        "The token whose rank is shown: the one that the last layer finds likeliest at each position, or one of the chosen "
        "position's likeliest. Shift and a click on a cell take that cell's.";
    frame.ui.ensure_glyphs(shown);
    if (OpenList list(frame, "lens.ranked", shown.c_str(), kHelp); list) {
      if (list.entry(automatic.c_str(), "none", !question_.ranked, kHelp)) state.set(kPredictionsView.ranked, {});
      const Prediction* known =
          frame.ask(PredictionQuery{.batch = position.batch, .token = position.token, .layer = layers_});
      for (std::size_t i = 0; known && i < known->candidates.size(); ++i) {
        const std::uint32_t id = known->candidates[i].id;
        const std::string entry = fmt::format("{}###{}", quoted(frame, id), i);
        frame.ui.ensure_glyphs(entry);
        if (list.entry(entry.c_str(), std::to_string(i), state[kPredictionsView.ranked] == id, kHelp))
          state.set(kPredictionsView.ranked, id);
      }
    }
  }
  constexpr const char *kOpen = "Linear lens\u2026", *kLeave = "Logit lens";
  continue_line(button_width(kOpen), 12.0F);
  if (draw_button(frame, "lens.open", kOpen)) frame.start_command("file.open_lens");
  if (state[kPredictionsView.lens].empty()) return;
  continue_line(button_width(kLeave), 8.0F);
  if (draw_button(frame, "lens.leave", kLeave)) state.set(kPredictionsView.lens, {});
}

void LensGrid::draw_legend(Frame& frame) const {
  const Coloring& by = coloring(frame.state);
  const chart::ValueLimits limits = by.limits(vocabulary_);
  const bool is_rank = frame.state[kPredictionsView.lens_color] == LensColor::Rank;
  const bool is_share = frame.state[kPredictionsView.lens_color] == LensColor::Probability;
  const std::string low = is_rank ? std::to_string(vocabulary_) : "0";
  const char* bound =
      frame.state[kPredictionsView.lens_color] == LensColor::Divergence ? "\u2265 " : "";  // it has no largest number
  const std::string high = is_rank ? "1" : is_share ? "100 %" : fmt::format("{}{:.1f} nats", bound, limits.high);
  const std::string lens =
      frame.state[kPredictionsView.lens].empty()
          ? "Each state through the final norm and the unembedding"
          : fmt::format("Linear lens {}: each state h is read as h + W\u00B7h + b", lens_name(frame.state));
  draw_scale(frame, {.colors = weight_colors(frame.state), .low = low, .high = high});
  continue_line(text_width(frame.ui.fonts().small, lens), 0.0F);
  write_note(frame, lens, {}, "lens.about");
}

void LensGrid::show(const Frame& frame, const PredictionPosition& position) {
  const std::uint32_t first = position.first, end = position.end;
  const bool is_same = input_ == frame.result.input && grid_.cells.size() == layers_ + std::size_t{1} &&
                       of_.batch == position.batch && of_.first == first && of_.end == end;
  of_ = position;
  const Coloring& by = coloring(frame.state);
  grid_.title = by.unit;
  grid_.limits = by.limits(vocabulary_);
  if (is_same) return;
  input_ = frame.result.input;
  grid_.rows = {.title = "read after", .tokens = {}};
  grid_.columns = {.title = "token", .tokens = {}};
  for (std::uint32_t row = 0; row <= layers_; ++row) grid_.rows.tokens.push_back(layer_label(layers_ - row, layers_));
  for (std::uint32_t token = first; token < end; ++token)
    grid_.columns.tokens.push_back(predicted_token_text(frame.result, position.batch, token));
  grid_.cells.assign(layers_ + std::size_t{1}, std::vector<std::optional<double>>(end - first));
  grid_.texts.assign(layers_ + std::size_t{1}, std::vector<std::string>(end - first));
}

const LensCell* LensGrid::known(const Frame& frame, GridCell at) {
  const std::uint32_t layer = layers_ - static_cast<std::uint32_t>(at.row);
  question_.first = layer - layer % kLensLayers;
  question_.token = of_.first + static_cast<std::uint32_t>(at.column);
  const Analysed* answer = frame.result.analysed(question_);
  if (answer && !answer->error.empty()) trouble_ = answer->error;
  const LensCells* cells = answer ? answer->as<LensCells>() : nullptr;
  const bool is_known = cells && layer - question_.first < cells->layers.size();
  return is_known && cells->layers[layer - question_.first].known > 0 ? &cells->layers[layer - question_.first] : nullptr;
}

void LensGrid::fill(Frame& frame, GridCell at, bool is_first) {
  const LensCell* cell = known(frame, at);
  const bool is_asked = is_first || (layers_ - at.row) % kLensLayers == kLensLayers - 1;  // a question is of several rows
  if (is_asked) frame.ask(question_);
  const Coloring& by = coloring(frame.state);
  grid_.cells[at.row][at.column] = cell ? std::optional(by.value(*cell)) : std::nullopt;
  grid_.texts[at.row][at.column] =
      cell ? fmt::format("{}\n{}", candidate_label(frame.result, cell->likeliest.front().id), by.text(*cell)) : "";
}

/// "layer 3, 5 “dog”".
std::string LensGrid::place(const Frame& frame, GridCell at) const {
  return fmt::format("{}, {} \u201C{}\u201D", grid_.rows.tokens[at.row], at.column,
                     predicted_token_text(frame.result, of_.batch, of_.first + static_cast<std::uint32_t>(at.column)));
}

void LensGrid::choose_cell(Frame& frame, const GridEvents& events) {
  State& state = frame.state;
  if (const LensCell* cell = events.hovered ? known(frame, *events.hovered) : nullptr) {
    const inference::Candidate& likeliest = cell->likeliest.front();
    frame.transient.pointed_number =
        NumberRef{.of = std::string(kLensProbability),
                  .block = state.selection.block,
                  .batch = of_.batch,
                  .row = question_.token,
                  .column = likeliest.id,
                  .value = likeliest.probability,
                  .notes = {{"token", quoted(frame, likeliest.id)}, {"read after", grid_.rows.tokens[events.hovered->row]}}};
    if (!state[kPredictionsView.lens].empty())
      frame.transient.pointed_number->notes.emplace_back("lens", state[kPredictionsView.lens]);
  }
  if (!events.cell) return;
  const LensCell* cell = known(frame, *events.cell);
  is_opened_ = events.is_double;
  if (ImGui::GetIO().KeyShift && cell) {
    state.set(kPredictionsView.ranked, cell->likeliest.front().id);
    state.set(kPredictionsView.lens_color, LensColor::Rank);
    return;
  }
  choose_position(frame, question_.token);
  state.selection.block.layer.value = std::max(layers_ - static_cast<std::uint32_t>(events.cell->row), 1U) - 1;
}

void LensGrid::draw(Frame& frame, const PredictionPosition& position) {
  layers_ = predicting_layers(*frame.result.network);
  vocabulary_ = frame.result.network->layers->unembedding->linear.out();
  const std::optional<std::uint32_t> ranked = frame.state[kPredictionsView.ranked];
  // A token that this model doesn't have is none.
  question_ = {.batch = position.batch,
               .ranked = ranked && *ranked < vocabulary_ ? ranked : std::nullopt,
               .lens = frame.state[kPredictionsView.lens]};
  is_opened_ = false;
  draw_controls(frame, position);
  draw_legend(frame);
  ImGui::Spacing();
  show(frame, position);
  if (frame.transient.copies == frame.state.view.tab) copy_csv(frame, position);
  const std::string trouble = std::exchange(trouble_, {});
  if (!trouble.empty()) write_note(frame, trouble + ".", frame.ui.theme().warning, "lens.trouble");
  const std::uint32_t chosen = std::min(frame.state.selection.block.layer.value + 1, layers_);
  const GridCell selected{.row = layers_ - chosen, .column = position.token - position.first};
  const auto about = [&](GridCell at) {
    const LensCell& cell = *known(frame, at);
    return fmt::format("{}: {}; entropy {:.2f}, KL {:.2f} nats, {} rank {}.", place(frame, at), lens_words(frame, cell),
                       cell.entropy, cell.divergence, quoted(frame, cell.ranked), cell.rank);
  };
  begin_bare_region("grid", {0.0F, std::max(height_left(), kLeastHeight)});
  const GridEvents events = draw_grid(
      frame,
      {.grid = grid_,
       .name = [&](GridCell at) { return fmt::format("lens.cell.{}.{}", layers_ - at.row, position.first + at.column); },
       .about = about,
       .missing = trouble.empty() ? "Being computed." : trouble,
       .selected = selected,
       .kind = GridKind::Texts,
       .fill = [&](GridCell at, const GridPart& shown) { fill(frame, at, at.row == shown.first_row); }});
  ImGui::EndChild();
  choose_cell(frame, events);
  const GridCell at = events.hovered.value_or(selected);
  if (const LensCell* cell = known(frame, at)) {
    const inference::Candidate& first = cell->likeliest.front();
    const std::uint32_t layer = layers_ - static_cast<std::uint32_t>(at.row);
    frame.says = fmt::format("{} the state of {} is read as {}: {}.",
                             layer == 0         ? "Before any layer"
                             : layer == layers_ ? "At the output"
                                                : "After " + grid_.rows.tokens[at.row],
                             query_word(predicted_token_text(frame.result, of_.batch, question_.token)),
                             token_word(candidate_label(frame.result, first.id)), percent_word(first.probability));
  }
  if (trouble_ != trouble) frame.ui.request_redraw(2);
  shown_ = events.shown;
  page_.title =
      frame.state[kPredictionsView.lens].empty() ? "Logit lens" : fmt::format("Linear lens {}", lens_name(frame.state));
  page_.subtitle = fmt::format("the likeliest token that each layer's state is read as{}",
                               frame.state[kPredictionsView.lens_color] != LensColor::Rank ? ""
                               : question_.ranked ? fmt::format("; rank of {}", quoted(frame, *question_.ranked))
                                                  : "; rank of the last layer's likeliest");
  page_.style.color_map = frame.state[kMapView.color_map];
}

void LensGrid::copy_csv(Frame& frame, const PredictionPosition& position) {
  const Analysed* answer = frame.ask(LensTableQuestion{question_});
  const LensTable* table = answer && answer->is_done && answer->run == frame.result.run ? answer->as<LensTable>() : nullptr;
  if (answer && !answer->error.empty()) frame.transient.copies.clear();
  if (!table) return write_note(frame, "computing all cells for the clipboard\u2026", {}, "lens.copying");
  std::vector<std::string> names = {"layers", "position", "token"};
  for (std::size_t i = 1; i <= kLensTokens; ++i)
    names.insert(names.end(), {fmt::format("likeliest {}", i), fmt::format("probability {}", i)});
  names.insert(names.end(), {"entropy (nats)", "KL to the last layer (nats)", "ranked token", "rank", "probability"});
  Table numbers = named_columns(std::move(names));
  for (std::uint32_t at = 0; at < table->positions.size(); ++at) {
    for (std::size_t layer = 0; layer < table->positions[at].size(); ++layer) {
      const LensCell& cell = table->positions[at][layer];
      numbers.put(layer, at, predicted_token_text(frame.result, position.batch, position.first + at));
      for (std::uint32_t i = 0; i < kLensTokens; ++i) {
        const inference::Candidate& one = cell.likeliest[i];
        i < cell.known ? numbers.put(candidate_label(frame.result, one.id), one.probability) : numbers.put("", CellNumber());
      }
      numbers.put(cell.entropy, cell.divergence, candidate_label(frame.result, cell.ranked), cell.rank, cell.probability);
    }
  }
  copy_when_asked(frame, [&] { return csv(numbers); });
}

std::unique_ptr<exporting::Drawing> LensGrid::figure() const {
  exporting::HeatmapFigure figure = part_of(grid_, shown_).figure(page_.style.color_map);
  if (std::ranges::find(figure.map.masked, 0) == figure.map.masked.end()) return nullptr;
  figure.title = page_.title;
  figure.subtitle = page_.subtitle;
  figure.masked_title = "not computed";
  return exporting::make_drawing(std::move(figure), exporting::DrawingFormat::Svg);
}

}  // namespace headlight::app
