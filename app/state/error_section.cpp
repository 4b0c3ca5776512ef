#include "app/state/error_section.h"

namespace headlight::app {

Blame blame_for(const RunInputs& good, const RunInputs& refused) {
  if (good.preset != refused.preset) return Blame::Model;
  if (good.playground != refused.playground) return Blame::Model;
  if (good.model.path != refused.model.path || good.model.precision != refused.model.precision) return Blame::Model;
  if (good.model != refused.model) return Blame::Text;
  if (good.text != refused.text || good.key_text != refused.key_text) return Blame::Text;
  return good.masks != refused.masks ? Blame::Masks : Blame::Model;
}

}  // namespace headlight::app
