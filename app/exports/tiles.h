#pragma once

#include <filesystem>

#include "app/exports/numbers.h"

namespace headlight::app {

/// Edge of the images in pixels: a pixel for each cell.
inline constexpr std::uint32_t kExportTileEdge = 1024;

/// Writes a map into a folder: "y000_x000.png", … in the colours of the options, and index.json with the map's size, the
/// range of its colours and the name and place of each image. Images that the mask hides as a whole are left out. One image
/// is in memory at a time. Weights are coloured up to the map's largest, other stages symmetrically around 0, which takes
/// another pass over the map; limits of the options go before. Where it is cancelled finished images stay, without an index.
void write_matrix_tiles(const Runs& runs, const ExportBlocks& blocks, const MatrixRef& matrix, const ExportOptions& options,
                        const std::filesystem::path& folder, const Checkpoint& checkpoint);

}  // namespace headlight::app
