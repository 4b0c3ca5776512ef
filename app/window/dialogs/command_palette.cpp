#include "app/window/dialogs/command_palette.h"

#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

constexpr float kWidth = 680.0F;
constexpr float kMargin = 16.0F;  // between the palette and the window's edges
constexpr float kPadding = 8.0F;
constexpr float kRowHeight = 30.0F;
constexpr float kFootHeight = 26.0F;
constexpr float kInset = 10.0F;  // of a row's text
constexpr float kGap = 12.0F;    // between the texts of a row
constexpr std::size_t kMaxRows = 12;
constexpr std::size_t kMaxHits = 200;

/// The style of a text, and of those of its letters that the query matched.
struct MarkedInk {
  ImFont* font;
  ImFont* marked_font;  ///< in the accent colour
  shell::Color color;
};

/// Returns where the text ends.
float draw_marked_text(Frame& frame, ImVec2 at, const std::string& text, const std::vector<ByteRange>& marks,
                       const MarkedInk& ink) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto draw = [&](std::size_t begin, std::size_t end, bool is_marked) {
    if (begin >= end) return;
    ImFont* used = is_marked ? ink.marked_font : ink.font;
    const float size = font_size(ink.font);
    const char* first = text.data() + begin;
    const char* last = text.data() + end;
    list->AddText(used, size, at, is_marked ? frame.ui.theme().accent : ink.color, first, last);
    at.x += used->CalcTextSizeA(size, FLT_MAX, 0.0F, first, last).x;
  };
  std::size_t done = 0;
  for (const ByteRange& mark : marks) {
    const std::size_t begin = std::min(mark.begin, text.size()), end = std::min(mark.end, text.size());
    draw(done, begin, false);
    draw(begin, end, true);
    done = end;
  }
  draw(done, text.size(), false);
  return at.x;
}

void draw_text(ImFont* font, ImVec2 at, shell::Color color, const std::string& text) { put_text(font, at, color, text); }

/// Returns the first of some words, by commas, that begins with what was typed: "“Swap”". Empty: none does.
std::string word_with(std::string_view words, std::string_view query) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  while (!query.empty() && !words.empty()) {
    const std::string_view word = words.substr(0, words.find(','));
    if (word.size() >= query.size() && std::ranges::equal(word.substr(0, query.size()), query, {}, lower, lower)) {
      return fmt::format("\u201C{}\u201D", word);
    }
    words.remove_prefix(std::min(words.size(), word.size() + 2));
  }
  return {};
}

}  // namespace

void CommandPalette::open(std::vector<PaletteEntry> entries) {
  query_.clear();
  selected_ = 0;
  is_open_ = is_appearing_ = true;
  replace(std::move(entries));
}

void CommandPalette::replace(std::vector<PaletteEntry> entries) {
  const std::string chosen = selected_ < hits_.size() ? entries_[hits_[selected_].entry].id : std::string();
  entries_ = std::move(entries);
  std::vector<SearchText> texts;
  texts.reserve(entries_.size());
  // An entry is found by its kind ("Example", "Lesson"), too.
  std::vector<std::string> details;
  details.reserve(entries_.size());
  for (const PaletteEntry& entry : entries_) {
    details.push_back(fmt::format("{} {} {}", entry.detail, entry.kind, entry.words));
    texts.push_back({.title = entry.title, .detail = details.back()});
  }
  index_.assign(texts);
  search();
  if (is_appearing_) return;
  const auto is_chosen = [&](const SearchHit& hit) { return entries_[hit.entry].id == chosen; };
  const auto found = std::ranges::find_if(hits_, is_chosen);
  if (found != hits_.end()) selected_ = static_cast<std::size_t>(found - hits_.begin());
}

void CommandPalette::search() {
  hits_ = index_.search(query_, kMaxHits);
  selected_ = 0;
  scrolls_to_row_ = true;
}

std::optional<PaletteEntry> CommandPalette::draw(Frame& frame, const std::string& remark) {
  constexpr const char* kName = "palette";
  if (!is_open_) return std::nullopt;
  if (is_appearing_) ImGui::OpenPopup(kName);
  const float width = std::min(kWidth, frame.ui.size().x - 2.0F * kMargin);
  const float top = std::round(std::clamp(frame.ui.size().y * 0.1F, ImGui::GetFrameHeight() + 4.0F, 96.0F));
  const float field = ImGui::GetFrameHeight() + 2.0F * kPadding;
  const float room = frame.ui.size().y - top - kMargin - field - kFootHeight - kPadding;
  const auto fitting = static_cast<std::size_t>(std::max(room / kRowHeight, 1.0F));
  const std::size_t rows = std::clamp<std::size_t>(hits_.size(), 1, std::min(fitting, kMaxRows));
  const float list = static_cast<float>(rows) * kRowHeight;
  ImGui::SetNextWindowPos({std::round((frame.ui.size().x - width) * 0.5F), top});
  ImGui::SetNextWindowSize({width, field + list + kFootHeight + kPadding});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(kPadding, kPadding));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(kPadding, kPadding));
  const bool is_visible = ImGui::BeginPopup(kName, ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoScrollbar);
  ImGui::PopStyleVar(2);
  if (!is_visible) {  // a click beside it closes it
    is_open_ = false;
    return std::nullopt;
  }
  bool is_chosen = false;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(kPadding, 0.0F));
  draw_query(frame, is_chosen);
  scrolls_to_row_ = move_mark(frame, selected_, hits_.size(), rows) || scrolls_to_row_;
  is_chosen = draw_list(frame, list) || is_chosen;
  draw_foot(frame, remark);
  ImGui::PopStyleVar();
  is_appearing_ = false;
  std::optional<PaletteEntry> choice;
  if (is_chosen && selected_ < hits_.size()) {
    choice = entries_[hits_[selected_].entry];
    is_open_ = false;
  }
  if (!is_open_) ImGui::CloseCurrentPopup();
  ImGui::EndPopup();
  return choice;
}

void CommandPalette::draw_query(Frame& frame, bool& is_confirmed) {
  const std::string before = query_;
  // A click on the list's ground, or Enter where nothing was found, takes the keyboard away; the user's typing is meant for
  // the field nevertheless.
  const bool has_lost = had_keyboard_ && !frame.ui.is_typing() && !ImGui::IsAnyMouseDown();
  had_keyboard_ = frame.ui.is_typing();
  const bool takes_keyboard = is_appearing_ || has_lost;
  is_confirmed = frame.ui.text_field("##query", query_,
                                     {.focus = takes_keyboard ? shell::FieldFocus::AtEnd : shell::FieldFocus::None,
                                      .passes_escape = true,
                                      .passes_list_keys = true,
                                      .hint = "A command, a model, a notebook, an example, or a head as in L1H4",
                                      .enter_confirms = true,
                                      .limit = 256});
  frame.mark("palette.query", last_item_rect());
  if (query_ != before) search();
  ImGui::Dummy({1.0F, kPadding});
}

bool CommandPalette::draw_list(Frame& frame, float height) {
  kind_width_ = 0.0F;
  for (const SearchHit& hit : hits_) {
    kind_width_ = std::max(kind_width_, text_width(frame.ui.fonts().small, entries_[hit.entry].kind));
  }
  bool was_clicked = false;
  ImGui::BeginChild("list", {0.0F, height});
  if (hits_.empty()) {
    ImGui::SetCursorPos({kInset, std::round((kRowHeight - font_size(frame.ui.fonts().body)) * 0.5F)});
    const TextStyleScope ink(frame.ui.fonts().body, frame.ui.theme().text_dim);
    const std::string text = fmt::format("Nothing is called \u201C{}\u201D", query_);
    ImGui::TextUnformatted(fit_text(frame.ui.fonts().body, text, ImGui::GetContentRegionAvail().x - kInset).c_str());
    frame.mark("palette.empty", last_item_rect());
  }
  const float scroll = ImGui::GetScrollY();
  for (std::size_t row = 0; row < hits_.size(); ++row) {
    const float top = static_cast<float>(row) * kRowHeight;
    if (top + kRowHeight > scroll && top < scroll + height) was_clicked = draw_row(frame, row) || was_clicked;
  }
  if (!hits_.empty()) {
    ImGui::SetCursorPos({0.0F, static_cast<float>(hits_.size()) * kRowHeight - 1.0F});
    ImGui::Dummy({1.0F, 1.0F});  // the list is as long as all rows
    if (std::exchange(scrolls_to_row_, false)) {
      const float top = static_cast<float>(selected_) * kRowHeight;
      if (top < scroll) ImGui::SetScrollY(top);
      if (top + kRowHeight > scroll + height) ImGui::SetScrollY(top + kRowHeight - height);
      frame.ui.request_redraw(2);
    }
  }
  ImGui::EndChild();
  return was_clicked;
}

bool CommandPalette::draw_row(Frame& frame, std::size_t row) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const PaletteEntry& entry = entries_[hits_[row].entry];
  const std::string word = word_with(entry.words, query_);
  frame.ui.ensure_glyphs(entry.title);
  frame.ui.ensure_glyphs(entry.detail);
  frame.ui.ensure_glyphs(word);
  ImGui::SetCursorPos({0.0F, static_cast<float>(row) * kRowHeight});
  const ImVec2 low = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const ImVec2 high(low.x + width, low.y + kRowHeight);
  ImGui::PushID(static_cast<int>(row));
  const bool was_clicked = click_area("row", {width, kRowHeight});
  ImGui::PopID();
  frame.mark(fmt::format("palette.{}", row), last_item_rect());
  const ImGuiIO& io = ImGui::GetIO();
  const bool has_moved = io.MouseDelta.x != 0.0F || io.MouseDelta.y != 0.0F;
  if (ImGui::IsItemHovered() && (has_moved || was_clicked)) selected_ = row;
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (row == selected_) list->AddRectFilled(low, high, theme.active, 5.0F);

  const float body_y = low.y + std::round((kRowHeight - font_size(fonts.body)) * 0.5F);
  const float small_y = low.y + std::round((kRowHeight - font_size(fonts.small)) * 0.5F);
  draw_text(fonts.small, {high.x - kInset - kind_width_, small_y}, theme.text_dim, entry.kind);
  float end = high.x - kInset - kind_width_ - kGap;
  if (!entry.keys.empty()) {
    const float keys = text_width(fonts.mono, entry.keys);
    const float mono_y = low.y + std::round((kRowHeight - font_size(fonts.mono)) * 0.5F);
    draw_text(fonts.mono, {end - keys, mono_y}, theme.text_dim, entry.keys);
    end -= keys + kGap;
  }
  const SearchMarks marks = index_.marks(query_, hits_[row].entry);
  list->PushClipRect({low.x, low.y}, {std::max(end, low.x), high.y}, true);
  const float title =
      draw_marked_text(frame, {low.x + kInset, body_y}, entry.title, marks.title, {fonts.body, fonts.strong, theme.text});
  const float detail = draw_marked_text(frame, {title + kGap, small_y}, entry.detail, marks.detail,
                                        {fonts.small, fonts.small, theme.text_dim});
  if (!word.empty()) draw_text(fonts.small, {detail + kGap, small_y}, theme.text_dim, word);
  list->PopClipRect();
  const bool is_last_recent =
      query_.empty() && entry.is_recent && row + 1 < hits_.size() && !entries_[hits_[row + 1].entry].is_recent;
  if (is_last_recent) list->AddLine({low.x, high.y - 0.5F}, {high.x, high.y - 0.5F}, theme.border);
  return was_clicked;
}

void CommandPalette::draw_foot(Frame& frame, const std::string& remark) const {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  const ImVec2 window = ImGui::GetWindowPos();
  const float bottom = window.y + ImGui::GetWindowHeight() - kPadding;
  const float line = bottom - kFootHeight + 4.0F;
  const float right = window.x + ImGui::GetWindowWidth();
  ImGui::GetWindowDrawList()->AddLine({window.x, line}, {right, line}, theme.border);
  const float y = line + std::round((bottom + kPadding - line - font_size(font)) * 0.5F);
  const std::string keys = remark.empty() ? "\u2191 \u2193 choose \u00B7 Enter run \u00B7 Esc close" : remark;
  const float keys_width = text_width(font, keys);
  draw_text(font, {right - kPadding - kInset - keys_width, y}, theme.text_dim, keys);
  if (selected_ >= hits_.size()) return;
  const float left = window.x + kPadding + kInset;
  const float room = right - kPadding - kInset - keys_width - kGap - left;
  if (room > 0.0F) draw_text(font, {left, y}, theme.text, fit_text(font, entries_[hits_[selected_].entry].help, room));
}

}  // namespace headlight::app
