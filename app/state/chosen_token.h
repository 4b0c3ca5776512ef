#pragma once

#include "app/state/state.h"

namespace headlight::app {

/// Returns the token of a side that the user has chosen: the locked one, else that of the pinned cell.
inline std::optional<std::uint32_t> chosen_token(const ViewChoices& view, MapSide side) {
  if (view.locked && view.locked->side == side) return view.locked->token;
  if (!view.pinned) return std::nullopt;
  return side == MapSide::Query ? view.pinned->query : view.pinned->key;
}

}  // namespace headlight::app
