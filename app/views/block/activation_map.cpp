#include "app/views/block/activation_map.h"

#include "app/state/block_settings.h"
#include "app/state/map_settings.h"
#include "app/widgets/cells/arithmetic.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {
namespace {

constexpr std::size_t kListedDimensions = 6, kListedMassive = 6;

std::string token_name(const Frame& frame, std::uint32_t token) {
  const Selection& selection = frame.state.selection;
  return shown_queries(frame).name(selection.batch, token);
}

std::string state_name(std::size_t state) {
  return state == 0 ? std::string("token vectors") : fmt::format("after layer {}", state - 1);
}

/// Returns "x[447] = −301.2 at token 0 “<s>”".
std::string activation_text(const Frame& frame, const Activation& x) {
  return fmt::format("x[{}] = {} at token {} \u201C{}\u201D", x.dimension, write_number(double{x.value}), x.token,
                     token_name(frame, x.token));
}

std::string about_cell(const Frame& frame, const LayerActivations& layer, std::size_t state, const Activation& x) {
  const std::string ratio = layer.median > 0.0F ? fmt::format(", {:.4g} \u00D7 the median |x|, {}", x.size() / layer.median,
                                                              write_number(double{layer.median}))
                                                : std::string(", and the median |x| is 0");
  return fmt::format("{}: {}{}{}. A click selects the layer.", state_name(state), activation_text(frame, x), ratio,
                     layer.is_massive(x) ? "; massive" : "");
}

/// Describes the largest activations of all layers, each token and dimension once, where it is largest.
std::string massive_text(const Frame& frame, const LargestActivations& found) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::size_t, Activation>> massive;
  for (std::size_t state = 0; state < found.states.size(); ++state) {
    const LayerActivations& layer = found.states[state];
    for (const Activation& x : layer.largest) {
      if (!layer.is_massive(x)) continue;
      const auto [known, is_new] = massive.try_emplace({x.token, x.dimension}, state, x);
      if (!is_new && x.size() > known->second.second.size()) known->second = {state, x};
    }
  }
  if (massive.empty()) return "No token\u2019s largest number is massive.";
  std::string text = "Massive: ";
  std::size_t listed = 0;
  for (const auto& [place, where] : massive) {
    if (listed == kListedMassive) return text + fmt::format("; {} more.", massive.size() - listed);
    text += fmt::format("{}{}, {}", listed == 0 ? "" : "; ", activation_text(frame, where.second), state_name(where.first));
    ++listed;
  }
  return text + ".";
}

std::string dimensions_text(const LargestActivations& found) {
  std::string text = "Largest most often:";
  const auto dimensions = largest_dimensions(found);
  std::size_t all = 0;
  for (const LayerActivations& layer : found.states) all += layer.largest.size();
  for (std::size_t i = 0; i < std::min(dimensions.size(), kListedDimensions); ++i) {
    text +=
        fmt::format("{} dimension {} ({} of {} states)", i == 0 ? "" : ",", dimensions[i].first, dimensions[i].second, all);
  }
  return text + ".";
}

std::string layer_text(const Frame& frame, const LargestActivations& found) {
  const std::size_t state = std::size_t{frame.state.selection.block.layer.value} + 1;
  if (state >= found.states.size()) return {};
  std::string text = fmt::format("{}, the {} largest: ", state_name(state), found.states[state].top.size());
  for (const Activation& x : found.states[state].top) text += activation_text(frame, x) + "; ";
  return text + fmt::format("median |x| {}.", write_number(double{found.states[state].median}));
}

Grid matrix_of(const Frame& frame, const LargestActivations& found) {
  Grid matrix{.title = "largest |x|", .is_signed = false, .has_log_colors = true};
  matrix.rows.title = "token";
  matrix.columns.title = "after layer";
  for (std::size_t state = 0; state < found.states.size(); ++state) {
    matrix.columns.tokens.push_back(state == 0 ? std::string("in") : fmt::format("{}", state - 1));
  }
  for (std::size_t token = 0; token < found.states.front().largest.size(); ++token) {
    matrix.rows.tokens.push_back(token_name(frame, found.first + static_cast<std::uint32_t>(token)));
    std::vector<std::optional<double>>& cells = matrix.cells.emplace_back();
    for (const LayerActivations& layer : found.states) cells.emplace_back(layer.largest[token].value);
  }
  return matrix;
}

Table table_of(const Frame& frame, const LargestActivations& found) {
  Table table = named_columns({"states", "position", "token", "dimension", "value", "median", "massive"});
  for (std::size_t state = 0; state < found.states.size(); ++state) {
    for (const Activation& x : found.states[state].largest) {
      table.put(state, x.token - found.first, token_name(frame, x.token), x.dimension, x.value, found.states[state].median,
                found.states[state].is_massive(x));
    }
  }
  return table;
}

}  // namespace

std::vector<std::pair<std::uint32_t, std::size_t>> largest_dimensions(const LargestActivations& found) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const LayerActivations& layer : found.states) {
    for (const Activation& x : layer.largest) ++counts[x.dimension];
  }
  std::vector<std::pair<std::uint32_t, std::size_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater(), &std::pair<std::uint32_t, std::size_t>::second);
  return sorted;
}

void ActivationMap::draw_tools(Frame& frame, const LargestActivations* found) const {
  if (draw_button(frame, "block.layer", "Layer", "Goes back to the whole layer (Esc).")) {
    frame.state.set(kBlockView.activations, false);
  }
  ImGui::SameLine();
  const float end = ImGui::GetContentRegionMax().x - button_width(kCopyCsv);
  draw_view_title(frame, "Largest activations", end - ImGui::GetCursorPosX() - 12.0F);
  ImGui::SameLine(end);
  draw_copy_button(frame, "block.copy", "Copies the largest number of each token and layer with its dimension as CSV.",
                   found != nullptr);
  if (found) copy_when_asked(frame, [&] { return csv(table_of(frame, *found)); });
  place_sentence(frame);
}

void ActivationMap::draw(Frame& frame) {
  matrix_ = {};
  const Selection& selection = frame.state.selection;
  const bool is_encoder = selection.block.kind == model::BlockKind::EncoderSelf;
  const Analysed* answer = frame.ask(LargestActivationsQuestion{
      {.kind = is_encoder ? model::BlockKind::EncoderSelf : model::BlockKind::DecoderSelf, .batch = selection.batch}});
  const auto* found = answer ? answer->as<LargestActivations>() : nullptr;
  const model::TokenBatch& tokens = shown_queries(frame);
  if (found && found->end() > tokens.length) found = nullptr;  // of the text before
  draw_tools(frame, found);
  if (!found || found->states.empty()) return write_missing(frame, answer);
  matrix_ = matrix_of(frame, *found);
  subtitle_ = massive_text(frame, *found);
  color_map_ = frame.state[kMapView.color_map];
  write_note(frame,
             "The number of each token\u2019s vector in the residual stream that is farthest from 0. Massive (Sun et al. "
             "2024): |x| > 100 and > 1,000 \u00D7 the median |x| of that layer.",
             {}, "block.activations.about");
  for (const std::string& text : {subtitle_, dimensions_text(*found), layer_text(frame, *found)}) {
    frame.ui.ensure_glyphs(text);
    write_note(frame, text, frame.ui.theme().text, "block.activations.found");
  }
  write_note(frame, "The number with the " + matrix_.title + ", by token and layer; colours: log\u2081\u2080(1 + |x|)", {},
             "block.activations.title");
  std::optional<GridCell> selected;
  if (const auto& pinned = frame.state.view.pinned; pinned && pinned->query >= found->first) {
    selected = GridCell{.row = pinned->query - found->first, .column = std::size_t{selection.block.layer.value} + 1};
  }
  const GridEvents click =
      draw_grid(frame, {.grid = matrix_,
                        .name = [](GridCell at) { return fmt::format("block.activation.{}.{}", at.column, at.row); },
                        .about =
                            [&](GridCell at) {
                              const LayerActivations& layer = found->states[at.column];
                              return about_cell(frame, layer, at.column, layer.largest[at.row]);
                            },
                        .selected = selected,
                        .kind = GridKind::TextRows});
  const std::size_t state = click.hovered ? click.hovered->column : found->states.size() - 1;
  const LayerActivations& layer = found->states[state];
  if (const Activation* x = click.hovered ? &layer.largest[click.hovered->row] : layer.top.empty() ? nullptr : &layer.top[0])
    frame.says = fmt::format("The number of {} that is farthest from 0, {}, is {}, of dimension {}.",
                             token_word(token_name(frame, x->token)), state_name(state),
                             number_word(write_number(double{x->value})), x->dimension);
  if (!click.cell || click.cell->column == 0) return;
  model::BlockRef block = selection.block;
  block.layer.value = static_cast<std::uint32_t>(click.cell->column - 1);
  if (frame.result.shapes.contains(block)) select_head(frame.state.selection, {block, selection.head});
}

std::unique_ptr<exporting::Drawing> ActivationMap::figure() const {
  if (matrix_.cells.empty()) return nullptr;
  exporting::HeatmapFigure figure = matrix_.figure(color_map_);
  figure.title = "Largest activations of the residual stream";
  figure.subtitle = subtitle_;
  return exporting::make_drawing(std::move(figure), exporting::DrawingFormat::Svg);
}

}  // namespace headlight::app
