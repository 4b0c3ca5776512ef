#include <cfloat>

#include "app/widgets/controls.h"
#include "chart/ellipsis.h"

namespace headlight::app {
namespace {

/// A piece that is never broken: a part of a word, or a formula.
struct Piece {
  std::string text;
  bool is_bold = false, is_formula = false, is_code = false;
  bool may_break = false;  ///< a line may end before it
  bool has_space = false;  ///< before it
  std::uint8_t mark = 0;   ///< of a sentence
};

/// Two lines of a sentence are closer to each other, and to what is above and below them, than others.
constexpr float kSentenceSpacing = 2.0F, kSentenceRise = 5.0F;

/// Bytes of UTF-8 have the order of their characters.
constexpr std::string_view kFirstIdeograph = "\u2E80", kLastIdeograph = "\uFFEF";

/// Splits at `**`, `$`, backticks and marks of sentences, then at spaces and around ideographs.
class Splitter {
 public:
  explicit Splitter(std::string_view text) {
    while (!text.empty()) {
      const bool is_mark = text.starts_with("**"), is_formula = text.front() == '$';
      const bool is_code = text.front() == '`';
      const std::size_t end = is_formula || is_code ? text.find(text.front(), 1) : std::string_view::npos;
      const auto mark = static_cast<std::uint8_t>(text.front());
      const std::size_t word_end = text.find(kWordEnd);
      if (mark > 0 && mark < kWordEnd && word_end != std::string_view::npos) {
        const std::string_view word = text.substr(1, word_end - 1);
        mark == kNumberMark ? add(word, false, mark) : add(fmt::format("\u201C{}\u201D", word), false, mark);
        text.remove_prefix(word_end + 1);
      } else if (is_mark && (is_bold_ || text.find("**", 2) != std::string_view::npos)) {
        is_bold_ = !is_bold_;
        text.remove_prefix(2);
      } else if (end != std::string_view::npos && end > 1) {
        add(text.substr(1, end - 1), is_formula);
        pieces_.back().is_code = is_code;
        text.remove_prefix(end + 1);
      } else {
        const std::size_t rest = std::min({text.find("**", 1), text.find_first_of("$`\1\2\3\4", 1), text.size()});
        add_words(text.substr(0, rest));
        text.remove_prefix(rest);
      }
    }
  }
  std::vector<Piece> take() { return std::move(pieces_); }

 private:
  void add(std::string_view text, bool is_formula, std::uint8_t mark = 0) {
    pieces_.push_back({.text = std::string(text),
                       .is_bold = (is_bold_ || mark != 0) && !is_formula,
                       .is_formula = is_formula,
                       .may_break = had_space_ || after_ideograph_,
                       .has_space = had_space_,
                       .mark = mark});
    had_space_ = after_ideograph_ = false;
  }

  void add_words(std::string_view text) {
    std::size_t begin = 0;
    const auto end_word = [&](std::size_t end) {
      if (end > begin) add(text.substr(begin, end - begin), false);
      begin = end;
    };
    for (std::size_t at = 0; at < text.size();) {
      const std::string_view character = text.substr(at, utf8_sequence(text, at).length);
      const std::size_t next = at + character.size();
      if (character == " " || character == "\n") {
        end_word(at);
        begin = next;
        had_space_ = true;
      } else if (character.size() == kFirstIdeograph.size() && character >= kFirstIdeograph && character <= kLastIdeograph) {
        end_word(at);
        after_ideograph_ = true;
        end_word(next);
        after_ideograph_ = true;
      }
      at = next;
    }
    end_word(text.size());
  }

  std::vector<Piece> pieces_;
  bool is_bold_ = false, had_space_ = false, after_ideograph_ = false;
};

constexpr float kScriptSize = 0.8F;

/// Returns the script after '_' or '^': "{…}" with its braces balanced, or one character. Moves `text` after it.
std::string_view take_script(std::string_view& text) {
  if (text.empty() || text.front() != '{') {
    const std::string_view script = text.substr(0, text.empty() ? 0 : utf8_sequence(text, 0).length);
    text.remove_prefix(script.size());
    return script;
  }
  int depth = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (text[end] == '{') ++depth;
    if (text[end] == '}' && --depth == 0) break;
  }
  const std::string_view script = text.substr(1, end - 1);
  text.remove_prefix(std::min(end + 1, text.size()));
  return script;
}

/// Lays out a formula from left to right; without a colour it only measures.
class Typesetter {
 public:
  Typesetter(const shell::FontSet& fonts, shell::Color color) : fonts_(fonts), color_(color) {}

  /// Returns where the text ends.
  float set(std::string_view formula, ImFont* font, float size, float x, float y) {
    while (!formula.empty()) {
      const std::size_t plain = std::min(formula.find_first_of("_^"), formula.size());
      if (plain > 0) x = put(formula.substr(0, plain), font, size, x, y);
      formula.remove_prefix(plain);
      if (formula.empty()) break;
      const bool is_raised = formula.front() == '^';
      formula.remove_prefix(1);
      const std::string_view script = take_script(formula);
      const float small = std::round(size * kScriptSize);
      const float shift = is_raised ? -0.14F * size : size - small + 0.14F * size;
      x = set(script, fonts_.small, small, x + 0.5F, y + shift) + 0.5F;
    }
    return x;
  }

 private:
  float put(std::string_view text, ImFont* font, float size, float x, float y) {
    const char* begin = text.data();
    const char* end = begin + text.size();
    if (color_ != 0) ImGui::GetWindowDrawList()->AddText(font, size, {x, y}, color_, begin, end);
    return x + font->CalcTextSizeA(size, FLT_MAX, 0.0F, begin, end).x;
  }

  const shell::FontSet& fonts_;
  shell::Color color_;
};

}  // namespace

void write_text(ImFont* font, shell::Color color, std::string_view text) {
  const TextStyleScope ink(font, color);
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
}

void write_dim(const Frame& frame, std::string_view text) {
  write_text(frame.ui.fonts().small, frame.ui.theme().text_dim, text);
}

void write_strong(const Frame& frame, std::string_view text) {
  write_text(frame.ui.fonts().strong, frame.ui.theme().text, text);
}

void write_label(ImFont* font, shell::Color color, std::string_view text) {
  const TextStyleScope ink(font, color);
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
}

void write_wrapped(ImFont* font, shell::Color color, std::string_view text, float end) {
  ImGui::PushTextWrapPos(end);
  write_text(font, color, text);
  ImGui::PopTextWrapPos();
}

void put_text(ImFont* font, glm::vec2 at, shell::Color color, std::string_view text) {
  ImGui::GetWindowDrawList()->AddText(font, font_size(font), at, color, text.data(), text.data() + text.size());
}

void fill_rect(glm::vec2 low, glm::vec2 high, shell::Color color, float rounding) {
  ImGui::GetWindowDrawList()->AddRectFilled(low, high, color, rounding);
}

void fill_rect(const chart::Rect& rect, shell::Color color, float rounding) {
  fill_rect(rect.origin, rect.end(), color, rounding);
}

void outline_rect(glm::vec2 low, glm::vec2 high, shell::Color color, float rounding, float thickness) {
  ImGui::GetWindowDrawList()->AddRect(low, high, color, rounding, 0, thickness);
}

void outline_rect(const chart::Rect& rect, shell::Color color, float rounding, float thickness) {
  outline_rect(rect.origin, rect.end(), color, rounding, thickness);
}

void draw_line(glm::vec2 from, glm::vec2 to, shell::Color color, float thickness) {
  ImGui::GetWindowDrawList()->AddLine(from, to, color, thickness);
}

float text_width(ImFont* font, const std::string& text) {
  return font->CalcTextSizeA(font_size(font), FLT_MAX, 0.0F, text.data(), text.data() + text.size()).x;
}

std::string fit_text(ImFont* font, const std::string& text, float room) {
  return chart::shorten(text, room, [font](std::string_view part) {
    return font->CalcTextSizeA(font_size(font), FLT_MAX, 0.0F, part.data(), part.data() + part.size()).x;
  });
}

std::vector<std::string> break_lines(ImFont* font, const std::string& text, float width) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const std::string longer = line.empty() ? word : fmt::format("{} {}", line, word);
    if (!line.empty() && text_width(font, longer) > width) {
      lines.push_back(std::move(line));
      line = word;
    } else {
      line = longer;
    }
    begin = end + 1;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

void draw_turned_text(ImFont* font, glm::vec2 start, glm::vec2 direction, shell::Color color, const std::string& text) {
  // Laid out horizontally, then rotated: ImGui 1.86 has no rotated text. It drops glyphs outside of the clip rectangle
  // before the rotation, so here the rectangle has no limits; the drawn vertices stay inside the list's own.
  constexpr float kFar = 1e6F;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const int first = list->VtxBuffer.Size;
  font->RenderText(list, font_size(font), start, color, ImVec4(-kFar, -kFar, kFar, kFar), text.data(),
                   text.data() + text.size());
  const glm::vec2 across(-direction.y, direction.x);
  const glm::vec2 middle(0.0F, font_size(font) * 0.5F);
  for (int i = first; i < list->VtxBuffer.Size; ++i) {
    ImVec2& at = list->VtxBuffer[i].pos;
    const glm::vec2 from_start = to_glm(at) - start - middle;
    at = start + from_start.x * direction + from_start.y * across;
  }
}

glm::vec2 measure_math(const shell::FontSet& fonts, ImFont* base, std::string_view formula) {
  return {Typesetter(fonts, 0).set(formula, base, font_size(base), 0.0F, 0.0F), font_size(base)};
}

float draw_math(const shell::FontSet& fonts, ImFont* base, glm::vec2 top_left, shell::Color color,
                std::string_view formula) {
  return Typesetter(fonts, color).set(formula, base, font_size(base), top_left.x, top_left.y) - top_left.x;
}

void draw_view_title(Frame& frame, const std::string& title, float room) {
  ImFont* font = frame.ui.fonts().title;
  frame.ui.ensure_glyphs(title);
  const TextStyleScope ink(font, frame.ui.theme().text);
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(fit_text(font, title, room > 0.0F ? room : width_left()).c_str());
  frame.mark("view.title", last_item_rect());
}

void write_pair(const Frame& frame, const std::string& name, const std::string& number) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  const glm::vec2 at = cursor_position();
  const float width = width_left(), number_width = text_width(font, number);
  put_text(font, at, theme.text_dim, fit_text(font, name, width - number_width - 8.0F));
  put_text(font, {at.x + width - number_width, at.y}, theme.text, number);
  ImGui::Dummy({width, font_size(font) + 1.0F});
}

void draw_title_note(Frame& frame, const std::string& note) {
  const shell::FontSet& fonts = frame.ui.fonts();
  const float down = ImGui::GetStyle().FramePadding.y + std::round(font_ascent(fonts.title) - font_ascent(fonts.small));
  const glm::vec2 at = cursor_position() + glm::vec2(0.0F, down);
  put_text(fonts.small, at, frame.ui.theme().text_dim, note);
  // An item that leaves the line where it is, for what follows in it.
  ImGui::Dummy(ImVec2(text_width(fonts.small, note), font_size(fonts.small)));
}

void draw_empty_note(Frame& frame, const std::string& name, const std::string& title, const std::string& text) {
  const float width = std::min(width_left() - 32.0F, 460.0F);
  const float left = ImGui::GetCursorPosX() + std::round((width_left() - width) * 0.5F);
  ImGui::SetCursorPos({left, std::round(ImGui::GetWindowHeight() * 0.34F)});
  write_wrapped(frame.ui.fonts().title, frame.ui.theme().text, title, left + width);
  frame.mark(name, last_item_rect());
  ImGui::SetCursorPosX(left);
  draw_rich_text(frame, text, frame.ui.fonts().body, frame.ui.theme().text_dim, width);
  frame.transient.in_place = fmt::format("{}: {}", title, text);
  frame.transient.shows_nothing = true;
}

void go_below_note() {
  const float left = ImGui::GetItemRectMin().x;
  ImGui::Spacing();
  ImGui::SetCursorScreenPos({left, ImGui::GetCursorScreenPos().y});
}

void draw_rich_text(Frame& frame, const std::string& text, ImFont* font, shell::Color color, float width_of_lines) {
  frame.ui.ensure_glyphs(text);
  const shell::FontSet& fonts = frame.ui.fonts();
  const std::vector<Piece> pieces = Splitter(text).take();
  const std::array colors = {color, frame.ui.theme().query, frame.ui.theme().key, color, color};  // by mark
  const auto font_of = [&](const Piece& piece) { return piece.is_code ? fonts.mono : piece.is_bold ? fonts.strong : font; };
  const auto width_of = [&](const Piece& piece) {
    return piece.is_formula ? measure_math(fonts, font, piece.text).x : text_width(font_of(piece), piece.text);
  };
  const glm::vec2 origin = cursor_position();
  const float room = std::max(width_of_lines > 0.0F ? width_of_lines : width_left(), 1.0F);
  const float space = text_width(font, " ");
  const float line = font_size(font) + ImGui::GetStyle().ItemSpacing.y * 0.5F;
  glm::vec2 at(0.0F);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (piece.has_space && at.x > 0.0F) at.x += space;
    // The pieces up to the next place where a line may end are measured together.
    float width = width_of(piece);
    for (std::size_t next = i + 1; next < pieces.size() && !pieces[next].may_break; ++next) width += width_of(pieces[next]);
    if (piece.may_break && at.x > 0.0F && at.x + width > room) at = {0.0F, at.y + line};
    const glm::vec2 corner = glm::round(origin + at);
    if (piece.is_formula) {
      draw_math(fonts, font, corner, color, piece.text);
    } else {
      put_text(font_of(piece), corner, colors.at(piece.mark), piece.text);
    }
    at.x += width_of(piece);
  }
  ImGui::Dummy({room, at.y + line});
}

void place_sentence(Frame& frame, float below, float width) {
  const float line = font_size(frame.ui.fonts().body) + kSentenceSpacing * 0.5F;  // as draw_rich_text() has it
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + below - kSentenceRise);
  ImGui::Dummy({width > 0.0F ? width : width_left(), 2.0F * line - kSentenceRise});
  frame.sentence_place = last_item_rect();
}

void draw_sentence(Frame& frame, const Sentence& sentence) {
  const chart::Rect& place = frame.sentence_place;
  if (place.is_empty() || sentence.empty()) return;
  frame.mark("view.sentence", place);
  ImGui::SetCursorScreenPos(place.origin);
  ImGui::PushClipRect(place.origin, place.end() + 2.0F + kSentenceRise, true);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(ImGui::GetStyle().ItemSpacing.x, kSentenceSpacing));
  draw_rich_text(frame, sentence, frame.ui.fonts().body, frame.ui.theme().text, place.size.x);
  ImGui::PopStyleVar();
  ImGui::PopClipRect();
  if (last_item_rect().size.y > place.size.y + kSentenceRise) explain_last_item(frame, plain_text(sentence).c_str());
}

}  // namespace headlight::app
