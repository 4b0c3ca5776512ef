// Characters typed in a row that are shortcuts or a text, at given times.
#include "app/window/typed_row.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>

namespace typed_row_test {

using headlight::app::TypedRow;

namespace {

const std::string kShortcuts = "bcdkmnopst0123456789";

/// The row after these characters, so many seconds apart.
TypedRow typed(const std::string& text, double gap_s) {
  TypedRow row;
  double now_s = 100.0;
  for (const char character : text) {
    if (!row.is_empty() && row.has_ended(now_s)) row = {};
    row.add(std::string(1, character), kShortcuts.find(character) == std::string::npos ? 0 : 1, now_s);
    now_s += gap_s;
  }
  return row;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a sentence is a text at every pace of typing, and all of it is kept") {
    for (const double gap_s : {0.01, 0.1, 0.19, 0.25, 0.4, 0.7, 0.95}) {
      CAPTURE(gap_s);
      for (const char* text : {"the cat sat", "some dogs", "kept back", "27 people", "not on top", "a man"}) {
        CAPTURE(text);
        const TypedRow row = typed(text, gap_s);
        CHECK(row.is_text());
        CHECK(row.text() == text);
        CHECK_FALSE(row.may_run(1e6));
      }
    }
  }

  TEST_CASE("a letter alone waits for a moment and runs") {
    const TypedRow row = typed("k", 0.0);
    CHECK_FALSE(row.is_text());
    CHECK_FALSE(row.may_run(100.1));
    CHECK(row.wait_s(100.1) == doctest::Approx(TypedRow::kSecondLetter_s - 0.1));
    CHECK(row.may_run(100.0 + TypedRow::kSecondLetter_s));
    CHECK(std::isinf(TypedRow().wait_s(100.0)));
  }

  TEST_CASE("a key pressed again and again, digits, and two shortcuts with a pause between them are no text") {
    CHECK_FALSE(typed("nnnnnnn", 0.03).is_text());
    CHECK(typed("nn", 0.03).may_run(100.03));  // without another wait
    CHECK_FALSE(typed("2741", 0.1).is_text());
    for (const double gap_s : {0.05, 0.3, 0.6}) CHECK_FALSE(typed("..,.,", gap_s).is_text());  // steps on and back
    CHECK_FALSE(typed(".k", 0.3).is_text());
    CHECK(typed("7", 0.1).may_run(100.0));
    CHECK_FALSE(typed("kd", 0.3).is_text());
    CHECK_FALSE(typed("cpk", 0.6).is_text());
    CHECK(typed("kd", 0.1).is_text());   // faster than anyone chooses two shortcuts
    CHECK(typed("cpk", 0.3).is_text());  // three of them
    CHECK(typed("kx", 0.6).is_text());   // x starts nothing
    CHECK_FALSE(typed("kx", 1.5).is_text());
  }

  TEST_CASE("spaces make no text of shortcuts, and none begins with one") {
    CHECK(typed("  ", 0.1).is_empty());
    CHECK(typed(" a man", 0.1).text() == "a man");
    CHECK_FALSE(typed("d ", 0.1).is_text());
    CHECK_FALSE(typed("d ", 0.1).may_be_text());
    CHECK(typed("a ", 0.1).may_be_text());
  }

  TEST_CASE("characters of several bytes count once and are erased whole") {
    TypedRow row;
    row.add("s", 1, 100.0);
    row.add("\u00E9", 0, 100.3);
    CHECK(row.is_text());
    row.erase_last();
    CHECK(row.text() == "s");
    row.erase_last();
    CHECK(row.is_empty());
    row.erase_last();
    CHECK(row.is_empty());
  }

  TEST_CASE("a text waits for its answer") {
    TypedRow row = typed("the cat", 0.1);
    CHECK_FALSE(row.has_ended(100.6 + 5.0));
    row.add("s", 1, 106.0);
    CHECK(row.text() == "the cats");
    CHECK_FALSE(row.has_ended(1e6));
    CHECK(std::isinf(row.wait_s(1e6)));
  }
}

}  // namespace typed_row_test
