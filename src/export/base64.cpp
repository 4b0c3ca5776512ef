#include "export/base64.h"

#include <memory>

#include <glib.h>

namespace headlight::exporting {

std::string base64(std::string_view bytes) {
  const auto* from = reinterpret_cast<const guchar*>(bytes.data());
  return std::unique_ptr<char, decltype(&g_free)>(g_base64_encode(from, bytes.size()), g_free).get();
}

std::optional<std::string> from_base64(std::string_view text) {
  gsize size = 0;
  const std::unique_ptr<guchar, decltype(&g_free)> decoded(g_base64_decode(std::string(text).c_str(), &size), g_free);
  std::string bytes(reinterpret_cast<const char*>(decoded.get()), size);
  return base64(bytes) == text ? std::optional(std::move(bytes)) : std::nullopt;  // GLib skips what is no digit
}

}  // namespace headlight::exporting
