#pragma once

#include <cstdint>

struct ImGuiStyle;

namespace headlight::shell {

/// A colour as R | G << 8 | B << 16 | A << 24, sRGB: the packing of ImGui's IM_COL32 and of a colour map's table.
using Color = std::uint32_t;

constexpr Color rgb(std::uint32_t hex) {  // 0xRRGGBB as in CSS
  return 0xFF000000U | (hex & 0xFFU) << 16 | (hex & 0xFF00U) | (hex >> 16 & 0xFFU);
}
/// Returns the colour with another alpha, 0 … 255.
constexpr Color with_alpha(Color color, std::uint32_t alpha) { return (color & 0x00FFFFFFU) | alpha << 24; }

enum class ThemeKind : std::uint8_t { Light, Dark, HighContrast };

/// Every colour of the interface by its use. Text colours have a contrast of at least 4.5 : 1 (HighContrast: 7 : 1) on
/// `background`, `panel` and `field`; a role colour (query, key, value, output) is never the only cue.
struct Theme {
  ThemeKind kind;
  Color background;  ///< below all panels
  Color panel;       ///< a panel's own ground
  Color field;       ///< text fields, inactive sliders
  Color popup;       ///< menus and tooltips
  Color hover;       ///< background of the item under the mouse
  Color active;      ///< background of the pressed or selected item
  Color border;      ///< hairlines between panels and around fields
  Color text;
  Color text_dim;  ///< secondary text, still readable
  Color text_on_accent;
  Color accent;  ///< the one accent: selection, focus, checked, links
  Color accent_hover;
  Color warning;  ///< text of errors and problems
  Color query;    ///< the field's roles, fit for text and lines
  Color key;
  Color value;
  Color output;      ///< attention and outputs
  Color query_fill;  ///< the field's roles as muted backgrounds of `text`
  Color key_fill;
  Color value_fill;
  Color output_fill;
  Color padding;       ///< ground of pad tokens
  Color hatch;         ///< stripes over masked cells
  Color hatch_ground;  ///< between the stripes
  Color missing;       ///< cells that aren't computed yet
  Color grid;          ///< lines between large cells
  Color crosshair;
};

const Theme& theme_of(ThemeKind kind);

/// Returns chart::contrast() of two opaque colours.
double contrast(Color a, Color b);

/// Returns the opaque colour that `top`, with its alpha, makes on an opaque ground.
Color blended(Color top, Color ground);

/// Returns chart::text_on() of opaque colours.
Color text_on(Color ground, Color preferred);

/// Returns `mark`, which may be transparent, for lines and other marks on an opaque ground, with a contrast of at least 3.
/// A colour with less contrast there gets less transparent, then nearer to `ink`. The result is opaque.
Color mark_on(Color ground, Color mark, Color ink);

/// Sets colours, spacing, rounding and borders. All sizes are in UI units (see Ui::begin_frame), so no scale is applied.
void apply(const Theme& theme, ImGuiStyle& style);

}  // namespace headlight::shell
