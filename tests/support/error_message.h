#pragma once

#include <string>

#include "core/error.h"

namespace headlight::test {

/// What `act` complains about; empty when it doesn't.
template <typename Act>
std::string error_message(const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// One line, as people read messages?
inline bool is_one_line(const std::string& message) { return !message.empty() && message.find('\n') == std::string::npos; }

}  // namespace headlight::test
