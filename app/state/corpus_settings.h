#pragma once

#include "app/state/setting.h"

namespace headlight::app {

/// The corpus view shows all heads of a survey as dots by two numbers, by layer, or as a table, or one head's page.
enum class CorpusMode : std::uint8_t { Scatter, Layers, Table, Head };
inline constexpr std::uint32_t kDeciles = 10;  ///< of the texts, by a metric

/// Names are those of metrics, or of other numbers of heads (HeadNumber); one that the survey lacks counts as none. The
/// chosen head is State::survey_head.
struct CorpusSettings : SettingGroup {
  CorpusSettings() : SettingGroup{.name = "corpus", .view = "corpus"} {}

  /// The folder of the survey that is open; empty: none is.
  Setting<std::string> folder{*this, {.key = "folder", .undo = "Open survey"}};
  Setting<CorpusMode> mode{*this,
                           {.key = "mode",
                            .undo = "Choose what is shown of the survey",
                            .options = {{"scatter", "Scatter", "A dot for each head, by two numbers or in a plane."},
                                        {"layers", "By layer", "A dot for each head, by layer and one number."},
                                        {"table", "Table", "A line for each head, a column for each number."},
                                        {"head", "Head", "Everything of one head."}},
                            .is_look = true,
                            .flag = "--corpus",
                            .flag_help = "the view Corpus: dots by two numbers, by layer, a table, or one head's page"}};
  /// The numbers that place dots; empty: previous token and induction.
  Setting<std::string> x{*this, {.key = "x", .undo = "Choose what places heads", .is_look = true}};
  Setting<std::string> y{*this, {.key = "y", .undo = "Choose what places heads", .is_look = true}};
  /// The number that colours dots; empty: the layer.
  Setting<std::string> color{*this, {.key = "color", .undo = "Choose what colours heads", .is_look = true}};
  /// The number that orders the table; empty: layer and head do.
  Setting<std::string> order{*this, {.key = "order", .undo = "Order heads", .is_look = true}};
  Setting<bool> lowest_first{*this, {.key = "lowest_first", .undo = "Order heads", .is_look = true}};
  /// Whose examples are listed; empty: the first.
  Setting<std::string> metric{*this, {.key = "metric", .undo = "Choose examples", .is_look = true}};
  /// Examples of that tenth of the texts, 1 the lowest values; 0: the highest ones of all.
  Setting<std::uint32_t> decile{*this, {.key = "decile", .undo = "Choose examples", .most = kDeciles, .is_look = true}};
};
inline const CorpusSettings kCorpusView;

}  // namespace headlight::app
