#pragma once

#include "app/state/setting.h"

namespace headlight::app {

/// The list beside the matrix has one of these: pairs of writers, or single ones with the weight without them.
enum class WhyList : std::uint8_t { Pairs, Writers };

/// The view's query and key are the pinned cell.
struct WhySettings : SettingGroup {
  WhySettings() : SettingGroup{.name = "why", .view = "why", .is_look = true} {}

  Setting<bool> is_raw{
      *this,
      {.key = "is_raw",
       .undo = "Choose parts of scores",
       .options = {{"on", "raw", "Parts of the score itself."},
                   {"off", "less the row\u2019s mean",
                    "Parts of the score less its mean over the keys that the query sees: what all of them share changes no "
                    "weight."}}}};
  Setting<WhyList> list{*this,
                        {.key = "list",
                         .undo = "Choose list of parts",
                         .options = {{"pairs", "pairs", "What wrote the query with what wrote the key, the largest first."},
                                     {"writers", "writers",
                                      "Each writer of the query and of the key by itself, and the weight without it."}}}};
  /// The cells that led to the one on show, which is the last: kind of attention, layer, head, query and key of each,
  /// "0 1 4 17 9 0 0 5 9 8".
  Setting<std::string> trail{*this, {.key = "trail", .undo = "Follow a head\u2019s part", .most = 4096}};
};
inline const WhySettings kWhyView;

}  // namespace headlight::app
