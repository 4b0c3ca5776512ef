#include "app/state/corpus_settings.h"
#include "app/views/corpus/corpus_parts.h"
#include "app/widgets/finding.h"
#include "export/csv.h"

namespace headlight::app {
namespace {

constexpr float kTableRow = 24.0F, kTableHeader = 26.0F, kNameColumn = 62.0F, kKindRoom = 52.0F, kLabelColumn = 110.0F,
                kMinNumber = 58.0F;

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter; }

/// Whatever the size of ASCII letters.
bool has_part(const std::string& text, const std::string& part) {
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

class CorpusTable {
 public:
  CorpusTable(const CorpusScene& scene, bool is_narrow) : scene_(scene), frame_(scene.frame) {
    const Survey& survey = scene.survey;
    const State& state = scene.frame.state;
    const SurveyColumn *x = &survey.column(state[kCorpusView.x], 0),
                       *y = &survey.column(state[kCorpusView.y], survey.metrics.size() > 1 ? 1 : 0);
    for (const SurveyColumn& column : survey.columns) {
      if (column.is_plane || column.name == "layer" || column.name == "kind") continue;
      const bool is_of_dots =
          &column == x || &column == y || column.name == state[kCorpusView.color] || column.name == state[kCorpusView.order];
      if (!is_narrow || is_of_dots) columns_.push_back(&column);
    }
    has_labels_ = std::ranges::any_of(scene.room.notes(), [](const auto& note) { return !note.second.label.empty(); });
    for (const SurveyColumn* column : columns_) {
      widths_.push_back(
          std::max(std::ceil(text_width(frame_.ui.fonts().small, column->name + "\u2193")) + 10.0F, kMinNumber));
      double most = 1e-9;
      for (const double value : column->values) most = std::isfinite(value) ? std::max(most, std::abs(value)) : most;
      full_.push_back(most);
    }
  }

  float width() const {
    float sum = names_width();
    for (const float width : widths_) sum += width;
    return sum;
  }

  void draw_header() {
    const shell::ControlGroup group(frame_.ui.keyboard(), "titles");
    const ImVec2 start = ImGui::GetCursorScreenPos();
    State& state = frame_.state;
    const std::string order = state[kCorpusView.order];
    const bool is_up = state[kCorpusView.lowest_first];
    if (draw_title("head", "corpus.order.head", "Orders by layer and head.", start, name_width(), order.empty())) {
      state.set(kCorpusView.lowest_first, order.empty() && !is_up);
      state.set(kCorpusView.order, {});
    }
    float x = start.x + names_width();
    for (std::size_t i = 0; i < columns_.size(); x += widths_[i++]) {
      const std::string& name = columns_[i]->name;
      if (!draw_title(name, "corpus.order." + name, column_help(scene_.survey, name), {x, start.y}, widths_[i],
                      order == name))
        continue;
      state.set(kCorpusView.lowest_first, order == name && !is_up);
      state.set(kCorpusView.order, name);
    }
    ImGui::SetCursorScreenPos(start);
    ImGui::Dummy({width(), kTableHeader});
  }

  void draw_row(std::size_t head, float y) {
    const shell::Theme& theme = frame_.ui.theme();
    const float left = ImGui::GetCursorScreenPos().x;
    ImGui::SetCursorScreenPos({left, y});
    const std::string name = fmt::format("corpus.row.{}", scene_.survey.name(head));
    if (click_area(name.c_str(), {width(), kTableRow})) scene_.choose(head);
    const bool is_hovered = ImGui::IsItemHovered(), is_chosen = head == scene_.chosen();
    if (is_hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) scene_.open(head);
    mark_last_item(frame_, name, "Click: selects the head. Double click: its page.");
    if (is_chosen) frame_.ui.keyboard().prefer_last();
    if (is_chosen || is_hovered) {
      fill_rect({left, y}, {left + width(), y + kTableRow}, is_chosen ? theme.active : theme.hover, 3.0F);
    }
    ImFont *body = frame_.ui.fonts().body, *mono = frame_.ui.fonts().mono;
    put_text(body, {left + 4.0F, text_y(body, y)}, theme.text, scene_.survey.name(head));
    if (const HeadNote* note = has_labels_ ? scene_.note(head) : nullptr) {
      frame_.ui.ensure_glyphs(note->label);
      put_text(frame_.ui.fonts().small, {left + name_width(), text_y(frame_.ui.fonts().small, y)}, theme.text_dim,
               fit_text(frame_.ui.fonts().small, note->label, kLabelColumn - 6.0F));
    }
    float x = left + names_width();
    for (std::size_t i = 0; i < columns_.size(); x += widths_[i++]) {
      const double value = columns_[i]->values[head];
      put_text(mono, {x + 4.0F, text_y(mono, y)}, std::isfinite(value) ? theme.text : theme.text_dim,
               column_number(*columns_[i], head));
      const auto share =
          static_cast<float>(std::isfinite(value) && !columns_[i]->is_plane ? std::abs(value) / full_[i] : 0.0);
      if (share <= 0.0F) continue;
      fill_rect({x, y + kTableRow - 4.0F}, {x + (widths_[i] - 10.0F) * share, y + kTableRow - 1.0F}, theme.output, 1.0F);
    }
  }

 private:
  static float text_y(const ImFont* font, float y) { return std::round(y + (kTableRow - 3.0F - font_size(font)) * 0.5F); }
  float name_width() const { return kNameColumn + (scene_.survey.layout.has_kinds() ? kKindRoom : 0.0F); }
  float names_width() const { return name_width() + (has_labels_ ? kLabelColumn : 0.0F); }

  bool draw_title(const std::string& title, const std::string& name, const std::string& help, ImVec2 at, float room,
                  bool is_order) {
    const shell::Theme& theme = frame_.ui.theme();
    ImGui::SetCursorScreenPos(at);
    const bool is_clicked = click_area(name.c_str(), {room, kTableHeader});
    const shell::Color color = is_order ? theme.accent : ImGui::IsItemHovered() ? theme.text : theme.text_dim;
    mark_last_item(frame_, name, help.c_str());
    if (is_order) frame_.ui.keyboard().prefer_last();
    const bool is_up = frame_.state[kCorpusView.lowest_first] != (title == "head");
    put_text(frame_.ui.fonts().small, {at.x + 4.0F, at.y + 5.0F}, color,
             is_order ? title + (is_up ? "\u2191" : "\u2193") : title);
    return is_clicked;
  }

  const CorpusScene& scene_;
  Frame& frame_;
  std::vector<const SurveyColumn*> columns_;
  std::vector<float> widths_;
  std::vector<double> full_;  ///< of whole bars
  bool has_labels_ = false;
};

}  // namespace

std::vector<std::size_t> listed_heads(const Survey& survey, const Choices& choices, const HeadNotes& notes,
                                      std::span<const std::size_t> lasso, const std::string& search) {
  std::vector<std::size_t> heads;
  for (std::size_t head = 0; head < survey.count(); ++head) {
    if (!lasso.empty() && !std::ranges::binary_search(lasso, head)) continue;
    const auto note = notes.find(survey.name(head));
    if (has_part(survey.name(head), search) || (note != notes.end() && has_part(note->second.label, search))) {
      heads.push_back(head);
    }
  }
  const auto order = std::ranges::find(survey.columns, choices[kCorpusView.order], &SurveyColumn::name);
  if (order == survey.columns.end()) {
    if (choices[kCorpusView.lowest_first]) std::ranges::reverse(heads);
    return heads;
  }
  const double sign = choices[kCorpusView.lowest_first] ? 1.0 : -1.0;
  std::ranges::stable_sort(heads, {}, [&](std::size_t head) {  // those without a number come last
    const double value = order->values[head];
    return std::isfinite(value) ? sign * value : std::numeric_limits<double>::infinity();
  });
  return heads;
}

void HeadTableView::draw(const CorpusScene& scene, bool is_narrow) {
  CorpusTable table(scene, is_narrow);
  const bool is_wide = table.width() > ImGui::GetContentRegionAvail().x;
  begin_bare_region("table", {0.0F, 0.0F},
                    ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoNav |
                        (is_wide ? ImGuiWindowFlags_HorizontalScrollbar : ImGuiWindowFlags_None));
  table.draw_header();
  begin_bare_region("rows", {table.width() + ImGui::GetStyle().ScrollbarSize, 0.0F});
  const shell::ControlGroup group(scene.frame.ui.keyboard(), "heads");
  if (std::exchange(shown_, scene.chosen()) != scene.chosen()) {
    const auto at = std::ranges::find(scene.listed, scene.chosen());
    const float top = kTableRow * static_cast<float>(at - scene.listed.begin());
    if (at != scene.listed.end()) scroll_into_view(top, top + kTableRow);
  }
  if (scene.listed.empty()) write_note(scene.frame, "No head has this name or label.");
  draw_rows(scene.listed.size(), kTableRow, 1.0F, [&](std::size_t row, float y) { table.draw_row(scene.listed[row], y); });
  ImGui::EndChild();
  ImGui::EndChild();
}

std::string corpus_csv(const Survey& survey, std::span<const std::size_t> heads, const HeadNotes& notes) {
  const bool has_kinds = survey.layout.has_kinds();
  const auto is_number = [](const SurveyColumn& column) { return column.name != "layer" && column.name != "kind"; };
  std::string csv = has_kinds ? "name,kind,layer,head,label" : "name,layer,head,label";
  for (const SurveyColumn& column : survey.columns) {
    if (is_number(column)) csv += "," + exporting::csv_field(column.name);
  }
  for (const std::size_t head : heads) {
    const auto note = notes.find(survey.name(head));
    const HeadRef of = survey.layout.at(head);
    csv += fmt::format("\n{},{}{},{},{}", survey.name(head),
                       has_kinds ? fmt::format("{},", model::to_string(of.block.kind)) : "", of.block.layer.value, of.head,
                       note == notes.end() ? "" : exporting::csv_field(note->second.label));
    for (const SurveyColumn& column : survey.columns) {
      if (!is_number(column)) continue;
      csv += std::isfinite(column.values[head]) ? "," + exporting::table_number(column.values[head]) : ",";
    }
  }
  return csv + "\n";
}

}  // namespace headlight::app
