#include "attention/mask.h"

#include <doctest/doctest.h>

#include <cmath>

#include "core/error.h"

namespace mask_test {

using namespace headlight;
using namespace headlight::attention;

namespace {

/// Rows of '#' (visible) and '.' of a 4 × 4 map, the last key being padding.
std::string draw(const MaskRule& rule, std::uint32_t key_length = 4) {
  std::string map;
  for (std::uint32_t query = 0; query < 4; ++query) {
    for (std::uint32_t key = 0; key < 4; ++key) map += rule.is_visible(query, key, key_length) ? '#' : '.';
    map += ' ';
  }
  return map;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("documents hide the tokens of other documents") {
    MaskSpec mask;
    mask.rule.causal = true;
    set_documents(mask, 0, {5, 2, 5, 0});
    CHECK(mask.documents->at(0) == std::vector<std::uint32_t>{2, 5});
    const auto shows = [&](std::uint32_t query, std::uint32_t key) { return mask.is_visible(0, 0, 0, query, key, 8); };
    CHECK(shows(1, 0));
    CHECK_FALSE(shows(2, 1));
    CHECK(shows(4, 2));
    CHECK_FALSE(shows(5, 4));
    CHECK(shows(7, 5));
    CHECK_FALSE(shows(5, 7));                  // the rule's
    CHECK(mask.is_visible(0, 1, 0, 5, 4, 8));  // another item is one document
    CHECK(document_of(*mask.documents, 0, 3).end == 5);
    toggle_document(mask, 0, 5);
    CHECK(shows(5, 4));
    mask.painted[{}].paint({3, 1}, true);
    CHECK(shows(3, 1));
    toggle_document(mask, 0, 2);
    CHECK_FALSE(mask.documents.has_value());
  }

  TEST_CASE("of painted biases the narrowest scope counts") {
    MaskSpec mask;
    mask.biases[{}].paint({1, 0}, 2.0f);
    mask.biases[{.layer = 1, .batch = std::nullopt, .head = std::nullopt}].paint({1, 0}, -1.0f);
    mask.biases[{.layer = 1, .batch = std::nullopt, .head = 3}].paint({1, 0}, 0.5f);
    CHECK(mask.bias(0, 0, 3, {1, 0}) == 2.0f);
    CHECK(mask.bias(1, 0, 2, {1, 0}) == -1.0f);
    CHECK(mask.bias(1, 0, 3, {1, 0}) == 0.5f);
    CHECK(mask.bias(1, 0, 3, {0, 1}) == 0.0f);
    CHECK(mask.score({.layer = 1, .head = 3, .queries = 2, .keys = 2}, 0, {1, 0}, 0.25) == 0.75);
  }

  TEST_CASE("rules draw their maps") {
    CHECK(draw({}) == "#### #### #### #### ");
    CHECK(draw({}, 3) == "###. ###. ###. ###. ");
    CHECK(draw({.key_padding = false}, 3) == "#### #### #### #### ");
    CHECK(draw({.causal = true}) == "#... ##.. ###. #### ");
    CHECK(draw({.causal = true}, 2) == "#... ##.. ##.. ##.. ");
    CHECK(draw({.window = 1}) == "#... .#.. ..#. ...# ");
    CHECK(draw({.window = 2}) == "##.. ###. .### ..## ");
    CHECK(draw({.causal = true, .window = 2}) == "#... ##.. .##. ..## ");
    CHECK(draw({.prefix = 2}) == "##.. ##.. ###. #### ");
    CHECK(draw({.causal = true, .prefix = 2}) == draw({.prefix = 2}));
    CHECK(draw({.window = 1, .prefix = 2}) == "##.. ##.. ###. ##.# ");
    CHECK(draw({.window = 1, .prefix = 2}, 1) == "#... #... #... #... ");
  }

  TEST_CASE("rules are written as they are read") {
    for (const char* text : {"none", "causal", "window:4", "prefix:2", "causal+window:4", "window:1+prefix:2",
                             "causal+window:4294967295+prefix:3"}) {
      const Result<MaskRule> rule = parse_rule(text);
      REQUIRE(rule.has_value());
      CHECK(to_string(*rule) == text);
    }
    CHECK(parse_rule("window:3+causal").value() == MaskRule{.causal = true, .window = 3});
    CHECK(parse_rule("causal").value().key_padding);
  }

  TEST_CASE("an unknown rule is refused with the rules to choose from") {
    CHECK(parse_rule("casual").error() ==
          "mask 'casual': 'casual' is unknown; choose none, causal, window:N, prefix:N or several joined by +");
    CHECK(parse_rule("causal+").error() ==
          "mask 'causal+': '' is unknown; choose none, causal, window:N, prefix:N or several joined by +");
    for (const char* text : {"window", "window:", "window:0", "window:-1", "window:3x", "window:4294967296"}) {
      CHECK(parse_rule(text).error() ==
            std::string("mask '") + text + "': window needs a whole number from 1 on, as in window:4");
    }
    for (const char* text : {"", "causal:1", "none+causal", "Causal", " causal"}) CHECK_FALSE(parse_rule(text).has_value());
  }

  TEST_CASE("fills are three, with their names") {
    CHECK(std::isinf(fill_value(MaskFill::NegativeInfinity)));
    CHECK(fill_value(MaskFill::NegativeInfinity) < 0.0f);
    CHECK(fill_value(parse_fill("-1e9").value()) == -1e9f);
    CHECK(fill_value(parse_fill("-1e10").value()) == -1e10f);
    CHECK(parse_fill("-inf").value() == MaskFill::NegativeInfinity);
    CHECK(parse_fill("0").error() == "unknown mask fill '0': choose -inf, -1e9 or -1e10");
  }

  TEST_CASE("a matrix keeps cells of its batch item and head, or of all when it has one") {
    const BooleanMask each{.batch = 2, .heads = 2, .queries = 1, .keys = 2, .keep = {1, 0, 0, 1, 1, 1, 0, 0}};
    CHECK(each.is_kept(0, 0, 0, 0));
    CHECK_FALSE(each.is_kept(0, 1, 0, 0));
    CHECK(each.is_kept(1, 0, 0, 1));
    CHECK_FALSE(each.is_kept(1, 1, 0, 1));
    const BooleanMask shared{.batch = 2, .heads = 1, .queries = 1, .keys = 2, .keep = {1, 0, 0, 1}};
    CHECK(shared.is_kept(0, 3, 0, 0));
    CHECK(shared.is_kept(1, 3, 0, 1));
    CHECK_FALSE(shared.is_kept(1, 3, 0, 0));
    const BooleanMask heads{.batch = 1, .heads = 2, .queries = 1, .keys = 1, .keep = {1, 0}};
    CHECK(heads.is_kept(5, 0, 0, 0));
    CHECK_FALSE(heads.is_kept(5, 1, 0, 0));
  }

  TEST_CASE("cells outside a matrix count as kept, in every direction and whatever its sizes say") {
    const BooleanMask small{.batch = 2, .heads = 2, .queries = 2, .keys = 3, .keep = std::vector<std::uint8_t>(24, 0)};
    CHECK_FALSE(small.is_kept(1, 1, 1, 2));
    CHECK(small.is_kept(2, 0, 0, 0));
    CHECK(small.is_kept(0, 2, 0, 0));
    CHECK(small.is_kept(0, 0, 2, 0));
    CHECK(small.is_kept(0, 0, 0, 3));
    CHECK(small.is_kept(~0u, ~0u, ~0u, ~0u));
    const BooleanMask unfilled{.queries = 4, .keys = 4, .keep = {0}};
    CHECK_FALSE(unfilled.is_kept(0, 0, 0, 0));
    CHECK(unfilled.is_kept(0, 0, 3, 3));
    const MaskSpec mask{.rule = {.causal = true}, .matrix = small};
    CHECK(mask.is_visible(0, 0, 0, 40, 30, 64));
    CHECK_FALSE(mask.is_visible(0, 0, 0, 30, 40, 64));  // the rule's
  }

  TEST_CASE("copies of a mask share its cells, and a change leaves the other copy as it is") {
    MaskSpec mask{.matrix = BooleanMask{.queries = 2, .keys = 2, .keep = {1, 0, 0, 1}}};
    mask.painted[{.head = 1}] = {{{0, 1}, true}};
    mask.painted[{}] = {{{1, 1}, false}};
    MaskSpec copy = mask;
    CHECK(copy.matrix.get() == mask.matrix.get());
    CHECK(copy.painted.at({}).runs().data() == mask.painted.at({}).runs().data());
    copy.painted[{}].paint({0, 0}, false);
    CHECK(copy != mask);
    CHECK_FALSE(mask.painted.at({}).state({0, 0}).has_value());
    CHECK(copy.painted.at({.head = 1}).runs().data() == mask.painted.at({.head = 1}).runs().data());
    copy.painted[{}].erase({0, 0});
    CHECK(copy == mask);  // by their cells: the runs are others
  }

  TEST_CASE("rule, padding and matrix mask together; paint wins over all of them") {
    MaskSpec mask{
        .rule = {.causal = true},
        .matrix = BooleanMask{.batch = 1, .heads = 1, .queries = 3, .keys = 3, .keep = {1, 1, 1, 0, 1, 1, 1, 1, 1}}};
    CHECK(mask.is_visible(0, 0, 0, 0, 0, 3));
    CHECK_FALSE(mask.is_visible(0, 0, 0, 0, 1, 3));  // causal
    CHECK_FALSE(mask.is_visible(0, 0, 0, 1, 0, 3));  // matrix
    CHECK_FALSE(mask.is_visible(0, 0, 0, 2, 2, 2));  // padding
    mask.painted[{}] = {{{0, 1}, true}, {{1, 0}, true}, {{2, 2}, true}, {{0, 0}, false}};
    CHECK(mask.is_visible(0, 0, 0, 0, 1, 3));
    CHECK(mask.is_visible(0, 0, 0, 1, 0, 3));
    CHECK(mask.is_visible(0, 0, 0, 2, 2, 2));
    CHECK_FALSE(mask.is_visible(0, 0, 0, 0, 0, 3));
  }

  TEST_CASE("the narrowest scope that paints a cell decides") {
    const Cell cell{1, 2};
    MaskSpec mask;
    CHECK_FALSE(mask.painted_state(0, 0, 0, cell).has_value());
    mask.painted[{}].paint(cell, false);
    CHECK(mask.painted_state(3, 2, 1, cell) == false);
    CHECK_FALSE(mask.painted_state(3, 2, 1, {2, 1}).has_value());
    mask.painted[{.head = 1}].paint(cell, true);
    CHECK(mask.painted_state(3, 2, 1, cell) == true);
    CHECK(mask.painted_state(3, 2, 0, cell) == false);
    // A layer's scope is as narrow as the head's: a layer takes precedence over a batch item, and that over a head.
    mask.painted[{.layer = 3}].paint(cell, false);
    CHECK(mask.painted_state(3, 2, 1, cell) == false);
    CHECK(mask.painted_state(4, 2, 1, cell) == true);
    mask.painted[{.batch = 2, .head = 1}].paint(cell, true);
    CHECK(mask.painted_state(3, 2, 1, cell) == true);
    mask.painted[{.layer = 3, .batch = 2, .head = 1}].paint(cell, false);
    CHECK(mask.painted_state(3, 2, 1, cell) == false);
    CHECK(mask.painted_state(3, 2, 2, cell) == false);
  }

  TEST_CASE("a matrix that doesn't fit the attention is refused with both shapes") {
    BooleanMask matrix{.batch = 2, .heads = 1, .queries = 3, .keys = 3, .keep = std::vector<std::uint8_t>(18)};
    MaskSpec mask{.matrix = matrix};
    CHECK_NOTHROW(check(mask, 2, 8, 3, 3));
    CHECK_NOTHROW(check(MaskSpec{}, 2, 8, 3, 3));
    CHECK_THROWS_WITH_AS(
        check(mask, 2, 2, 4, 4),
        "the mask is [2, 1, 3, 3] but the attention is [batch 2, heads 2, queries 4, keys 4]; queries and keys "
        "must be equal, batch and heads equal or 1",
        Error);
    CHECK_THROWS_AS(check(mask, 1, 2, 3, 3), Error);
    matrix.keep.pop_back();
    mask.matrix = matrix;
    CHECK_THROWS_WITH_AS(check(mask, 2, 2, 3, 3),
                         "the mask [2, 1, 3, 3] needs 18 cells but has 17: give it one for each query and key", Error);
  }
}

}  // namespace mask_test
