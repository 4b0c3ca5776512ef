#pragma once

#include <string>

#include "core/error.h"

namespace headlight::test {

/// The message of the error that `act` throws; empty without one.
template <typename Act>
std::string error_message(const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Is the message one line?
inline bool is_one_line(const std::string& message) { return !message.empty() && message.find('\n') == std::string::npos; }

}  // namespace headlight::test
