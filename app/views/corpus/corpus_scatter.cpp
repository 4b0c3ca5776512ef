#include <numeric>

#include "app/engine/analyses/head_metric_text.h"
#include "app/state/corpus_settings.h"
#include "app/views/corpus/corpus_parts.h"
#include "app/widgets/range_bar.h"
#include "app/widgets/shown_tile.h"
#include "chart/number_format.h"
#include "export/figures.h"

namespace headlight::app {
namespace {

constexpr std::uint64_t kMapKey = 0x636f7270'75736d61U;  // of images: "corpusma"

bool is_by_layer(const Choices& choices) { return choices[kCorpusView.mode] == CorpusMode::Layers; }

const SurveyColumn& color_column(const Survey& survey, const Choices& choices) {
  const std::string usual = survey.layout.has_kinds() ? "kind" : "layer";
  return survey.column(choices[kCorpusView.color].empty() ? usual : choices[kCorpusView.color], survey.columns.size());
}

/// Have all heads both numbers of the usual plane, previous token and induction? It tells heads that copy from those that
/// hand them the token before.
bool has_usual_plane(const Survey& survey) {
  return std::ranges::all_of(std::array{"previous", "induction"}, [&](std::string_view name) {
    const auto column = std::ranges::find(survey.columns, name, &SurveyColumn::name);
    return column != survey.columns.end() &&
           std::ranges::all_of(column->values, [](double value) { return std::isfinite(value); });
  });
}

/// Returns the chosen column, else that of the usual plane, else the one at `other`.
const SurveyColumn& placing_column(const Survey& survey, const std::string& chosen, const char* usual, std::size_t other) {
  return survey.column(chosen.empty() && has_usual_plane(survey) ? usual : chosen, other);
}

/// Low and high end of what is known.
chart::ValueLimits limits_of(const SurveyColumn& column) {
  chart::ValueLimits limits{.low = 0.0F, .high = 0.0F};
  bool is_first = true;
  for (const double value : column.values) {
    if (!std::isfinite(value)) continue;
    const auto number = static_cast<float>(value);
    limits = is_first ? chart::ValueLimits{number, number}
                      : chart::ValueLimits{std::min(limits.low, number), std::max(limits.high, number)};
    is_first = false;
  }
  if (limits.high <= limits.low) limits.high = limits.low + 1.0F;
  return limits;
}

/// A list of columns. Choosing a plane's axis shows the whole plane, whose columns are neighbours.
void choose_column(const CorpusScene& scene, const char* name, const char* title, const SurveyColumn& shown,
                   const Setting<std::string>& chosen, const char* explanation) {
  constexpr float kListWidth = 132.0F;
  Frame& frame = scene.frame;
  ImFont* small = frame.ui.fonts().small;
  continue_line(text_width(small, title) + 6.0F + kListWidth, 12.0F);
  write_label(small, frame.ui.theme().text_dim, title);
  ImGui::SameLine(0.0F, 6.0F);
  ImGui::SetNextItemWidth(kListWidth);
  OpenList list(frame, name, shown.name.c_str(), explanation);
  if (!list) return;
  const std::vector<SurveyColumn>& columns = scene.survey.columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!list.entry(columns[i].name.c_str(), columns[i].name, &columns[i] == &shown,
                    column_help(scene.survey, columns[i].name).c_str()))
      continue;
    frame.state.set(chosen, columns[i].name);
    if (!columns[i].is_plane || is_by_layer(frame.state) || &chosen == &kCorpusView.color) continue;
    const std::size_t first = columns[i].name.ends_with(", axis 1") ? i : i - 1;
    frame.state.set(kCorpusView.x, columns[first].name);
    frame.state.set(kCorpusView.y, columns[first + 1].name);
  }
}

/// Draws a square of each layer's colour, with its number, all of them on one line where that has the room.
void draw_layers(Frame& frame, const std::map<double, shell::Color>& numbers) {
  constexpr float kSquare = 10.0F, kGap = 4.0F;
  constexpr const char* kTitle = "layer";
  ImFont* font = frame.ui.fonts().small;
  float whole = text_width(font, kTitle);
  for (const auto& [number, color] : numbers)
    whole += 10.0F + kSquare + kGap + text_width(font, fmt::format("{:.0f}", number));
  continue_line(whole, 10.0F);
  write_label(font, frame.ui.theme().text_dim, kTitle);
  for (const auto& [number, color] : numbers) {
    const std::string text = fmt::format("{:.0f}", number);
    const float width = kSquare + kGap + text_width(font, text);
    continue_line(width, 10.0F);
    const glm::vec2 at = cursor_position();
    const float middle = ImGui::GetFrameHeight() * 0.5F;
    fill_rect(at + glm::vec2(0.0F, middle - kSquare * 0.5F), at + glm::vec2(kSquare, middle + kSquare * 0.5F), color, 2.0F);
    put_text(font, at + glm::vec2(kSquare + kGap, text_drop(font, ImGui::GetFrameHeight())), frame.ui.theme().text, text);
    ImGui::Dummy({width, ImGui::GetFrameHeight()});
  }
}

/// A colour of each head, with what explains them: the names of kinds, a bar, or squares.
std::vector<shell::Color> draw_colors(Frame& frame, const SurveyColumn& column) {
  const shell::Theme& theme = frame.ui.theme();
  std::vector<shell::Color> colors;
  if (column.name == "kind") {
    std::array<shell::Color, model::kBlockKinds> of_kinds = {};
    for (std::uint32_t kind = 0; kind < model::kBlockKinds; ++kind) {
      of_kinds[kind] = shell::mark_on(theme.background, chart::pack(chart::head_color(kind)), theme.text);
      const std::string name(model::to_string(static_cast<model::BlockKind>(kind)));
      continue_line(text_width(frame.ui.fonts().small, name), 10.0F);
      write_label(frame.ui.fonts().small, of_kinds[kind], name);
    }
    for (const double value : column.values) colors.push_back(of_kinds.at(static_cast<std::size_t>(value)));
    return colors;
  }
  shell::HeatmapImage bar;
  const chart::ValueLimits limits = limits_of(column);
  bar.color_map = weight_colors(frame.state);
  bar.low = limits.low;
  bar.high = limits.high;
  for (const double value : column.values) {
    const float position = chart::position_in(limits, chart::ScaleSpread::Linear, static_cast<float>(value));
    const shell::Color color = bar.color_map[static_cast<std::size_t>(std::lround(position * 255.0F))];
    colors.push_back(std::isfinite(value) ? shell::mark_on(theme.background, color, theme.text) : theme.missing);
  }
  constexpr std::size_t kMostSwatches = 16;
  std::map<double, shell::Color> layers;
  for (std::size_t head = 0; column.name == "layer" && head < colors.size(); ++head)
    layers.emplace(column.values[head], colors[head]);
  if (!layers.empty() && layers.size() <= kMostSwatches) {
    draw_layers(frame, layers);
    return colors;
  }
  constexpr float kBar = 96.0F;
  continue_line(kBar, 16.0F);
  const glm::vec2 at = cursor_position();
  draw_small_color_bar(frame, {.origin = at + glm::vec2(0.0F, 3.0F), .size = {kBar, 8.0F}}, bar);
  ImGui::Dummy({kBar, ImGui::GetFrameHeight()});
  return colors;
}

/// Name, numbers and mean map of the head under the pointer.
void draw_dot_tooltip(const CorpusScene& scene, std::size_t head, std::span<const SurveyColumn* const> columns) {
  constexpr float kSmallMap = 120.0F;
  const Tooltip tooltip(scene.frame, around_pointer());
  const shell::FontSet& fonts = scene.frame.ui.fonts();
  scene.frame.ui.ensure_glyphs(scene.title(head));
  write_text(fonts.strong, scene.frame.ui.theme().text, scene.frame.ui.shaped(scene.title(head)));
  for (const SurveyColumn* column : columns) {
    write_text(fonts.small, scene.frame.ui.theme().text, fmt::format("{}: {}", column->name, column_number(*column, head)));
  }
  if (scene.survey.attention[head].map.empty()) return;
  write_text(fonts.small, scene.frame.ui.theme().text_dim, "mean map of the texts' beginnings");
  draw_mean_map(scene.frame, scene.survey, head, {.origin = cursor_position(), .size = glm::vec2(kSmallMap)}, 1);
  ImGui::Dummy({kSmallMap, kSmallMap});
}

}  // namespace

const SurveyColumn& x_column(const Survey& survey, const Choices& choices) {
  return is_by_layer(choices) ? survey.column("layer", 0) : placing_column(survey, choices[kCorpusView.x], "previous", 0);
}
const SurveyColumn& y_column(const Survey& survey, const Choices& choices) {
  return placing_column(survey, choices[kCorpusView.y], "induction", survey.metrics.size() > 1 ? 1 : 0);
}

std::string shown_name(const Survey& survey, std::size_t head) {
  std::string name = survey.name(head);
  return name.insert(name.rfind('H'), " ");
}

std::string column_help(const Survey& survey, const std::string& name) {
  if (const auto own = survey.patterns.find(name); own != survey.patterns.end()) {
    return fmt::format("The mean weight on the cells of {}, over the queries that have one, and over the texts.",
                       own->second);
  }
  const std::vector<std::string> names = evaluation::metric_names();
  const auto metric = std::ranges::find(names, name);
  if (metric != names.end()) {
    return fmt::format("{} Its mean over the texts.",
                       text_of(static_cast<evaluation::HeadMetric>(metric - names.begin())).help);
  }
  if (name == "self") return "The mean weight of a token on itself.";
  if (name == "first") return "The mean weight on the first token.";
  if (name == "layer") return "The head's layer.";
  if (name == "kind") return "Encoder self-attention, decoder self-attention or cross-attention.";
  if (name.starts_with("metrics,"))
    return "Heads whose metrics are alike lie near each other (multidimensional scaling of all metrics).";
  if (name.starts_with("mean maps,") || name.starts_with("cross maps,"))
    return "Heads whose mean maps are alike lie near each other (multidimensional scaling of their distances).";
  return "A number that the survey has for each head.";
}

std::string column_number(const SurveyColumn& column, std::size_t head) {
  const double value = column.values[head];
  if (column.name == "kind") return std::string(model::to_string(model::BlockKind{static_cast<std::uint8_t>(value)}));
  return std::isfinite(value) ? chart::format_number(static_cast<float>(value), 6) : std::string("\u2013");
}

void draw_mean_map(Frame& frame, const Survey& survey, std::size_t head, const chart::Rect& box, std::uint32_t place) {
  const std::vector<float>& map = survey.attention[head].map;
  std::uint32_t edge = 0;
  while (edge < kMapEdge && !std::isnan(map[std::size_t{edge} * kMapEdge])) ++edge;
  if (edge == 0) return;
  std::vector<float> values;
  std::vector<std::uint8_t> hidden;
  float largest = 1e-6F;
  for (std::uint32_t query = 0; query < edge; ++query) {
    for (std::uint32_t key = 0; key < edge; ++key) {
      const float value = map[std::size_t{query} * kMapEdge + key];
      values.push_back(std::isnan(value) ? 0.0F : value);
      hidden.push_back(value > 0.0F ? 0 : 1);  // a mean of softmax is 0 where every text's mask hides the cell
      largest = std::max(largest, values.back());
    }
  }
  shell::HeatmapImage image;
  shell::use_theme(image, frame.ui.theme());
  image.key = kMapKey + place;
  image.revision = std::hash<const void*>()(&survey) ^ (head * 0x9e3779b97f4a7c15U);
  image.rows = image.columns = edge;
  image.values = values;
  image.masked = hidden;
  image.color_map = weight_colors(frame.state);
  image.high = largest;
  image.spread = chart::ScaleSpread::Root;  // weights on the first token would outshine all others
  image.area = box;
  draw_heatmap(frame, image);
}

void draw_scatter(const CorpusScene& scene, std::vector<glm::vec2>& path) {
  Frame& frame = scene.frame;
  const Choices& choices = scene.frame.state;
  const SurveyColumn &x = x_column(scene.survey, choices), &y = y_column(scene.survey, choices),
                     &color = color_column(scene.survey, choices);
  if (!is_by_layer(choices))
    choose_column(scene, "corpus.x", "across", x, kCorpusView.x, "What places heads from left to right.");
  choose_column(scene, "corpus.y", "up", y, kCorpusView.y, "What places heads from the bottom to the top.");
  choose_column(scene, "corpus.color", "colour", color, kCorpusView.color, "What colours heads.");
  const std::vector<shell::Color> colors = draw_colors(frame, color);
  const auto is_drawn = [](double across, double up) { return std::isfinite(across) && std::isfinite(up); };
  if (!std::transform_reduce(x.values.begin(), x.values.end(), y.values.begin(), false, std::logical_or<>(), is_drawn)) {
    return draw_empty_note(
        frame, "corpus.no_values", "No head has both of these numbers",
        fmt::format("A number is there where a text has what it measures; cross-attention has no patterns, "
                    "no distances, and a plane of mean maps of its own. Choose others than {} and {}.",
                    x.name, y.name));
  }
  const DotEvents events = draw_dots(frame,
                                     {.name = "corpus.dots",
                                      .x_title = x.name,
                                      .y_title = y.name,
                                      .x = x.values,
                                      .y = y.values,
                                      .colors = colors,
                                      .marked = scene.lasso,
                                      .chosen = scene.chosen(),
                                      .has_whole_x = is_by_layer(choices),
                                      .label = [&](std::size_t head) { return scene.title(head); }},
                                     path);
  if (events.hovered) {
    const std::array<const SurveyColumn*, 3> numbers = {&x, &y, &color};
    draw_dot_tooltip(scene, *events.hovered, numbers);
    frame.says = survey_sentence(scene, *events.hovered);
  }
  if (events.lasso) {
    scene.lasso = *events.lasso;
    frame.ui.request_redraw(2);  // the table lists them
  }
  if (events.clicked) events.is_double ? scene.open(*events.clicked) : scene.choose(*events.clicked);
}

Sentence survey_sentence(const CorpusScene& scene, std::size_t head) {
  const SurveyColumn &x = x_column(scene.survey, scene.frame.state), &y = y_column(scene.survey, scene.frame.state);
  const std::string of_y = fmt::format("{} {}", y.name, number_word(column_number(y, head)));
  return fmt::format("In the survey of {} texts, {} has {}.", scene.survey.texts, shown_name(scene.survey, head),
                     is_by_layer(scene.frame.state)
                         ? of_y
                         : fmt::format("{} {} and {}", x.name, number_word(column_number(x, head)), of_y));
}

std::string survey_in_words(const Survey& survey) {
  return fmt::format("{}, {} texts of {}; {} heads", utf8(std::filesystem::path(survey.model).filename()), survey.texts,
                     utf8(std::filesystem::path(survey.corpus).filename()), survey.count());
}

std::unique_ptr<exporting::Drawing> scatter_figure(const Survey& survey, const Choices& choices,
                                                   std::span<const std::size_t> marked, const HeadNotes& notes,
                                                   chart::ColorMap colors) {
  const SurveyColumn &x = x_column(survey, choices), &y = y_column(survey, choices), &color = color_column(survey, choices);
  exporting::DotsFigure figure{.title = is_by_layer(choices) ? fmt::format("{} by layer", y.name) : "Heads over a corpus",
                               .subtitle = survey_in_words(survey),
                               .x_title = x.name,
                               .y_title = y.name,
                               .color_title = color.name == "kind" ? "kind: encoder 0, decoder 1, cross 2" : color.name,
                               .has_whole_x = is_by_layer(choices)};
  figure.style.color_map = colors;
  for (std::size_t head = 0; head < survey.count(); ++head) {
    if (!std::isfinite(x.values[head]) || !std::isfinite(y.values[head])) continue;
    const auto note = notes.find(survey.name(head));
    figure.dots.push_back(
        {.at = {x.values[head], y.values[head]},
         .color = static_cast<float>(color.values[head]),
         .name = survey.name(head) + (note == notes.end() || note->second.label.empty() ? "" : " " + note->second.label),
         .is_named = std::ranges::binary_search(marked, head)});
  }
  return figure.dots.empty() ? nullptr : exporting::make_drawing(std::move(figure));
}

}  // namespace headlight::app
