#pragma once

#include <pango/pangocairo.h>

#include "export/canvas.h"
#include "files/cairo_surface.h"

namespace headlight::exporting {

struct UnrefObject {
  void operator()(void* object) const { g_object_unref(object); }
};
struct FreeFont {
  void operator()(PangoFontDescription* font) const { pango_font_description_free(font); }
};
using Layout = std::unique_ptr<PangoLayout, UnrefObject>;
using Font = std::unique_ptr<PangoFontDescription, FreeFont>;
using files::CairoContext;
using files::Pattern;
using files::Surface;

/// A layout with fractional glyph positions and without hinting, so that text has the same width at every scale.
/// Throws Error when the system has no font at all.
Layout make_layout(cairo_t* cairo);
void set_font(PangoLayout* layout, FigureFont font, float size, bool is_bold, bool is_italic);
/// Advance of the layout's text in the cairo context's units.
float text_width(PangoLayout* layout);

}  // namespace headlight::exporting
