#pragma once

#include "app/engine/patch_image.h"
#include "app/frame.h"
#include "view/rect.h"

namespace headlight::app {

/// The image whose patches are the tokens of a side of the selected map; nullopt: they are words.
std::optional<PatchImage> patch_image(const Frame& frame, MapSide side);

/// Where the image is drawn, for the renderer: each place of the window has its own.
enum class PicturePlace : std::uint8_t { Text, TextBeside, QueryAxis, KeyAxis, Lesson };

/// Draws an image over `area`, of which only `clip` shows. `pixels`: null draws an empty ground. `revision` changes with
/// them.
void draw_picture(const Frame& frame, const exporting::Pixels* pixels, PicturePlace place, std::uint64_t revision,
                  const view::Rect& area, const std::optional<view::Rect>& clip = {});
/// Changes whenever the image of the selected line does.
std::uint64_t picture_revision(const Frame& frame);

/// Draws one patch into `to`, as much of the image's middle as fits where their shapes differ.
void draw_patch(const Frame& frame, const PatchImage& image, PicturePlace place, capture::PatchGrid::Place patch,
                const view::Rect& to);

/// "patch row 3, column 7"; empty where the token of that side is no patch.
std::string patch_text(const Frame& frame, MapSide side, std::uint32_t token);
/// A token's text, and of a patch its place: "sky (patch row 3, column 7)"; the place alone where the text says no more.
std::string text_with_patch(const Frame& frame, MapSide side, std::uint32_t token, const std::string& text);

}  // namespace headlight::app
