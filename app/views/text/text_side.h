#pragma once

#include "app/figures/running_text.h"
#include "app/figures/shaded_image.h"
#include "app/frame.h"

namespace headlight::app {

/// Sizes of a text's type; the last is of rows that have no numbers above their words.
enum class TextType : std::uint8_t { Large, Middle, Small, Dense };

/// One side of the selected map as running text, laid out for a width. Kept from frame to frame.
struct TextBlock {
  std::vector<RunningToken> tokens;  ///< [token]; padding is left out at the end, and is empty at the start
  std::vector<std::string> labels;   ///< [token] as in other views
  TextLines lines;
  TextMeasures measures;
  capture::PatchImages images = {};           ///< whose patches are among the tokens; none: all are words
  std::vector<chart::Rect> image_rects = {};  ///< [image] relative to the block's corner, as the lines are
  TextType type = TextType::Small;            ///< large: the type for reading, because all of it fits so
};

/// Makes the block of a side anew: the queries' or the keys' tokens of the selected line of the batch. `height`: that an
/// image and the words around it may take, and that a text fills in large type where it can.
TextBlock make_text_block(Frame& frame, MapSide side, float width, float height);

/// Lays the block's text out in one line for rows that each have it, in the largest type in which so many fit; each word is
/// as wide as its number. No tokens: it doesn't fit one line.
TextBlock row_of(const Frame& frame, const TextBlock& block, glm::vec2 room, std::uint32_t rows);

/// Images as they are drawn below shades: made anew when an image or the ground changes.
class MutedImages {
 public:
  /// [image].
  const std::vector<exporting::Pixels>& of(const capture::PatchImages& images, bool is_dark);
  std::uint64_t revision() const { return revision_; }

 private:
  capture::PatchImages images_;
  bool is_dark_ = false;
  std::vector<exporting::Pixels> pixels_;
  std::uint64_t revision_ = 0;
};

/// A block's weights, or how they differ from the baseline's: [token], empty while they aren't known.
struct TextShades {
  std::vector<float> weights;
  float largest = 0.0F;  ///< in size
  bool is_difference = false;
  bool has_larger = false;  ///< on the same scale there is a row whose single weight is larger
};
/// Returns what the chosen token gives to, or receives from, the tokens of the other side; asks for a row or a column of the
/// map.
TextShades shades_of(Frame& frame, LockedToken chosen);

/// Returns those of all tokens of a self-attention's side, [token], on one scale: rows that see a single key don't set it.
/// Asks for the whole map; empty while it isn't known.
std::vector<TextShades> shades_of_all(Frame& frame, MapSide side);

/// Draws what the shades of `side` mean, where it fits between two x of a line.
void put_shade_scale(const Frame& frame, MapSide side, const TextShades& shades, glm::vec2 at, float end);

/// The marks in a block.
struct TextMarks {
  MapSide side = MapSide::Query;       ///< of the block
  const char* name = "";               ///< of the items: "text.token" for "text.token.3"; empty: they have none
  const TextShades* shades = nullptr;  ///< null: not shaded
  std::optional<std::uint32_t> chosen, locked = {};
  MutedImages* muted = nullptr;  ///< of a block with images
  bool dims_unseen = false;      ///< tokens without a weight are dim
};

/// Draws the visible part at the cursor of the current child region. Returns the token under the pointer.
std::optional<std::uint32_t> draw_text_block(Frame& frame, const TextBlock& block, const TextMarks& marks);

}  // namespace headlight::app
