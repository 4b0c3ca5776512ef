#pragma once

#include "app/engine/tile_cache.h"
#include "app/shapes/quantities/grouped_map.h"
#include "app/widgets/map_axes.h"

namespace headlight::app {

/// The most tokens of a side for which words are grouped, special tokens hidden and bars shown: all weights are read.
inline constexpr std::uint32_t kMaxGroupedTokens = 1024;

/// Can the shown map be grouped? It must be of weights as they are, and of at most kMaxGroupedTokens tokens a side.
bool can_group(const Frame& frame);
/// Is it grouped now?
bool is_grouped(const Frame& frame);
/// Describes a grouped map's numbers for its title: "words: sums over keys, means over queries"; empty: it isn't grouped.
std::string grouping_text(const Frame& frame);

/// The selected map's weights between words, or without special tokens, and the bars of any map. Computed once for each
/// tile and choice, and kept from frame to frame.
class GroupedHead {
 public:
  /// A side: its groups and their labels.
  struct Side {
    TokenGroups groups;
    std::vector<std::string> labels;  ///< [group]
  };

  /// Asks for the weights and groups them. Returns whether they are known.
  bool update(Frame& frame);
  const EngineTile& map() const { return map_; }
  const TileQuery& query() const { return query_; }  ///< that names the map's values
  const Side& queries() const { return queries_; }
  const Side& keys() const { return keys_; }

  /// Returns the bars of the grouped map, or of the map of tokens; null until its weights are known.
  const Marginals* marginals(Frame& frame);

 private:
  struct Choices {
    std::shared_ptr<const attention::Tile> tile;
    SpecialTokens special = SpecialTokens::Shown;
    bool joins_words = false;
    bool operator==(const Choices&) const = default;
  };

  Choices grouped_, barred_;
  EngineTile map_;
  TileQuery query_;
  Side queries_, keys_;
  Marginals marginals_;
  std::uint64_t version_ = 0;
};

/// Draws the grouped map with axes, colour bar, numbers and a tooltip into the rest of the region.
void draw_grouped_map(Frame& frame, GroupedHead& head, const char* row_name);

}  // namespace headlight::app
