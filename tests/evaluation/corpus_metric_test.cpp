// The user's own metrics of a survey: names, patterns by name and by formula, and their cells.
#include <doctest/doctest.h>

#include "evaluation/corpus_metric.h"
#include "support/error_message.h"

namespace corpus_metric_test {

using namespace headlight;
using namespace headlight::evaluation;

namespace {

using Cells = std::vector<std::vector<std::uint32_t>>;

const std::vector<std::uint32_t> kIds = {5, 6, 5, 7, 6};

Cells cells_of(const std::string& pattern,
               const attention::ExpressionMap& map = {.layer = 1, .layers = 2, .head = 3, .heads = 4}) {
  return OwnPattern(pattern).cells(kIds, TokenRepeats(kIds), map);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a pattern by name or by formula has the cells that its words say") {
    CHECK(cells_of("previous") == Cells{{}, {0}, {1}, {2}, {3}});
    CHECK(cells_of("itself") == Cells{{0}, {1}, {2}, {3}, {4}});
    CHECK(cells_of("first") == Cells{{0}, {0}, {0}, {0}, {0}});
    CHECK(cells_of("next") == Cells{{1}, {2}, {3}, {4}, {}});
    CHECK(cells_of("duplicate") == Cells{{}, {}, {0}, {}, {1}});
    CHECK(cells_of("induction") == Cells{{}, {}, {1}, {}, {2}});
    CHECK(cells_of("k == q - 2") == Cells{{}, {}, {0}, {1}, {2}});
    CHECK(cells_of("k < q && id_k == id_q") == cells_of("duplicate"));
    CHECK(cells_of("k == n_k - 1 && q == 0") == Cells{{4}, {}, {}, {}, {}});
    CHECK(cells_of("k == head && layer == 1") == Cells{{3}, {3}, {3}, {3}, {3}});
    CHECK(OwnPattern("k == head").depends_on_head());
    CHECK_FALSE(OwnPattern("k == q - 2").depends_on_head());
    CHECK_FALSE(OwnPattern("induction").depends_on_head());
  }

  TEST_CASE("names that are taken or no names, and patterns that are none, are refused in one line") {
    CHECK(CorpusMetric("two-back", "k == q - 2").name() == "two-back");
    CHECK(CorpusMetric(HeadMetric::Sink).name() == "sink");
    const auto complaint = [](const char* name, const char* pattern) {
      return test::error_message([&] { CorpusMetric(name, pattern); });
    };
    for (const char* name : {"", "two back", "a,b", "a\nb", "abcdefghijklmnopqrstuvwxyz0123456"}) {
      CHECK(complaint(name, "previous").find("is no name of a metric") != std::string::npos);
    }
    for (const char* name : {"induction", "self", "first", "layer"}) {
      CHECK(complaint(name, "previous").find("is measured by that name already") != std::string::npos);
    }
    CHECK(complaint("a", "").find("it has no pattern") != std::string::npos);
    const std::string unknown = complaint("a", "k == p");
    CHECK(unknown.find("metric 'a': 'k == p' is neither previous, itself, ") != std::string::npos);
    CHECK(unknown.find("column 6") != std::string::npos);
  }
}

}  // namespace corpus_metric_test
