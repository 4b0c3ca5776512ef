#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "support/at_end.h"
#include "support/sanitizers.h"

#if HEADLIGHT_HAS_ADDRESS_SANITIZER
/// Fontconfig's caches are not freed at exit; every other leak is reported.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libfontconfig\n"; }
#endif

namespace {

unsigned selected_test_cases = 0;

/// Counts the test cases that the command line selects.
struct CountingListener : doctest::IReporter {
  explicit CountingListener(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& stats) override { selected_test_cases = stats.numTestCasesPassingFilters; }
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

DOCTEST_REGISTER_LISTENER("counting", 0, CountingListener);

}  // namespace

/// Runs the selected test cases as doctest's own main does; a selection of none fails, because it is a misspelled filter.
int main(int argc, char** argv) {
#ifndef _WIN32  // where nothing that uses Vulkan is tested
  // The validation layer of Debian 12 looks for hazards between submissions only when asked for it by this name; newer ones
  // do so whenever synchronisation is validated.
  setenv("VK_LAYER_ENABLES", "VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT", 0);
#endif
#if HEADLIGHT_HAS_ADDRESS_SANITIZER
  // A status of its own for programs that tests start: AddressSanitizer's is 1 otherwise, as that of an error they expect.
  const char* const options = std::getenv("ASAN_OPTIONS");
  setenv("ASAN_OPTIONS", ((options == nullptr ? "" : std::string(options) + ":") + "exitcode=86").c_str(), 1);
#endif
  doctest::Context context(argc, argv);
  const int status = context.run();
  for (auto& actions = headlight::test::at_end(); !actions.empty(); actions.pop_back()) actions.back()();
  if (context.shouldExit()) return status;
  if (selected_test_cases == 0) {
    std::cerr << "No test case matches; see --list-test-cases.\n";
    return 1;
  }
  return status;
}
