#include "app/state/error_section.h"

namespace headlight::app {

namespace {

/// Is the text the only difference of two unequal sources?
bool has_other_text_alone(const Source& good, const Source& refused) {
  if (good.index() != refused.index()) return false;
  return match(
      good, [&](const Playground& playground) { return playground.settings == std::get<Playground>(refused).settings; },
      [](const Notebook&) { return false; },
      [&](const Model& model) {
        const Model& other = std::get<Model>(refused);
        return model.path == other.path && model.precision == other.precision;
      },
      [](const Capture&) { return false; });
}

}  // namespace

ErrorSection error_section_for(const RunInputs& good, const RunInputs& refused) {
  if (good.source != refused.source) {
    return has_other_text_alone(good.source, refused.source) ? ErrorSection::Text : ErrorSection::Model;
  }
  return good.masks != refused.masks ? ErrorSection::Masks : ErrorSection::Model;
}

}  // namespace headlight::app
