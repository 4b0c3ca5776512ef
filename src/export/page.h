#pragma once

#include <cstddef>
#include <memory>

#include "export/canvas.h"

namespace headlight::exporting {

/// Tokens of a side that are patches of an image: of row r and column c the one at the position first + r · step + c.
struct PagePatches {
  std::size_t image = 0;  ///< of AttentionPage::images
  std::uint32_t rows = 0, columns = 0, first = 0, step = 0;
};

/// The weights of one kind of attention in one line of a batch.
struct PageSet {
  std::string title;  ///< of the choice among several: "decoder, line 2"
  std::string row_title = "query", column_title = "key";
  std::vector<std::string> rows, columns;                      ///< tokens
  std::vector<std::uint32_t> row_positions, column_positions;  ///< their indices in the text
  std::vector<PagePatches> row_patches = {}, column_patches = {};
  std::vector<std::uint32_t> layers, heads;
  std::vector<float> values;         ///< [layer, head, row, column]
  std::vector<std::uint8_t> masked;  ///< as values, 1: the mask hides the cell
};

enum class PageTheme : std::uint8_t { Auto, Light, Dark };

/// Attention as a page for browsers.
struct AttentionPage {
  std::string title, subtitle;
  std::string made;  ///< by which program and device
  chart::ColorMap color_map = chart::ColorMap::Viridis;
  PageTheme theme = PageTheme::Auto;
  std::vector<PageSet> sets;                               ///< at least one
  std::vector<std::shared_ptr<const Pixels>> images = {};  ///< whose patches tokens are; each is in the page once
};

/// The storage of a page's numbers: as they are, as float16, or as 253 steps from 0 to the largest of each map, beside
/// which NaN and both infinities have a byte each.
enum class PageNumbers : std::uint8_t { F32, F16, U8 };
PageNumbers page_numbers(std::uint64_t cells);

inline constexpr std::uint64_t kLargeBytes = 20'000'000;     ///< of a page that browsers open slowly
inline constexpr std::uint64_t kMaxPageCells = 150'000'000;  ///< in 8 bits some 200 MB

/// One self-contained file: nothing is loaded from elsewhere, and no text of the page's data can leave its place in it.
/// Throws Error where there are more than kMaxPageCells cells, or none.
std::string encode_page(const AttentionPage& page);

}  // namespace headlight::exporting
