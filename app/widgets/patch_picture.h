#pragma once

#include "app/frame.h"
#include "export/canvas.h"

namespace headlight::app {

/// Returns the images whose patches are tokens of a side of the selected map.
capture::PatchImages patch_images(const Frame& frame, MapSide side);

/// The place where an image is drawn, for the renderer: each place of the window has its own.
enum class PicturePlace : std::uint8_t { Text, TextBeside, QueryAxis, KeyAxis, Lesson, TextLine };

/// Draws an image over `area`, of which only `clip` shows. `pixels`: null draws an empty ground. `revision` changes with
/// them. `index`: which of the place's images it is.
void draw_picture(const Frame& frame, const exporting::Pixels* pixels, PicturePlace place, std::uint64_t revision,
                  const chart::Rect& area, const std::optional<chart::Rect>& clip = {}, std::size_t index = 0);
/// Changes whenever the images of the selected line do.
std::uint64_t picture_revision(const Frame& frame);

/// Draws one patch into `to`, as much of the image's middle as fits where their shapes differ.
void draw_patch(const Frame& frame, const capture::PatchImages& images, PicturePlace place,
                capture::PatchImages::Found patch, const chart::Rect& to);

/// Returns a token's text, and of a patch its place: "sky (patch row 3, column 7)"; the place alone where the text says no
/// more.
std::string text_with_patch(const Frame& frame, MapSide side, std::uint32_t token, const std::string& text);

}  // namespace headlight::app
