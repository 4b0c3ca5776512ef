#include "app/figures/figure_settings.h"

#include "app/state/usage.h"

namespace headlight::app {
namespace {

double parse_length(const std::string& flag, const std::string& text, float least) {
  struct Unit {
    std::string_view name;
    float millimetres;
  };
  constexpr float kInch = 25.4F;
  constexpr auto kUnits = std::to_array<Unit>({{"mm", 1.0F},
                                               {"cm", 10.0F},
                                               {"in", kInch},
                                               {"pt", kInch / 72.27F},  // LaTeX's, in which it prints lengths
                                               {"px", kInch / 96.0F}});
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    const std::string number = text.substr(0, text.size() - unit.name.size());
    return unit.millimetres * parse_number(flag, number, least / unit.millimetres, kMaxMapEdge_mm / unit.millimetres);
  }
  return parse_number(flag, text, least, kMaxMapEdge_mm);
}

}  // namespace

SettingValue parse_ground(const std::string& flag, const std::string& text) {
  return parse_choice(flag, text, std::vector<std::string>{"dark", "light"}) == 0;
}

SettingValue parse_width(const std::string& flag, const std::string& text) { return parse_length(flag, text, kMinWidth_mm); }

SettingValue parse_edge(const std::string& flag, const std::string& text) {
  return parse_length(flag, text, kMinMapEdge_mm);
}

exporting::FigureParts shown_parts(const Choices& choices) {
  return {.title = choices[kFigureParts.title],
          .settings = choices[kFigureParts.subtitle],
          .labels = choices[kFigureParts.labels],
          .bar = choices[kFigureParts.bar],
          .legend = choices[kFigureParts.legend],
          .numbers = choices[kFigureParts.numbers],
          .word_marks = choices[kFigureParts.word_marks]};
}

}  // namespace headlight::app
