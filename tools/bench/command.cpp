#include "tools/bench/command.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "app/cli/flags.h"
#include "app/models/starter_view.h"
#include "app/state/map_settings.h"
#include "app/state/settings.h"
#include "app/state/usage.h"
#include "export/drawing.h"
#include "model/network.h"
#include "tools/bench/bench.h"
#include "tools/bench/check.h"
#include "tools/bench/model_bench.h"
#include "tools/bench/random_model.h"
#include "tools/bench/report.h"
#include "tools/bench/roofline.h"
#include "tools/bench/viewer_bench.h"

namespace headlight::bench {
namespace {

using namespace app;  // NOLINT(google-build-using-namespace): its flags and its window

constexpr std::uint32_t kLongest = 32'768, kLongestOfFull = 4'096;
constexpr std::uint32_t kKeystrokes = 40;
constexpr std::uint64_t kMaxGrid = 64;
constexpr std::uint32_t kMaxHeads = model::kMaxModelHeads;

constexpr const char* kBenchDescription =
    "Measure what each operation and a whole pass cost\n\n"
    "Runs every operation on random numbers (self-attention, causal, one batch item) and reports the median of several\n"
    "rounds after a warm-up: wall time (recording, submission, waiting for the fence), GPU time by timestamps, and GFLOP/s "
    "by\n"
    "wall time. Of attention and tiles only the pairs that the causal mask shows are counted as flops.";

std::string footer() {
  std::string text = "Operations:\n";
  for (const Operation operation : operations()) {
    text += fmt::format("  {:<20} {}\n", to_string(operation), description(operation));
  }
  return text +
         "--format json prints one object a line: op, n, d_model, heads, causal, wall_ms, gpu_ms, gflops, device, driver, "
         "variant,\n"
         "dispatches, device_bytes and state_bytes (forward: with and without the weights).\n\n"
         "With --model: load (file to device), forward (a new text and the last token's logits), append (one more token),\n"
         "paint_L (a cell painted in layer L; those below are kept), stream and fill (every core reads the weights' bytes "
         "once,\n"
         "writes as many into new memory), with the process' largest resident size.\n\n"
         "Examples:\n"
         "  headlight-bench --quick\n"
         "  headlight-bench --ops qkv_gemm,linear_naive --n 64,256 --d-model 768 --heads 12 --format json\n"
         "  headlight-bench --model gpt2 --n 16,64,256\n"
         "  headlight-bench --ops qkv_gemm,output_projection,attention,forward,tile --n 64,256,1024 --roofline "
         "roofline.svg\n"
         "  headlight-bench --check";
}

struct BenchFlags {
  std::string device, model;
  bool keeps_halves = false;
  std::vector<Operation> operations{bench::operations().begin(), bench::operations().end()};
  std::vector<std::uint32_t> tokens;
  std::vector<std::uint32_t> widths = {512, 768};
  std::vector<std::uint32_t> heads = {8, 12};
  std::uint32_t longest = 1024;
  std::uint32_t rounds = 0;
  std::optional<std::pair<std::uint32_t, std::uint32_t>> grid;  ///< layers and heads of a random model; none: no such
  std::filesystem::path roofline;                               ///< the figure's file; empty: none
  bool is_quick = false, is_full = false, is_check = false, is_viewer = false, is_json = false;
};

std::vector<std::uint32_t> parse_list(std::string_view flag, const std::vector<std::string>& values, std::uint32_t low,
                                      std::uint32_t high) {
  std::vector<std::uint32_t> numbers;
  for (const std::string& part : split_list(flag, values)) {
    numbers.push_back(static_cast<std::uint32_t>(parse_integer(flag, part, low, high)));
  }
  return numbers;
}

std::vector<Operation> parse_operations(const std::vector<std::string>& values) {
  std::vector<std::string> names;
  for (const Operation operation : operations()) names.emplace_back(to_string(operation));
  std::vector<Operation> operations;
  for (const std::string& part : split_list("--ops", values)) {
    const Operation operation = bench::operations()[parse_choice("--ops", part, names)];
    if (std::find(operations.begin(), operations.end(), operation) == operations.end()) operations.push_back(operation);
  }
  return operations;
}

/// --n as given, or powers of two (--quick: of four) up to the longest.
std::vector<std::uint32_t> token_counts(const BenchFlags& flags) {
  std::vector<std::uint32_t> counts = flags.tokens;
  for (std::uint32_t n = 16; flags.tokens.empty() && n <= flags.longest; n *= flags.is_quick ? 4 : 2) counts.push_back(n);
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

Plan make_plan(const BenchFlags& flags) {
  constexpr double kQuickBudgetMs = 150.0;
  if (flags.widths.size() != flags.heads.size()) {
    throw UsageError(
        "--d-model names {} widths and --heads {} numbers of heads; they go in pairs, as in --d-model 512,768 --heads 8,12",
        flags.widths.size(), flags.heads.size());
  }
  Plan plan{.operations = flags.operations, .sizes = {}, .rounds = {.count = flags.rounds}};
  if (flags.is_quick) plan.rounds.budget_ms = kQuickBudgetMs;
  if (flags.is_full) plan.longest_ms = 0.0;
  for (std::size_t i = 0; i < flags.widths.size(); ++i) {
    const Size model{.n = 0, .d_model = flags.widths[i], .heads = flags.heads[i]};
    if (model.d_model % model.heads != 0) {
      throw UsageError("--heads: {} heads don't divide a d_model of {}", model.heads, model.d_model);
    }
    for (const std::uint32_t n : token_counts(flags)) plan.sizes.push_back({n, model.d_model, model.heads});
  }
  return plan;
}

void print(const ModelResult& result, bool is_json) {
  if (is_json) {
    std::cout << fmt::format(
        "{{\"op\": \"model_{}\", \"n\": {}, \"wall_ms\": {:.3f}, \"gpu_ms\": {:.3f}, \"dispatches\": {}, \"peak_mib\": "
        "{:.0f}}}\n",
        result.op, result.n, result.wall_ms, result.gpu_ms, result.dispatches, result.peak_mib);
  } else {
    std::cout << fmt::format("{:<10} {:>6} {:>12.2f} {:>12.2f} {:>11} {:>10.0f}\n", result.op, result.n, result.wall_ms,
                             result.gpu_ms, result.dispatches, result.peak_mib);
  }
  std::cout << std::flush;
}

int run_model_bench(const BenchFlags& flags) {
  gpu::ContextOptions options;
  options.device = flags.device;
  gpu::Context context(options);
  const ModelPlan plan{.path = flags.model,
                       .tuning_file = tuning_file(),
                       .tokens = token_counts(flags),
                       .precision = flags.keeps_halves ? inference::Precision::F16 : inference::Precision::F32,
                       .rounds = {.count = flags.rounds}};
  if (!flags.is_json) {
    std::cout << fmt::format("{:<10} {:>6} {:>12} {:>12} {:>11} {:>10}\n", "op", "n", "wall ms", "GPU ms", "dispatches",
                             "peak MiB");
  }
  run_model(context, plan, [&](const ModelResult& result) { print(result, flags.is_json); });
  return 0;
}

/// Median and worst of one of the costs.
std::string spread(const std::vector<KeystrokeCost>& costs, double KeystrokeCost::*cost) {
  std::vector<double> values;
  for (const KeystrokeCost& keystroke : costs) values.push_back(keystroke.*cost);
  return fmt::format("{:>10.1f} {:>10.1f}", median(values), *std::ranges::max_element(values));
}

void print_experiments(const ExperimentCosts& costs) {
  std::cout << fmt::format("\nexperiments at {} tokens, ms {:>10} {:>10}\n", costs.tokens, "median", "worst");
  const auto print_row = [](const std::string& name, const std::vector<double>& values) {
    if (values.empty()) return;
    std::cout << fmt::format("{:<27} {:>10.1f} {:>10.1f}\n", name, median(values), *std::ranges::max_element(values));
  };
  print_row("a painted cell to all maps", costs.paint_ms);
  print_row(fmt::format("{} heads knocked out", costs.heads), costs.knockouts_ms);
}

/// The window offscreen: the time to the first heatmap, and from a typed character to its maps.
int run_viewer_bench(const BenchFlags& flags) {
  ScreenshotOptions options;
  options.device = flags.device;
  options.shows_welcome = true;
  FirstState first = first_state(*options.models);
  std::optional<RandomModel> random;
  if (flags.grid) random.emplace(chosen_model("", kCaptionWriter), flags.grid->first, flags.grid->second);
  if (random || !flags.model.empty()) {
    const std::string text = first.state.text();
    first = {};
    first.model = options.models->open(random ? random->folder() : inference::find_model(flags.model));
    select_model(first.state, first.model->path.string(), first.model->masks);
    select_first_head(first.state, *first.model);
    if (const StarterView* starter = find_starter_view(*first.model)) first.state.text() = starter->text;
    if (random) first.state.text() = text;
  }
  options.state = std::move(first.state);
  options.state.set(kBrush.reach, PaintReach::AllLayers);
  options.model = std::move(first.model);
  const ViewerBench result = bench_viewer(options, flags.rounds > 0 ? flags.rounds : kKeystrokes);
  const KeystrokeCost& earliest = result.keystrokes.front();
  if (flags.is_json) {
    std::cout << fmt::format("{{\"op\": \"launch\", \"wall_ms\": {:.0f}, \"all_maps_ms\": {:.0f}}}\n", result.launch_ms,
                             result.launch_maps_ms);
    for (const KeystrokeCost& cost : result.keystrokes) {
      std::cout << fmt::format(
          "{{\"op\": \"keystroke\", \"wall_ms\": {:.2f}, \"typed_ms\": {:.2f}, \"map_ms\": {:.2f}, \"run_ms\": {:.2f}, "
          "\"frame_ms\": {:.2f}, \"drawn\": {}}}\n",
          cost.maps_ms, cost.typed_ms, cost.map_ms, cost.run_ms, cost.frame_ms, cost.drawn);
    }
    for (const double ms : result.experiments.paint_ms) {
      std::cout << fmt::format("{{\"op\": \"paint\", \"n\": {}, \"wall_ms\": {:.2f}}}\n", result.experiments.tokens, ms);
    }
    for (const double ms : result.experiments.knockouts_ms) {
      std::cout << fmt::format("{{\"op\": \"knockouts\", \"n\": {}, \"heads\": {}, \"wall_ms\": {:.2f}}}\n",
                               result.experiments.tokens, result.experiments.heads, ms);
    }
    for (const ViewCost& view : result.views) {
      std::cout << fmt::format("{{\"op\": \"view-{}\", \"n\": {}, \"wall_ms\": {:.2f}}}\n", view.id, result.tokens,
                               view.frame_ms);
    }
    return 0;
  }
  std::cout << fmt::format("launch to the first heatmap   {:>7.0f} ms\nlaunch to all heatmaps        {:>7.0f} ms\n",
                           result.launch_ms, result.launch_maps_ms);
  std::cout << fmt::format("the first keystroke's maps    {:>7.1f} ms\n\n", earliest.maps_ms);
  std::cout << fmt::format("{} keystrokes, ms             {:>6} {:>10}\n", result.keystrokes.size(), "median", "worst");
  const std::vector<std::pair<const char*, double KeystrokeCost::*>> rows = {
      {"character on screen", &KeystrokeCost::typed_ms},
      {"selected map on screen", &KeystrokeCost::map_ms},
      {"all maps on screen", &KeystrokeCost::maps_ms},
      {"of it: forward pass", &KeystrokeCost::run_ms},
      {"of it: one frame", &KeystrokeCost::frame_ms}};
  for (const auto& [name, cost] : rows) std::cout << fmt::format("{:<24} {}\n", name, spread(result.keystrokes, cost));
  print_experiments(result.experiments);
  std::cout << fmt::format("\na frame of each view at {} tokens, processor time outside of the driver, ms\n", result.tokens);
  for (const ViewCost& view : result.views) std::cout << fmt::format("{:<24} {:>10.2f}\n", view.id, view.frame_ms);
  return 0;
}

int run_bench(const BenchFlags& flags) {
  const bool draws = !flags.roofline.empty();
  if (draws && (flags.is_viewer || flags.is_check || !flags.model.empty())) {
    throw UsageError("--roofline draws the operations that are measured without --model, --viewer and --check");
  }
  if (flags.grid && (!flags.is_viewer || !flags.model.empty()))
    throw UsageError("--head-grid goes with --viewer, and without --model");
  if (flags.is_viewer) return run_viewer_bench(flags);
  if (!flags.model.empty()) return run_model_bench(flags);
  const Plan plan = make_plan(flags);
  gpu::ContextOptions options;
  options.device = flags.device;
  gpu::Context context(options);
  const std::filesystem::path tuned = tuning_file();  // the viewer's
  ops::Kernels kernels(context);
  const ops::Tuning tuning = tune(kernels, tuned);
  if (!flags.is_json) std::cout << heading(context.device(), tuning) << std::flush;
  if (flags.is_check) {
    const CheckResult result = check(kernels, tuned, [](const Verdict& verdict) {
      std::cout << (verdict.holds ? "ok     " : verdict.is_of_speed ? "SLOW   " : "WRONG  ") << verdict.what << std::endl;
    });
    constexpr int kWrong = 1, kSlow = 4;
    return result == CheckResult::Wrong ? kWrong : result == CheckResult::Slow ? kSlow : 0;
  }
  if (!flags.is_json) std::cout << table_header();
  std::vector<Result> measured;
  const Listener listener{
      .measured =
          [&](const Result& result) {
            measured.push_back(result);
            std::cout << (flags.is_json ? json_row(result, context.device()) : table_row(result)) << std::flush;
          },
      .skipped =
          [&](const Skipped& skipped) { (flags.is_json ? std::cerr : std::cout) << table_row(skipped) << std::flush; }};
  run(kernels, tuned, plan, listener);
  if (!flags.roofline.empty()) {
    const std::string told = write_roofline(flags.roofline, kernels, measured);
    (flags.is_json ? std::cerr : std::cout) << '\n' << told;
  }
  return 0;
}

/// The program's flags.
std::function<int()> add_bench(CLI::App& app) {
  constexpr std::uint64_t kMaxRounds = 1000;
  const auto shared = std::make_shared<BenchFlags>();
  BenchFlags& flags = *shared;
  const FlagGroup sizes(app, "What is measured");
  const auto add_list = [&](const char* flag, const char* value, const char* help, std::vector<std::uint32_t>& into,
                            std::uint32_t high) {
    sizes.add_repeatable(flag, value, help, [flag, &into, high](const std::vector<std::string>& values) {
      into = parse_list(flag, values, 1, high);
    });
  };
  sizes.add_repeatable("--ops", "OP,...", "only these operations (see below)",
                       [&flags](const std::vector<std::string>& values) { flags.operations = parse_operations(values); });
  add_list("--n", "N,...", "numbers of tokens, up to 32768 (default: 16, 32, ... 1024)", flags.tokens, kLongest);
  sizes.take_count("--max-n", "N", "the default's last number of tokens", flags.longest, 16, kLongest);
  add_list("--d-model", "D,...", "widths of the model (default: 512,768)", flags.widths, model::kMaxModelWidth);
  add_list("--heads", "H,...", "heads of each width (default: 8,12)", flags.heads, kMaxHeads);
  const FlagGroup effort(app, "How thoroughly");
  add_model_flag(effort, "instead: measure this model", "", flags.model);
  effort.take_choice("--precision", "P", "with --model: weights as f32 (default) or f16", flags.keeps_halves,
                     {{"f32", false}, {"f16", true}});
  effort.add_plain("--quick", "n = 16, 64, 256 and fewer rounds", [&flags] {
    flags.is_quick = true;
    flags.longest = 256;
  });
  effort.add_plain("--full", "up to 4096 tokens, and cases that take longer than 20 seconds too", [&flags] {
    flags.is_full = true;
    flags.longest = kLongestOfFull;
  });
  effort.take_count("--rounds", "N", "so many rounds of each case (default: from 3 to 50, as many as fit into 0.4 s)",
                    flags.rounds, 1, kMaxRounds);
  effort.turn("--viewer",
              "instead: open the window offscreen and type into it (--rounds N characters): from launch to the first "
              "heatmap, from a keystroke to its maps, from a painted cell to its maps, knocking out every head, and what a "
              "frame of each view costs",
              flags.is_viewer);
  effort.add("--head-grid", "LxH",
             "with --viewer: of a GPT-2 with so many layers and heads, as in 12x12, and random weights, made for the "
             "measurement",
             [&flags](const std::string& value) {
               const std::size_t cross = value.find('x');
               if (cross == std::string::npos)
                 throw UsageError("--head-grid: expected LAYERSxHEADS as in 12x12, found '{}'", value);
               const auto count = [](const std::string& number) {
                 return static_cast<std::uint32_t>(parse_integer("--head-grid", number, 1, kMaxGrid));
               };
               flags.grid = {count(value.substr(0, cross)), count(value.substr(cross + 1))};
             });
  effort.add("--roofline", "FILE",
             "draw what was measured as a roofline into FILE (.svg, .pdf or .png): GFLOP/s over FLOP a byte, against a loop "
             "of multiply-adds and a loop that copies, measured in the same run",
             [&flags](const std::string& value) {
               flags.roofline = value;
               if (!exporting::drawing_format(flags.roofline)) {
                 throw UsageError("--roofline {}: name a file that ends in .svg, .pdf or .png", value);
               }
             });
  effort.turn("--check",
              "instead: check numbers and a few ratios that hold on any machine; exit status 1 when something is wrong, 4 "
              "when it is only slow",
              flags.is_check);
  FlagGroup(app, "Output")
      .take_choice("--format", "FORMAT", "table (default) or json", flags.is_json, {{"table", false}, {"json", true}});
  add_device_flag(app, flags.device);
  return [shared] { return run_bench(*shared); };
}

}  // namespace

app::SingleCommand bench_command() {
  return {.name = "headlight-bench", .description = kBenchDescription, .footer = footer(), .add = add_bench};
}

}  // namespace headlight::bench
