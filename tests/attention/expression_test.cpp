// Expressions that the user types: what is accepted, what it is worth, and where the errors are.
#include "attention/expression.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "attention/expression_glsl.h"
#include "attention/expression_shader.h"
#include "attention/mask.h"
#include "support/error_message.h"
#include "support/expressions.h"

namespace expression_test {

using namespace headlight;
using namespace headlight::attention;
using test::compile_expressions;
using test::error_message;
using test::mask_expression;
using test::numbered_expression_glsl;
using test::score_expression;
using test::small_expression_map;

namespace {

double value(std::string_view text, double score = 0.5) {
  return score_expression(text).score(small_expression_map(), 7, 2, score, {});
}
bool truth(std::string_view text) { return mask_expression(text).shows(small_expression_map(), 7, 2, {}); }

ExpressionError refusal(std::string_view text, ExpressionUse use) {
  const auto parsed = parse_expression(text, use);
  const auto* error = std::get_if<ExpressionError>(&parsed);
  return error != nullptr ? *error : ExpressionError{0, "accepted"};
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("expression: numbers, operators and functions have GLSL's values and precedence") {
    for (const auto& one :
         std::vector<std::pair<const char*, double>>{{"1 + 2 * 3", 7},
                                                     {"(1 + 2) * 3", 9},
                                                     {"10 - 4 - 3", 3},
                                                     {"- - 2", 2},
                                                     {"+3", 3},
                                                     {"7 / 2", 3},
                                                     {"-7 / 2", -3},
                                                     {"7.0 / 2", 3.5},
                                                     {"7 % 3", 1},
                                                     {"-7 % 3", 2},
                                                     {"7 % -3", -2},
                                                     {"-7 % -3", -1},
                                                     {"5 / 0", 0},
                                                     {"5 % 0", 0},
                                                     {"5.0 / 0.0", 0},
                                                     {"mod(5.0, 0.0)", 0},
                                                     {"mod(-1.0, 3)", 2},
                                                     {"mod(7, 4)", 3},
                                                     {"1 << 4 | 3", 19},
                                                     {"6 & 3 ^ 1", 3},
                                                     {"0x10 + 1u", 17},
                                                     {"~0", -1},
                                                     {"~0u", 4294967295.0},
                                                     {"-8 >> 1", -4},
                                                     {"1 << 33", 2},
                                                     {"2147483647 + 1", -2147483648.0},
                                                     {"65536 * 65536", 0},
                                                     {"4294967295u * 4294967295u", 1},
                                                     {"0u - 1u", 4294967295.0},
                                                     {"q - k", 5},
                                                     {"k - q", -5},
                                                     {"uint(k - q)", 4294967291.0},
                                                     {"layer * 1000 + head * 100 + n_layers * 10 + n_heads", 1346},
                                                     {"n_q * 10 + n_k", 85},
                                                     {"id_q * 1000 + id_k", 12070},
                                                     {"type_q + type_k", 0},
                                                     {"segment_k * 10 + segment_q", 10},
                                                     {"score", 0.5},
                                                     {"score - 0.1 * float(q - k)", 0.0},
                                                     {"true ? 1 : 2", 1},
                                                     {"q < k ? 1 : q == 7 ? 2.5 : 3", 2.5},
                                                     {"abs(-3)", 3},
                                                     {"abs(-3.5)", 3.5},
                                                     {"sign(-2)", -1},
                                                     {"sign(0.0)", 0},
                                                     {"min(3, 2.5)", 2.5},
                                                     {"max(3, 4u)", 4},
                                                     {"clamp(9, 0, 5)", 5},
                                                     {"clamp(-1.5, 0, 5)", 0},
                                                     {"floor(-1.5)", -2},
                                                     {"ceil(1.2)", 2},
                                                     {"round(2.5)", 3},
                                                     {"exp(0)", 1},
                                                     {"log(exp(1.0))", 1},
                                                     {"log2(8)", 3},
                                                     {"exp2(-3)", 0.125},
                                                     {"sqrt(16)", 4},
                                                     {"sqrt(-1)", 0},
                                                     {"pow(2, 10)", 1024},
                                                     {"pow(-2, 2)", 0},
                                                     {"pow(0, 0)", 1},
                                                     {"sin(0) + cos(0)", 1},
                                                     {"tanh(0)", 0},
                                                     {"mix(2, 4, 0.25)", 2.5},
                                                     {"mix(2, 4, q == 7)", 4},
                                                     {"step(3, 2)", 0},
                                                     {"step(2, 2)", 1},
                                                     {"int(2.9)", 2},
                                                     {"int(-2.9)", -2},
                                                     {"int(1e20)", 2147483520.0},
                                                     {"uint(-5.0)", 0},
                                                     {"float(true) + float(false)", 1},
                                                     {"bool(3) ? 1 : 0", 1},
                                                     {"1e-3 * 1000", 1},
                                                     {".5 + 1.", 1.5},
                                                     {"exp(1000.0) * 0.0", 0},
                                                     {"1e30 * 1e8", 1e30},
                                                     {"1.2e-38 > 0.0 ? 1 : 2", 1},
                                                     {"1.1e-38 > 0.0 ? 1 : 2", 2},
                                                     {"score == score + 1e-45 ? 1 : 2", 1},
                                                     {"slider(a, 0, 1, 1e-38) > 0.0 ? 1 : 2", 2},
                                                     {"slider(a, 1, 3)", 2},
                                                     {"slider(a, 1, 3, 1.5) + a", 3},
                                                     {"slider(a, -3, -1)", -2}}) {
      INFO(one.first);
      CHECK(value(one.first) == doctest::Approx(one.second).epsilon(1e-12));
    }
    CHECK(std::isnan(value("score * 2.0", std::numeric_limits<double>::quiet_NaN())));
  }

  TEST_CASE("expression: what a mask says") {
    for (const char* text :
         {"k <= q", "k <= q && q - k < 64", "!(k > q)", "q != k ^^ k == q", "true || 1 / 0 == 1", "k == 2", "id_k == 70",
          "(q ^ k) != 0", "segment_k == 1", "q > 3 == true", "head >= 3", "  true\t\n"}) {
      INFO(text);
      CHECK(truth(text));
    }
    for (const char* text : {"k > q", "q - k < 5", "false", "id_q == 0", "q < k || layer != 1", "3u > 4u"}) {
      INFO(text);
      CHECK_FALSE(truth(text));
    }
  }

  TEST_CASE("expression: errors say the column and one line") {
    struct Wrong {
      const char* text;
      std::uint32_t column;
      const char* says;
    };
    for (const Wrong& wrong : std::vector<Wrong>{{"k <= ", 6, "a value is missing"},
                                                 {"k <= sore", 6, "'sore' is unknown"},
                                                 {"k < = q", 5, "nothing can be assigned"},
                                                 {"k = q", 3, "nothing can be assigned"},
                                                 {"k", 1, "a mask needs a bool, and this is int"},
                                                 {"k <= q && 3", 11, "'&&' needs a bool, and this is int"},
                                                 {"score > 1.0", 1, "a mask can't depend on the score"},
                                                 {"(k <= q", 8, "')' is missing"},
                                                 {"k <= q)", 7, "')' isn't expected here"},
                                                 {"k <= q q", 8, "'q' isn't expected here"},
                                                 {"for (;;)", 6, "ends or groups statements"},
                                                 {"while(true)", 1, "belongs to statements"},
                                                 {"ids[q] == 1", 4, "no arrays"},
                                                 {"q.x == 1", 2, "no arrays"},
                                                 {"texture(q) == 1", 1, "there is no function 'texture'"},
                                                 {"abs() == 1", 1, "abs takes 1 value, not 0"},
                                                 {"min(q) == 1", 1, "min takes 2 values, not 1"},
                                                 {"abs(q,) == 1", 7, "a value is expected before ')'"},
                                                 {"abs q == 1", 5, "'(' is expected before 'q'"},
                                                 {"q + true == 1", 5, "'+' needs a number"},
                                                 {"!q", 2, "'!' needs a bool"},
                                                 {"q % 2.0 == 0", 5, "mod(a, b) takes floats"},
                                                 {"(q & 1.5) == 0", 6, "needs whole numbers"},
                                                 {"~1.5 == 0", 2, "needs a whole number"},
                                                 {"q ? true : false", 1, "'?' needs a bool"},
                                                 {"true ? 1 : false", 12, "one value of '? :' is int, the other bool"},
                                                 {"true ? 1", 9, "':' is missing"},
                                                 {"q == 012", 6, "octal"},
                                                 {"q == 1.2.3", 6, "'1.2.3' is no number"},
                                                 {"q == 12a", 6, "'12a' is no number"},
                                                 {"q == 1f", 6, "is no number"},
                                                 {"q == 0x", 6, "is no number"},
                                                 {"q == 2147483648", 6, "more than 2147483647"},
                                                 {"q == 1e99", 6, "beyond what a float holds"},
                                                 {"q == \xc3\xbc", 6, "ASCII"},
                                                 {"q == #", 6, "preprocessor"},
                                                 {"q == @", 6, "means nothing"},
                                                 {"q == 1;", 7, "statements"},
                                                 {"q == k\r", 7, "ASCII"},
                                                 {"q < slider(1, 2)", 12, "a slider needs a name"},
                                                 {"q < slider(q, 1, 2)", 12, "means something else"},
                                                 {"q < slider(a, 2, 1)", 15, "from a smaller to a larger"},
                                                 {"q < slider(a, 1)", 16, "',' is expected"},
                                                 {"q < slider(a, b, 1)", 15, "is a number"},
                                                 {"q < slider(a, 0, 1, 3)", 20, "starts between"},
                                                 {"slider(a, 0, 1) < slider(a, 0, 2)", 26, "declared twice"},
                                                 {"a < slider(a, 0, 1)", 1, "'a' is unknown"}}) {
      INFO(wrong.text);
      const ExpressionError error = refusal(wrong.text, ExpressionUse::Mask);
      CHECK(error.column == wrong.column);
      INFO(error.message);
      CHECK(error.message.find(wrong.says) != std::string::npos);
      CHECK(error.message.find('\n') == std::string::npos);
    }
    CHECK(refusal("k <= q", ExpressionUse::Score).message.find("a score needs a number") == 0);
    CHECK(to_string(ExpressionError{3, "no"}) == "column 3: no");
    // A word of many letters is named by its ends.
    CHECK(refusal(std::string(900, '7'), ExpressionUse::Score).message.size() < 120);
    CHECK(refusal("k <= " + std::string(900, 'q'), ExpressionUse::Mask).message.size() < 200);
  }

  TEST_CASE("expression: too long, too deep and too many parts are refused") {
    CHECK(refusal(std::string(1001, '1'), ExpressionUse::Score).message == "an expression has at most 1000 characters");
    CHECK(refusal(fmt::format("{0:(>400}1{0:)>400}", ""), ExpressionUse::Score).message ==
          "more than 100 parts are inside of each other");
    CHECK(refusal(fmt::format("{:->900}1", ""), ExpressionUse::Score).message ==
          "more than 100 parts are inside of each other");
    std::string chain = "1";
    for (int i = 0; i < 200; ++i) chain += "+1";
    CHECK(refusal(chain, ExpressionUse::Score).message == "an expression has at most 256 operations, names and numbers");
    std::string sliders = "0.0";
    for (char name = 'a'; name < 'a' + 9; ++name) sliders += fmt::format(" + slider(s_{}, 0, 1)", name);
    CHECK(refusal(sliders, ExpressionUse::Score).message == "an expression has at most 8 sliders");
  }

  TEST_CASE("expression: none, equality, needs and sliders' values") {
    CHECK_FALSE(mask_expression(""));
    CHECK_FALSE(mask_expression("  \t"));
    CHECK(Expression().shows({}, 0, 1, {}));
    CHECK(Expression().score({}, 0, 1, 2.5, {}) == 2.5);
    CHECK(mask_expression("k <= q") == mask_expression("k <= q"));
    CHECK(mask_expression("k <= q") != mask_expression("k < q"));
    CHECK(mask_expression("k <= q") != Expression());
    CHECK_FALSE(mask_expression("k <= q").needs().ids);
    CHECK(mask_expression("id_k == 1").needs().ids);
    CHECK(mask_expression("k < n_k").needs().text_length);
    CHECK(mask_expression("segment_k == 1").needs().segments);
    CHECK(score_expression("score + float(type_q)").needs().types);
    const Expression with_slider = score_expression("score * slider(gain, 0, 4, 1)");
    REQUIRE(with_slider.sliders().size() == 1);
    CHECK(with_slider.score(small_expression_map(), 0, 0, 3.0, {}) == 3.0);
    CHECK(with_slider.score(small_expression_map(), 0, 0, 3.0, {{"gain", 2.0f}}) == 6.0);
    CHECK(with_slider.score(small_expression_map(), 0, 0, 3.0, {{"gain", 9.0f}}) == 12.0);  // no more than it goes to
  }

  TEST_CASE("expression: a mask shows what rule, padding and expression show, and paint wins") {
    MaskSpec mask{.rule = {.causal = true}};
    mask.mask_expression = mask_expression("q - k < 3");
    const auto shows = [&](std::uint32_t query, std::uint32_t key) {
      return mask.is_visible({.queries = 8, .keys = 8}, 0, {query, key}, 8);
    };
    CHECK(shows(5, 3));
    CHECK_FALSE(shows(5, 2));
    CHECK_FALSE(shows(5, 6));
    mask.painted[{}].paint({5, 2}, true);
    mask.painted[{}].paint({5, 4}, false);
    CHECK(shows(5, 2));
    CHECK_FALSE(shows(5, 4));
    CHECK(mask != MaskSpec{.rule = {.causal = true}, .painted = mask.painted});
  }

  TEST_CASE("expression: every preset is accepted, and shaderc compiles it") {
    for (const ExpressionPreset& preset : expression_presets()) {
      INFO(preset.name);
      const Expression parsed = test::expression(preset.text, preset.use);
      const bool is_mask = preset.use == ExpressionUse::Mask;
      const std::string glsl = expressions_glsl(is_mask ? parsed : Expression(), is_mask ? Expression() : parsed);
      CHECK(error_message([&] { compile_expressions(glsl); }).empty());
    }
    CHECK_FALSE(error_message([&] { compile_expressions("bool broken"); }).empty());
  }

  TEST_CASE("expression: 5,000 texts at random are refused in a line or accepted, and then shaderc compiles them") {
    test::Random random(13);
    std::size_t accepted = 0, of_shader = 0;
    std::string shader;
    const auto flush = [&] {
      CHECK(error_message([&] { compile_expressions(shader); }) == "");
      shader.clear();
      of_shader = 0;
    };
    for (int i = 0; i < 5000; ++i) {
      const std::string text = test::random_expression(random);
      CAPTURE(text);
      for (const ExpressionUse use : {ExpressionUse::Mask, ExpressionUse::Score}) {
        const auto parsed = parse_expression(text, use);
        if (const auto* error = std::get_if<ExpressionError>(&parsed)) {
          CHECK(error->column >= 1);
          CHECK(error->column <= text.size() + 1);
          CHECK(error->message == one_line(error->message));
          continue;
        }
        const auto& expression = std::get<Expression>(parsed);
        const double score = expression.score(small_expression_map(), 6, 1, 0.25, {});
        CHECK((std::isnan(score) || std::abs(score) <= 1e30));
        shader += numbered_expression_glsl(expression, use, accepted++);
        if (++of_shader == 200) flush();
      }
    }
    flush();
    CAPTURE(accepted);
    CHECK(accepted > 500);  // or the test compiles nothing
  }
}

}  // namespace expression_test
