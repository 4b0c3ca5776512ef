#include "app/state/error_section.h"

namespace headlight::app {

ErrorSection error_section_for(const RunInputs& good, const RunInputs& refused) {
  if (good.preset != refused.preset) return ErrorSection::Model;
  if (good.playground != refused.playground) return ErrorSection::Model;
  if (good.model.path != refused.model.path || good.model.precision != refused.model.precision) return ErrorSection::Model;
  if (good.model != refused.model) return ErrorSection::Text;
  if (good.text != refused.text || good.key_text != refused.key_text) return ErrorSection::Text;
  return good.masks != refused.masks ? ErrorSection::Masks : ErrorSection::Model;
}

}  // namespace headlight::app
