// Expressions that were damaged: refused in words at a column of the text, or accepted, and then shaderc compiles them and
// the device computes what the reference does.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "attention/expression_glsl.h"
#include "attention/expression_shader.h"
#include "core/utf8.h"
#include "support/error_message.h"
#include "support/expressions.h"
#include "support/gpu.h"
#include "support/mutated_expressions.h"
#include "support/sanitizers.h"

namespace expression_mutation_test {

using namespace headlight;
using namespace headlight::attention;

namespace {

constexpr int kMutants = test::random_cases(5'000);
constexpr double kLongest_s = 5.0;  // observed 0.001 s, on two processors that compiled for four

struct Accepted {
  std::string text;
  ExpressionUse use = ExpressionUse::Mask;
  Expression expression;
};

/// The outcome of the mutants.
struct Outcome {
  std::vector<Accepted> accepted;
  int refused = 0;
  double longest_s = 0.0;
};

/// The score that a cell has before the expression; float32 holds it.
double score_of(std::uint32_t query, std::uint32_t key) { return 0.375 * query - 0.75 * key + 0.25; }

void judge(const std::string& text, ExpressionUse use, Outcome& outcome) {
  const auto start = std::chrono::steady_clock::now();
  auto parsed = parse_expression(text, use);
  if (const auto* error = std::get_if<ExpressionError>(&parsed)) {
    ++outcome.refused;
    CHECK(error->column >= 1);
    CHECK(error->column <= text.size() + 1);
    CHECK(error->message.size() > 5);
    CHECK(error->message == one_line(error->message));
  } else {
    auto& expression = std::get<Expression>(parsed);
    const double score = expression.score(test::small_expression_map(), 6, 1, score_of(6, 1), {});
    CHECK((std::isnan(score) || std::abs(score) <= 1e30));
    if (expression) outcome.accepted.push_back({text, use, std::move(expression)});
  }
  const double took_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  outcome.longest_s = std::max(outcome.longest_s, took_s);
}

/// All mutants, as masks and as scores.
Outcome judge_all(std::uint32_t seed) {
  test::Random random(seed);
  Outcome outcome;
  for (int i = 0; i < kMutants; ++i) {
    const std::string text = test::mutated_expression(random);
    CAPTURE(text);
    for (const ExpressionUse use : {ExpressionUse::Mask, ExpressionUse::Score}) judge(text, use, outcome);
  }
  return outcome;
}

std::string functions_of(std::span<const Accepted> some) {
  std::string functions;
  for (std::size_t i = 0; i < some.size(); ++i)
    functions += test::numbered_expression_glsl(some[i].expression, some[i].use, i);
  return functions;
}

/// Returns the device's values for every cell of small_expression_map(), [expression, query, key]; a mask's bool as 0
/// or 1.
std::vector<float> on_device(gpu::Context& context, std::span<const Accepted> some) {
  const ExpressionMap map = test::small_expression_map();
  std::vector<std::uint32_t> words{0};  // where a word says that something begins, 0 says that nothing does
  std::string main =
      "layout(set = 0, binding = 1) buffer result_buffer { float result[]; };\nvoid main() {\n"
      "  uint query = gl_WorkGroupID.x, key = gl_WorkGroupID.y;\n"
      "  float score = 0.375 * float(query) - 0.75 * float(key) + 0.25;\n";
  for (std::size_t i = 0; i < some.size(); ++i) {
    const auto& [text, use, expression] = some[i];
    const bool is_mask = use == ExpressionUse::Mask;
    const std::string call =
        is_mask ? fmt::format("float(expression_shows{}({}u, 0u, {}u, query, key))", i, words.size(), map.head)
                : fmt::format("expression_score{}(score, {}u, 0u, {}u, query, key)", i, words.size(), map.head);
    main += fmt::format("  result[({}u * {}u + query) * {}u + key] = {};\n", i, map.queries, map.keys, call);
    append_expression_words(words, is_mask ? expression : Expression(), is_mask ? Expression() : expression, {}, map);
  }
  const std::vector<std::uint32_t> spirv = test::compile_expressions(functions_of(some), main + "}\n");
  return test::run_expressions(context, spirv, words, some.size() * map.queries * map.keys, {map.queries, map.keys, 1});
}

double by_reference(const Accepted& one, std::uint32_t query, std::uint32_t key) {
  const ExpressionMap map = test::small_expression_map();
  if (one.use == ExpressionUse::Mask) return one.expression.shows(map, query, key, {}) ? 1.0 : 0.0;
  return one.expression.score(map, query, key, score_of(query, key), {});
}

/// Float32 has part in it, so that rounding may decide a comparison or be enlarged.
bool has_floats(const Accepted& one) {
  const std::string glsl = test::numbered_expression_glsl(one.expression, one.use, 0);
  return glsl.find("precise float") != std::string::npos;
}

/// Cells where device and reference differ by more than 1e-4 of the value, or of 1 where that is more.
std::size_t different_cells(const Accepted& one, std::span<const float> computed) {
  const ExpressionMap map = test::small_expression_map();
  std::size_t count = 0;
  for (std::uint32_t query = 0; query < map.queries; ++query) {
    for (std::uint32_t key = 0; key < map.keys; ++key) {
      const double expected = by_reference(one, query, key), got = static_cast<double>(computed[query * map.keys + key]);
      if (!(std::abs(got - expected) <= 1e-4 * std::max(1.0, std::abs(expected)))) ++count;
    }
  }
  return count;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("5,000 mutated expressions are refused in words at a column or accepted, and then shaderc compiles them") {
    const Outcome outcome = judge_all(17);
    MESSAGE(outcome.accepted.size(), " accepted, ", outcome.refused, " refused, the longest took ", outcome.longest_s, " s");
    CHECK(outcome.longest_s < kLongest_s);
    CHECK(outcome.accepted.size() > kMutants / 10);  // or the mutations are too coarse to find anything
    CHECK(outcome.refused > kMutants / 5);
    constexpr std::size_t kOfShader = 200;
    const std::span<const Accepted> all = outcome.accepted;
    for (std::size_t at = 0; at < all.size(); at += kOfShader) {
      const auto some = all.subspan(at, std::min(kOfShader, all.size() - at));
      CHECK(test::error_message([&] { static_cast<void>(test::compile_expressions(functions_of(some))); }) == "");
    }
  }
}

TEST_SUITE("gpu") {
  /// Values are equal for expressions of whole numbers alone; rounding in float32 may be enlarged without bound.
  TEST_CASE_FIXTURE(test::OnGpu, "mutated expressions that are accepted have the reference's values on the device") {
    constexpr std::size_t kSample = 400, kOfShader = 40;
    Outcome outcome = judge_all(18);
    std::set<std::string> known;
    std::erase_if(outcome.accepted, [&](const Accepted& one) { return !known.insert(one.text).second; });
    REQUIRE(outcome.accepted.size() > kSample);
    const ExpressionMap map = test::small_expression_map();
    const std::size_t cells = std::size_t{map.queries} * map.keys;
    std::size_t with_floats = 0, differing = 0;
    for (std::size_t at = 0; at < kSample; at += kOfShader) {
      const auto some = std::span<const Accepted>(outcome.accepted).subspan(at, kOfShader);
      const std::vector<float> computed = on_device(context, some);
      for (std::size_t i = 0; i < some.size(); ++i) {
        const std::size_t different = different_cells(some[i], std::span(computed).subspan(i * cells, cells));
        INFO(some[i].text);
        if (!has_floats(some[i])) {
          CHECK(different == 0);
          continue;
        }
        ++with_floats;
        if (different == 0) continue;
        ++differing;
        MESSAGE(different, " of ", cells, " cells differ");
      }
    }
    MESSAGE(kSample, " expressions, ", with_floats, " of them with floats, ", differing, " of these differ somewhere");
    CHECK(with_floats < kSample - kSample / 10);
    CHECK(differing <= with_floats / 50);  // observed 0 of 285
  }
}

}  // namespace expression_mutation_test
