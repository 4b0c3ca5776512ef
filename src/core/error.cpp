#include "core/error.h"

#include <new>
#include <system_error>

namespace headlight {

std::string line_of(const std::exception& exception) {
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr)
    return "out of memory; choose a shorter text or a smaller model";
  const auto* error = dynamic_cast<const std::system_error*>(&exception);
  if (error != nullptr && error->code() == std::errc::resource_unavailable_try_again)
    return "the system starts no more threads; end other programs, or raise `ulimit -u`";
  const std::string text = exception.what();
  return text.substr(0, text.find('\n'));
}

}  // namespace headlight
