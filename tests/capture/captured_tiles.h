#pragma once

#include <memory>
#include <span>

#include <doctest/doctest.h>

#include "capture/captured_run.h"

namespace headlight::capture {

inline constexpr model::BlockRef kFirst{};

inline std::shared_ptr<const CapturedRun> open_run(const std::filesystem::path& path) {
  return std::make_shared<const CapturedRun>(std::make_shared<const CaptureFile>(path));
}

inline attention::Tile tile_of(const inference::Run& run, const attention::TileRequest& request) {
  return run.evaluate(std::span(&request, 1)).front();
}

/// A whole matrix.
inline attention::TileRequest whole(const inference::Run& run, model::BlockRef block, std::uint32_t batch,
                                    std::uint32_t head, attention::Stage stage = attention::Stage::Weights) {
  const auto extent = run.shape(block).extent(stage);
  REQUIRE(extent);
  return {.block = block, .batch = batch, .head = head, .stage = stage, .rows = extent->rows, .columns = extent->columns};
}

}  // namespace headlight::capture
