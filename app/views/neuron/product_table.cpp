#include "app/views/neuron/neuron_pair.h"

#include "app/engine/token_words.h"
#include "app/widgets/cell_grid.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/controls.h"
#include "app/widgets/head_controls.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/table_view.h"
#include "app/widgets/thumbnail.h"
#include "app/widgets/tile_numbers.h"
#include "chart/color.h"
#include "chart/number_format.h"

namespace headlight::app {
namespace {

constexpr float kLineGap = 7.0F;

shell::Color color_of_line(const shell::Theme& theme, const ChainLine& line) {
  return line.name == "weight" ? theme.output : theme.text;
}

/// Name left, result right, formula and numbers below.
void draw_chain_line(Frame& frame, const ChainLine& line, std::size_t index, bool has_note) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const glm::vec2 at = cursor_position();
  const float width = width_left();
  const bool is_largest = line.name == "m", is_sum = line.name == "l";
  const std::string name = is_largest ? "largest score" : is_sum ? "sum of exp" : line.name;
  put_text(fonts.strong, at, color_of_line(theme, line), name);
  const std::string value = line.value ? write_number(*line.value) : "…";
  const float value_x = at.x + width - text_width(fonts.mono, value);
  put_text(fonts.mono, {value_x, at.y + 1.0F}, color_of_line(theme, line), value);
  const char* const words = is_largest ? ", m" : is_sum ? ", l" : "";
  if (const float x = at.x + text_width(fonts.strong, name); x + text_width(fonts.small, words) + 8.0F <= value_x)
    put_text(fonts.small, {x, at.y + font_size(fonts.strong) - font_size(fonts.small) - 1.0F}, theme.text_dim, words);
  ImGui::Dummy(ImVec2(width, 20.0F));
  frame.mark(fmt::format("neuron.chain.{}", index), {.origin = at, .size = {width, 20.0F}});
  std::string text = line.formula;
  if (!line.numbers.empty()) text += " = " + line.numbers;
  {
    const TextStyleScope ink(fonts.mono_small, theme.text_dim);
    for (const std::string& part : break_lines(fonts.mono_small, text, width)) ImGui::TextUnformatted(part.c_str());
  }
  if (has_note && !line.note.empty()) draw_rich_text(frame, line.note, fonts.small, theme.text_dim);
  const float y = ImGui::GetCursorScreenPos().y + kLineGap * 0.5F;
  draw_line({at.x, y}, {at.x + width, y}, theme.border);
  ImGui::Dummy(ImVec2(1.0F, kLineGap));
}

constexpr float kStripHeight = 15.0F;
constexpr float kStripGap = 3.0F;
constexpr float kStripLabel = 112.0F;
constexpr float kProductRowHeight = 20.0F;
constexpr float kLeastRowHeight = 16.0F, kMostRowHeight = 36.0F;  // so that all rows are in sight, and fill the room
constexpr float kIndexWidth = 34.0F;
constexpr float kCellWidth = 58.0F;
constexpr float kProductHeaderHeight = 22.0F;
constexpr float kNumberWidth = 62.0F;  // beside a bar
constexpr std::uint64_t kStripPlace = 0x4E55'0000;

/// One vector [d_k] of the pair.
struct Vector {
  const char* label;   ///< "q before RoPE"
  const char* column;  ///< as the table's head has room for it: "q before"
  shell::Color color;
  std::vector<float> values;
  float reach = 0.0F;  ///< largest magnitude
};

std::vector<Vector> vectors_of(const Frame& frame, const NeuronPair& pair, bool has_products) {
  const shell::Theme& theme = frame.ui.theme();
  std::vector<Vector> vectors;
  const auto add = [&](const char* label, const char* column, shell::Color color, std::vector<float> values) {
    float reach = 1e-12F;
    for (const float value : values) reach = std::max(reach, std::abs(value));
    vectors.push_back({.label = label, .column = column, .color = color, .values = std::move(values), .reach = reach});
  };
  const bool is_rotated = !pair.query_before.empty();
  if (is_rotated) add("q before RoPE", "q before", theme.query, pair.query_before);
  add(is_rotated ? "q after RoPE" : "q, the query", "q", theme.query, pair.factors(&Product::left));
  if (is_rotated) add("k before RoPE", "k before", theme.key, pair.key_before);
  add(is_rotated ? "k after RoPE" : "k, the key", "k", theme.key, pair.factors(&Product::right));
  if (has_products) {
    std::vector<float> products;
    for (const Product& product : pair.chain.products) products.push_back(static_cast<float>(product.value()));
    add("q · k, each product", "q·k", theme.output, std::move(products));
  }
  return vectors;
}

shell::HeatmapImage image_of(const Frame& frame, const Vector& vector) {
  return signed_image(frame, vector.values, 1, vector.reach);
}

/// "component 3 · q −0.124 · k 0.552 · product −0.068", and which component RoPE turns it with.
std::string describe(const NeuronPair& pair, std::uint32_t component) {
  const Product& product = pair.chain.products[component];
  std::string text = fmt::format("component {}\nq {}\nk {}\nproduct {}", component, write_number(double{product.left}),
                                 write_number(double{product.right}), write_number(product.value()));
  if (!pair.rotary) return text;
  const std::optional<std::uint32_t> partner = rotation_partner(*pair.rotary, component);
  return text + (partner ? fmt::format("\nRoPE turns it together with component {}.", *partner)
                         : std::string("\nRoPE leaves this component as it is."));
}

void show_component_tooltip(Frame& frame, const NeuronPair& pair, std::uint32_t component, const chart::Rect& box) {
  const Tooltip tooltip(frame, box);
  write_text(frame.ui.fonts().mono_small, frame.ui.theme().text, describe(pair, component));
}

/// The range of bars: always with zero in it, so that a bar's length is its value.
struct BarRange {
  double low = 0.0, high = 0.0;

  explicit BarRange(std::span<const Product> products) {
    for (const Product& product : products) {
      low = std::min(low, product.value());
      high = std::max(high, product.value());
    }
    if (high - low < 1e-12) high = low + 1e-12;
  }
  /// Where a value is, 0 … 1.
  float place(double value) const { return static_cast<float>((value - low) / (high - low)); }
};

/// A bar from zero, to the right for positive products, with its number at the right end of the area.
void draw_bar(const Frame& frame, const chart::Rect& area, double value, const BarRange& range) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().mono_small;
  const float bars = std::max(area.size.x - kNumberWidth, 8.0F);
  const float zero = area.origin.x + range.place(0.0) * bars;
  const float end = area.origin.x + range.place(value) * bars;
  const float top = area.origin.y + 4.0F;
  const float bottom = area.end().y - 4.0F;
  if (value != 0.0)
    fill_rect({std::min(zero, end), top}, {std::max(zero, end), bottom},
              chart::table(chart::ColorMap::BlueRed)[value < 0.0 ? 48 : 207], 1.5F);
  draw_line({zero, area.origin.y}, {zero, area.end().y}, theme.border);
  const std::string number = write_number(value);
  put_text(font,
           {std::round(area.end().x - text_width(font, number)),
            std::round(area.origin.y + (area.size.y - font_size(font)) * 0.5F)},
           theme.text, number);
}

/// Around cells: colours near the ground's would vanish into it.
void draw_frame(const chart::Rect& cells, shell::Color color, float rounding = 0.0F) {
  outline_rect(cells.origin - 1.0F, cells.end() + 1.0F, color, rounding);
}

void draw_number_cell(const Frame& frame, const chart::Rect& cell, const Vector& vector, const shell::HeatmapImage& image,
                      std::uint32_t component) {
  ImFont* font = frame.ui.fonts().mono_small;
  const float value = vector.values[component];
  const shell::Color ground = color_of(image, value);
  fill_rect(cell, ground, 2.0F);
  draw_frame(cell, frame.ui.theme().border, 2.0F);
  const std::string number = value == 0.0F ? "0" : cell_number(value, 3);
  const glm::vec2 at = cell.origin + (cell.size - glm::vec2(text_width(font, number), font_size(font))) * 0.5F;
  put_text(font, glm::round(at), readable_on(ground), number);
}

void draw_table_head(const Frame& frame, const std::vector<Vector>& vectors, glm::vec2 at, float width) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  put_text(font, at, theme.text_dim, "i");
  float x = at.x + kIndexWidth;
  for (const Vector& vector : vectors) {
    put_text(font, {x + 2.0F, at.y}, vector.color, vector.column);
    x += kCellWidth + 3.0F;
  }
  const char* title = "product qᵢ · kᵢ";
  const float title_x = at.x + width - text_width(font, title);
  put_scale(frame, scale_of_signs(frame), {x + 6.0F, at.y}, title_x - 12.0F);
  put_text(font, {title_x, at.y}, theme.output, title);
}

float product_strips_height(const NeuronPair& pair) {
  return (pair.query_before.empty() ? 3.0F : 5.0F) * (kStripHeight + kStripGap);
}

}  // namespace

void draw_product_strips(Frame& frame, const NeuronPair& pair, std::optional<std::uint32_t>& hovered) {
  const shell::Theme& theme = frame.ui.theme();
  glm::vec2 at = cursor_position();
  const float width = width_left();
  const chart::Rect all{.origin = at + glm::vec2(kStripLabel, 0.0F),
                        .size = {std::max(width - kStripLabel - 1.0F, 8.0F), product_strips_height(pair) - kStripGap}};
  std::uint64_t place = kStripPlace;
  for (const Vector& vector : vectors_of(frame, pair, true)) {
    put_text(frame.ui.fonts().small, {at.x, at.y}, vector.color, vector.label);
    shell::HeatmapImage image = image_of(frame, vector);
    image.key = place++;
    image.area = {.origin = {all.origin.x, at.y}, .size = {all.size.x, kStripHeight}};
    draw_heatmap(frame, image);
    draw_frame(image.area, theme.border);
    at.y += kStripHeight + kStripGap;
  }
  const auto components = static_cast<float>(pair.chain.products.size());
  const float cell = all.size.x / components;
  frame.mark("neuron.strips", all);
  const glm::vec2 mouse = pointer_position();
  if (ImGui::IsWindowHovered() && all.contains(mouse)) {
    hovered = static_cast<std::uint32_t>(std::min((mouse.x - all.origin.x) / cell, components - 1.0F));
    show_component_tooltip(
        frame, pair, *hovered,
        {.origin = {all.origin.x + static_cast<float>(*hovered) * cell, all.origin.y}, .size = {cell, all.size.y}});
  }
  if (hovered && *hovered < pair.chain.products.size()) {
    const float left = all.origin.x + static_cast<float>(*hovered) * cell;
    outline_rect({left - 1.0F, all.origin.y - 1.0F}, {left + cell + 1.0F, all.end().y + 1.0F}, theme.text, 2.0F);
  }
  ImGui::Dummy(ImVec2(width, product_strips_height(pair)));
}

void draw_product_table(Frame& frame, const NeuronPair& pair, std::optional<std::uint32_t>& hovered) {
  const shell::Theme& theme = frame.ui.theme();
  const std::vector<Vector> vectors = vectors_of(frame, pair, false);
  std::vector<shell::HeatmapImage> images;
  for (const Vector& vector : vectors) images.push_back(image_of(frame, vector));
  const BarRange range(pair.chain.products);

  const glm::vec2 head = cursor_position();
  const float inner = width_left() - ImGui::GetStyle().ScrollbarSize;
  draw_table_head(frame, vectors, head, inner);
  ImGui::Dummy(ImVec2(1.0F, kProductHeaderHeight - ImGui::GetStyle().ItemSpacing.y));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0.0F, 0.0F));
  ImGui::BeginChild("products", ImVec2(0.0F, 0.0F), false);
  frame.mark("neuron.products", window_rect());
  ImFont* digits = frame.ui.fonts().mono_small;
  ImGuiListClipper clipper;
  const float height = std::floor(height_left() / static_cast<float>(std::max<std::size_t>(pair.order.size(), 1)));
  const float row_height = height < kLeastRowHeight ? kProductRowHeight : std::min(height, kMostRowHeight);
  clipper.Begin(static_cast<int>(pair.order.size()), row_height);
  while (clipper.Step()) {
    for (int line = clipper.DisplayStart; line < clipper.DisplayEnd; ++line) {
      const auto component = static_cast<std::uint32_t>(pair.order[static_cast<std::size_t>(line)]);
      const glm::vec2 at = cursor_position();
      const chart::Rect row{.origin = at, .size = {inner, row_height}};
      frame.mark(fmt::format("neuron.product.{}", line), row);
      const bool is_pointed = ImGui::IsWindowHovered() && row.contains(pointer_position());
      if (is_pointed) {
        hovered = component;
        show_component_tooltip(frame, pair, component, row);
      }
      if (hovered == component) fill_rect(row, theme.hover);
      const std::string index = fmt::format("{}", component);
      put_text(digits,
               {std::round(at.x + kIndexWidth - 8.0F - text_width(digits, index)),
                std::round(at.y + (row_height - font_size(digits)) * 0.5F)},
               theme.text_dim, index);
      float x = at.x + kIndexWidth;
      for (std::size_t i = 0; i < vectors.size(); ++i) {
        const chart::Rect cell{.origin = {x, at.y + 1.0F}, .size = {kCellWidth, row_height - 2.0F}};
        draw_number_cell(frame, cell, vectors[i], images[i], component);
        x += kCellWidth + 3.0F;
      }
      draw_bar(frame, {.origin = {x + 6.0F, at.y}, .size = {std::max(at.x + inner - x - 6.0F, 1.0F), row_height}},
               pair.chain.products[component].value(), range);
      ImGui::Dummy(ImVec2(1.0F, row_height));
    }
  }
  ImGui::EndChild();
  ImGui::PopStyleVar();
}

std::string compare_with_device(const ScoreChain& chain, bool is_captured) {
  if (!chain.score || !chain.evaluated || !chain.weight || !chain.evaluated_weight) return {};
  const double score = std::abs(*chain.score - double{*chain.evaluated});
  const double weight = std::abs(*chain.weight - double{*chain.evaluated_weight});
  return fmt::format("On the {}: score {}, weight {}. By hand, from the parts: the score agrees to {}, the weight to {}.",
                     is_captured ? "map" : "device", chart::format_exact(*chain.evaluated),
                     chart::format_exact(*chain.evaluated_weight), chart::format_scientific(static_cast<float>(score), 0),
                     chart::format_scientific(static_cast<float>(weight), 0));
}

void draw_chain(Frame& frame, const ScoreChain& chain) {
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8.0F, 1.0F));
  constexpr float kNotesRoom = 380.0F;  // lower: the weight is in sight in place of the notes
  const bool has_notes = height_left() >= kNotesRoom;
  for (std::size_t i = 0; i < chain.lines.size(); ++i) draw_chain_line(frame, chain.lines[i], i, has_notes);
  const std::string compared = compare_with_device(chain, frame.result.capture != nullptr);
  if (!compared.empty()) draw_rich_text(frame, compared, frame.ui.fonts().small, frame.ui.theme().text_dim);
  ImGui::PopStyleVar();
}

void draw_row_of_weights(Frame& frame, attention::Cell cell) {
  const Selection& selection = frame.state.selection;
  const auto row = TileNumbers(frame, selection.block, selection.batch, selection.head).weights_row(cell.query);
  if (!row || !frame.result.input) return;
  const attention::KeyRange keys = key_range(frame);
  const std::vector<float> weights(row->weights.begin(), row->weights.end());
  ImGui::Spacing();
  write_dim(frame, "The weights of the row");
  ImGui::BeginChild("weights");
  const auto key_of = [&](std::size_t at) { return keys.begin + static_cast<std::uint32_t>(at); };
  const std::size_t count = std::min<std::size_t>(keys.end, weights.size()) - keys.begin;
  const std::vector<std::string> names = telling_names(shown_keys(frame), selection.batch);
  TableParts parts{.about = [](std::size_t) { return "Shows how the weight of this key is computed."; }};
  if (cell.key >= keys.begin) parts.chosen = cell.key - keys.begin;
  const TableEvents events = draw_bars(frame, "neuron.weight",
                                       bar_table(
                                           count, [&](std::size_t at) { return names.at(key_of(at)); },
                                           [&](std::size_t at) { return CellNumber(weights[key_of(at)]); }, false, 1.0),
                                       parts);
  if (events.clicked) frame.state.view.pinned = attention::Cell{.query = cell.query, .key = key_of(*events.clicked)};
  ImGui::EndChild();
}

}  // namespace headlight::app
