#pragma once

#include <functional>
#include <memory>
#include <vector>

namespace headlight::test {

/// Actions of the test program before it ends, newest first.
inline std::vector<std::function<void()>>& at_end() {
  static std::vector<std::function<void()>> actions;
  return actions;
}

/// Keeps an object for all test cases, created by the first call and destroyed before main ends: static objects could
/// outlive those of Vulkan's layers, which must not be called after that. One object for each `holder`.
template <typename Object, typename Make>
Object& keep_until_end(std::unique_ptr<Object>& holder, const Make& make) {
  if (!holder) {
    holder = make();
    at_end().push_back([&holder] { holder.reset(); });
  }
  return *holder;
}

}  // namespace headlight::test
