// Every figure names the changes of a run from its model; and no file names the place where it was made.
#include <zlib.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "app/figures/figure_kind.h"
#include "app/figures/job.h"
#include "app/state/comparison.h"
#include "app/state/dropout_settings.h"
#include "app/state/model_changes.h"
#include "app/state/session_file.h"
#include "core/file.h"
#include "engine/fake_runner.h"
#include "export/figure_session.h"
#include "support/expressions.h"
#include "support/retrained_model.h"
#include "support/svg_words.h"
#include "support/temporary_directory.h"

namespace figure_changes_test {

using namespace headlight;
using namespace headlight::app;
namespace fs = std::filesystem;

namespace {

State gpt2_state(const fs::path& model) {
  State state;
  attention::MaskSet trained;
  trained[model::BlockKind::EncoderSelf].rule.causal = true;
  select_model(state, model.string(), trained);
  state.model().ids = {{5, 9, 2, 7}};
  return state;
}

struct KindOfChange {
  const char* words;  ///< "×" stands for any factor
  std::function<void(State&)> make;
};

attention::MaskSpec& mask_of(State& state) { return state.masks[model::BlockKind::EncoderSelf]; }

/// All that a user can change about a run beside its text.
std::vector<KindOfChange> kinds_of_changes() {
  const model::BlockRef block{.layer = {1}};
  const auto kept = [=](model::Site site, inference::Operation operation) {
    return [=](State& state) {
      state.changes = {{.name = "the mean of L1H1",
                        .intervention = inference::Intervention{
                            .site = site, .scope = inference::scope_of(block, 1), .operation = operation}}};
    };
  };
  return {
      {"L1H2 knocked out", [=](State& state) { set_head_gain(state, block, 2, 0.0F); }},
      {"L1H2 × 0.5", [=](State& state) { set_head_gain(state, block, 2, 0.5F); }},
      {"L1H0 replaced (previous)",
       [=](State& state) {
         state.patterns[{block, 0}] = attention::FixedPattern::Previous;
       }},
      {"the mean of L1H1", kept(model::Site::HeadOutput, inference::Replace{.first = 1, .rows = {1, 2, 3, 4, 5, 6}})},
      {"the mean of L1H1", kept(model::Site::Residual, inference::Add{std::vector<float>(36, 0.5F)})},
      {"the mean of L1H1", kept(model::Site::HeadOutput, inference::Average{})},
      {"dropout 0.25 of weights, branches, seed 7",
       [](State& state) {
         state.settings.set(kDropout.probability, 0.25F)
             .set(kDropout.seed, 7)
             .set(kDropout.embeddings, false)
             .set(kDropout.inner, false);
       }},
      {"causal off", [](State& state) { mask_of(state).rule.causal = false; }},
      {"padding off", [](State& state) { mask_of(state).rule.key_padding = false; }},
      {"window 2", [](State& state) { mask_of(state).rule.window = 2; }},
      {"prefix 2", [](State& state) { mask_of(state).rule.prefix = 2; }},
      {"fill \u22121e9", [](State& state) { mask_of(state).fill = attention::MaskFill::MinusOneBillion; }},
      {"mask matrix",
       [](State& state) { mask_of(state).matrix = attention::BooleanMask{.queries = 1, .keys = 1, .keep = {0}}; }},
      {"1 cell painted", [](State& state) { mask_of(state).painted[{}].paint({.query = 2, .key = 1}, false); }},
      {"2 cells painted in H0 of every layer, L1H2",
       [](State& state) {
         mask_of(state).painted[{.layer = 1, .head = 2}].paint({.query = 2, .key = 1}, false);
         mask_of(state).painted[{.batch = 0, .head = 0}].paint({.query = 2, .key = 1}, false);
       }},
      {"1 bias painted in L1",
       [](State& state) {
         mask_of(state).biases[{.layer = 1}] = attention::NumberRuns{{{2, 1}, -1.5F}};
       }},
      {"1 bias painted",
       [](State& state) {
         mask_of(state).biases[{}] = attention::NumberRuns{{{2, 1}, -1.5F}};
       }},
      {"documents apart", [](State& state) { attention::set_documents(mask_of(state), 0, {2}); }},
      {"mask expression", [](State& state) { mask_of(state).mask_expression = test::mask_expression("k <= q"); }},
      {"score expression", [](State& state) { mask_of(state).score_expression = test::score_expression("2.0 * score"); }},
      {"positions stretched 2×",
       [](State& state) {
         state.model().stretches_positions = true;
         state.model().ids = {std::vector<std::uint32_t>(33, 5)};  // the table has 32
       }},
      {"weights rounded to float16", [](State& state) { state.model().precision = inference::Precision::F16; }},
      {"L1H2 knocked out · window 2",
       [=](State& state) {
         set_head_gain(state, block, 2, 0.0F);
         mask_of(state).rule.window = 2;
       }},
  };
}

ExportOptions options_of(const State& state, const fs::path& folder) {
  ExportOptions options;
  options.inputs = run_inputs(state);
  options.layers = IndexSet(0);
  options.heads = IndexSet(0);
  options.set(kFigureLook.dpi, kMinDpi);
  options.formats = {ExportFormat::Png, ExportFormat::Svg, ExportFormat::Pdf};
  options.directory = folder;
  options.views.assign(figure_kinds().begin(), figure_kinds().end() - kFiguresOfViews);
  options.baseline = make_baseline(state);  // pairs have one
  options.writes_differences = false;
  options.session = portable_state(state, folder);
  return options;
}

/// Returns all that a file states: its bytes, the session in it, and the deflated parts of a PDF.
std::string said_by(const fs::path& file) {
  const std::string bytes = read_file(file);
  std::string all = bytes + '\n' + exporting::session_of_figure(bytes).value_or("");
  for (std::size_t at = bytes.find("stream\n"); at != std::string::npos; at = bytes.find("stream\n", at + 1)) {
    std::string text(std::size_t{1} << 20, '\0');
    uLongf size = text.size();
    const std::size_t from = at + 7;
    const auto* data = reinterpret_cast<const Bytef*>(bytes.data() + from);
    static_cast<void>(uncompress(reinterpret_cast<Bytef*>(text.data()), &size, data, bytes.size() - from));
    all.append(text, 0, size == text.size() ? 0 : size);
  }
  return all;
}

/// UTF-16 in hexadecimal, as a PDF's metadata has what isn't ASCII.
std::string in_pdf(std::string_view words) {
  std::string hex;
  for (std::size_t at = 0; at < words.size();) {
    const auto lead = static_cast<unsigned char>(words[at]);
    const std::size_t count = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : 3;
    std::uint32_t code = count == 1 ? lead : lead & (0xFFU >> (count + 1));
    for (std::size_t i = 1; i < count; ++i) code = code << 6 | (static_cast<unsigned char>(words[at + i]) & 0x3FU);
    hex += fmt::format("{:04x}", code);
    at += count;
  }
  return hex;
}

bool says(const fs::path& file, const std::string& words) {
  const std::string all = said_by(file);
  if (file.extension() != ".pdf") return all.find(words) != std::string::npos;
  std::string small = all;
  std::ranges::transform(small, small.begin(), [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; });
  return all.find(words) != std::string::npos || small.find(in_pdf(words)) != std::string::npos;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("every kind of change is named by every kind of figure in every format, in caption and metadata") {
    const TemporaryDirectory folder;
    const fs::path model = test::copy_of_golden("gpt2", folder.path() / "model");
    for (const KindOfChange& change : kinds_of_changes()) {
      CAPTURE(change.words);
      State state = gpt2_state(model);
      change.make(state);
      FakeRunner runner{"fake", std::make_shared<FakeLog>()};
      const ExportReport report = run_export(runner, options_of(state, folder.path() / "out"));
      const std::string note = std::string("Differs from the trained model: ") + change.words;
      std::size_t svgs = 0;
      for (const fs::path& file : report.files) {
        INFO(file.string());
        if (file.extension() == ".json") {
          CHECK(says(file, fmt::format("\"differs\": \"{}\"", change.words)));
          continue;
        }
        CHECK(says(file, note));
        if (file.extension() != ".svg") continue;
        ++svgs;
        const std::string svg = read_file(file), drawn = svg.substr(svg.find("</metadata>"));
        CHECK(svg.find("<desc>" + note + ". Tokens: \u201C") != std::string::npos);
        CHECK(test::svg_words(drawn).find(note) != std::string::npos);
      }
      CHECK(svgs == figure_kinds().size() - kFiguresOfViews - 1);  // one head alone has no sheet
    }
  }

  TEST_CASE("a figure of a model as it was trained says nothing, and of two runs what each was changed by") {
    const TemporaryDirectory folder;
    State state = gpt2_state(test::copy_of_golden("gpt2", folder.path() / "model"));
    FakeRunner runner{"fake", std::make_shared<FakeLog>()};
    ExportOptions options = options_of(state, folder.path() / "out");
    options.views = {&kPairFigure};
    options.formats = {ExportFormat::Svg};
    CHECK_FALSE(says(run_export(runner, options).files.front(), "Differs"));
    set_head_gain(state, {}, 1, 0.0F);
    options.baseline = make_baseline(state);
    CHECK(says(run_export(runner, options).files.front(),
               "Differs from the trained model: nothing; in the compared run: L0H1 knocked out"));
    options.inputs = run_inputs(state);
    CHECK(says(run_export(runner, options).files.front(), "Differs from the trained model: L0H1 knocked out. Tokens: "));
    options.set(kFigureParts.subtitle, false);  // then the metadata alone says it
    const std::string svg = read_file(run_export(runner, options).files.front());
    CHECK(test::svg_words(svg.substr(svg.find("</metadata>"))).find("Differs") == std::string::npos);
    CHECK(svg.find("<desc>Differs from the trained model: L0H1 knocked out. Tokens: ") != std::string::npos);
  }

  TEST_CASE("no file of an export says where the model, the capture or the file itself are") {
    const TemporaryDirectory folder;
    const fs::path model = test::copy_of_golden("gpt2", folder.path() / "models" / "mine");
    State state = gpt2_state(model);
    State baseline = state;
    set_head_gain(baseline, {}, 1, 0.0F);
    state.compare.baseline = make_baseline(baseline);
    ExportOptions options = options_of(state, folder.path() / "out");
    options.formats.clear();
    for (std::size_t i = 0; i < kExportFormats; ++i) options.formats.push_back(static_cast<ExportFormat>(i));
    FakeRunner runner{"fake", std::make_shared<FakeLog>()};
    std::size_t looked = 0;
    const ExportReport report = run_export(runner, options);
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(options.directory)) {
      if (!entry.is_regular_file()) continue;
      INFO(entry.path().string());
      CHECK_FALSE(says(entry.path(), folder.path().string()));
      ++looked;
    }
    CHECK(looked > 30);
    // The figure's session finds its model beside it, and the compared run's.
    const Result<State> shown = load_session(
        *std::ranges::find(report.files, fs::path(".svg"), [](const fs::path& file) { return file.extension(); }));
    REQUIRE(shown);
    CHECK(model_path(shown->source) == model.string());
    REQUIRE(shown->compare.baseline);
    CHECK(model_path(shown->compare.baseline->inputs.source) == model.string());
  }

  TEST_CASE("files are named relative to a figure, as in the hub's cache, or by their last part") {
    CHECK(portable_path("/home/a/models/gpt2", "/home/a/paper/figures") == "../../models/gpt2");
    CHECK(portable_path("/home/a/paper/gpt2.gguf", "/home/a/paper") == "gpt2.gguf");
    CHECK(portable_path("/data/models/gpt2/", "/home/a") == "gpt2");
    CHECK(portable_path("/home/a/hub/models--owner--tiny/snapshots/0123", "/home/a") == "owner/tiny");
    CHECK(portable_path("owner/tiny", "/home/a") == "owner/tiny");
    CHECK(portable_path("", "/home/a") == "");
    State state;
    select_model(state, "/data/models/gpt2", {});
    change_to_model(state, portable_path("/data/models/gpt2", "/home/a"));
    find_at(state, "/elsewhere/bert");
    CHECK(model_path(state.source) == "gpt2");
    find_at(state, "/elsewhere/gpt2");
    CHECK(model_path(state.source) == "/elsewhere/gpt2");
  }
}

}  // namespace figure_changes_test
