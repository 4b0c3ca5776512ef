#include <array>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "app/state/mask_file.h"
#include "app/state/session_file.h"
#include "app/state/settings.h"
#include "app/state/state_json.h"
#include "attention/expression_glsl.h"
#include "export/npy_header.h"
#include "fuzz/readers.h"

namespace headlight::fuzz {
namespace {

namespace fs = std::filesystem;

void read_mask(const fs::path& path) {
  expect_error_at_most([&] {
    const attention::BooleanMask mask = app::load_mask(path);
    if (mask.keep.size() != std::size_t{mask.batch} * mask.heads * mask.queries * mask.keys) std::abort();
  });
}

void read_npy(std::string_view bytes) {
  expect_error_at_most([&] { (void)exporting::read_npy_header(bytes); });
  read_mask(write_scratch("mask.npy", bytes));
}

void read_json_mask(std::string_view bytes) { read_mask(write_scratch("mask.json", bytes)); }

void read_session(std::string_view bytes) {
  const Result<app::State> state = app::load_session(write_scratch("s.headlight.json", bytes));
  if (!state) expect_printable(state.error());
  // An accepted value is the same after writing and reading it again.
  if (state && *app::state_from_json(app::to_json(*state)) != *state) std::abort();
}

/// No settings file may keep the app from starting, so this must not throw.
void read_settings(std::string_view bytes) {
  const fs::path path = write_scratch("settings.json", bytes);
  const app::LoadedSettings loaded = app::load_settings(path);
  if (loaded.warning && loaded.settings != app::Settings{}) std::abort();
  fs::remove(scratch_folder() / "settings.json.bad");
}

/// An accepted expression is evaluated and written as GLSL in bounded time and size.
void read_expression(std::string_view bytes) {
  for (const attention::ExpressionUse use : {attention::ExpressionUse::Mask, attention::ExpressionUse::Score}) {
    const auto parsed = attention::parse_expression(bytes, use);
    if (const auto* error = std::get_if<attention::ExpressionError>(&parsed)) {
      expect_printable(error->message);
      if (error->column < 1 || error->column > bytes.size() + 1) std::abort();
      continue;
    }
    const auto& expression = std::get<attention::Expression>(parsed);
    const attention::ExpressionMap map{.layers = 2, .heads = 3, .queries = 9, .keys = 7};
    const double score = expression.score(map, 8, 6, 0.5, {});
    if (score < -1e30 || score > 1e30) std::abort();
    constexpr std::size_t kMostGlsl = 100'000;
    if (attention::expressions_glsl(expression, expression).size() > kMostGlsl) std::abort();
  }
}

constexpr std::array kReaders{Reader{"npy", read_npy}, Reader{"mask", read_json_mask}, Reader{"session", read_session},
                              Reader{"settings", read_settings}, Reader{"expression", read_expression}};

}  // namespace

std::span<const Reader> app_readers() { return kReaders; }

}  // namespace headlight::fuzz
