#pragma once

#include <nlohmann/json.hpp>

namespace headlight::exporting {

/// Keeps the order in which fields are added: general ones come first in a file.
using Json = nlohmann::ordered_json;

}  // namespace headlight::exporting
