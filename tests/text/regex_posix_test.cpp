// Oniguruma has functions of POSIX's names, as the C library of a POSIX system has.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <string_view>

namespace regex_posix_test {

TEST_SUITE("cpu") {
  TEST_CASE("other libraries' POSIX expressions stay the C library's") {
    for (const char* name : {"regcomp", "regexec", "regfree", "regerror"}) {
      CAPTURE(name);
      Dl_info found{};
      REQUIRE(dladdr(dlsym(RTLD_DEFAULT, name), &found) != 0);
      CHECK(std::string_view(found.dli_fname).find("onig") == std::string_view::npos);
    }
  }
}

}  // namespace regex_posix_test
