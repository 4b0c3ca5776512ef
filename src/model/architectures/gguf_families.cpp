#include "model/architectures/families.h"

namespace headlight::model {

std::span<const Family> gguf_families() { return {}; }

}  // namespace headlight::model
