#pragma once

struct ImFont;

namespace headlight::shell {

/// The fonts of the interface, for ImGui::PushFont(). They stay valid until the next Ui::begin_frame(). Sizes are UI units.
/// All cover Latin, Greek, Cyrillic, punctuation, arrows, sub- and superscripts and mathematical operators; other characters
/// after Ui::ensure_glyphs() if an installed font has them.
struct FontSet {
  ImFont* body = nullptr;        ///< 16, the default
  ImFont* small = nullptr;       ///< 13: labels, captions
  ImFont* title = nullptr;       ///< 20, semi-bold
  ImFont* strong = nullptr;      ///< 16, semi-bold
  ImFont* line = nullptr;        ///< 20: the text, the window's first line
  ImFont* reading = nullptr;     ///< 30: running text that has the page to itself
  ImFont* mono = nullptr;        ///< 14, all digits equally wide: numbers, arithmetic
  ImFont* mono_small = nullptr;  ///< 12: numbers in cells
};

}  // namespace headlight::shell
