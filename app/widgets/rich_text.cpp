#include "app/widgets/rich_text.h"

#include "app/widgets/controls.h"
#include "core/utf8.h"

namespace headlight::app {
namespace {

/// What is never broken: a part of a word, or a formula.
struct Piece {
  std::string text;
  bool is_bold = false, is_formula = false;
  bool may_break = false;  ///< a line may end before it
  bool has_space = false;  ///< before it
};

/// Bytes of UTF-8 have the order of their characters.
constexpr std::string_view kFirstIdeograph = "\u2E80", kLastIdeograph = "\uFFEF";

/// Splits at `**` and `$`, then at spaces and around ideographs.
class Splitter {
 public:
  explicit Splitter(std::string_view text) {
    while (!text.empty()) {
      const bool is_mark = text.starts_with("**"), is_formula = text.front() == '$';
      const std::size_t end = is_formula ? text.find('$', 1) : std::string_view::npos;
      if (is_mark && (is_bold_ || text.find("**", 2) != std::string_view::npos)) {
        is_bold_ = !is_bold_;
        text.remove_prefix(2);
      } else if (is_formula && end != std::string_view::npos && end > 1) {
        add(text.substr(1, end - 1), true);
        text.remove_prefix(end + 1);
      } else {
        const std::size_t rest = std::min({text.find("**", 1), text.find('$', 1), text.size()});
        add_words(text.substr(0, rest));
        text.remove_prefix(rest);
      }
    }
  }
  std::vector<Piece> take() { return std::move(pieces_); }

 private:
  void add(std::string_view text, bool is_formula) {
    pieces_.push_back({.text = std::string(text),
                       .is_bold = is_bold_ && !is_formula,
                       .is_formula = is_formula,
                       .may_break = had_space_ || after_ideograph_,
                       .has_space = had_space_});
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

}  // namespace

void draw_rich_text(Frame& frame, const std::string& text, ImFont* font, shell::Color color) {
  frame.ui.ensure_glyphs(text);
  const shell::FontSet& fonts = frame.ui.fonts();
  const std::vector<Piece> pieces = Splitter(text).take();
  const auto font_of = [&](const Piece& piece) { return piece.is_bold ? fonts.strong : font; };
  const auto width_of = [&](const Piece& piece) {
    return piece.is_formula ? measure_math(fonts, font, piece.text).x : text_width(font_of(piece), piece.text);
  };
  const glm::vec2 origin = to_glm(ImGui::GetCursorScreenPos());
  const float room = std::max(ImGui::GetContentRegionAvail().x, 1.0F);
  const float space = text_width(font, " ");
  const float line = font_size(font) + ImGui::GetStyle().ItemSpacing.y * 0.5F;
  glm::vec2 at(0.0F);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (piece.has_space && at.x > 0.0F) at.x += space;
    // Up to the next place where a line may end.
    float width = width_of(piece);
    for (std::size_t next = i + 1; next < pieces.size() && !pieces[next].may_break; ++next) width += width_of(pieces[next]);
    if (piece.may_break && at.x > 0.0F && at.x + width > room) at = {0.0F, at.y + line};
    const glm::vec2 corner = glm::round(origin + at);
    if (piece.is_formula) {
      draw_math(fonts, font, corner, color, piece.text);
    } else {
      put_text(font_of(piece), corner, color, piece.text);
    }
    at.x += width_of(piece);
  }
  ImGui::Dummy({room, at.y + line});
}

}  // namespace headlight::app
