#include "tools/bench/model_bench.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "gpu/buffer.h"
#include "inference/language_model.h"
#include "inference/memory_estimate.h"
#include "inference/prompt.h"

namespace headlight::bench {
namespace {

/// VmHWM of /proc/self/status in MiB; 0 where there is no such file.
double peak_mib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    double kib = 0.0;
    if (word == "VmHWM:" && status >> kib) return kib / 1024.0;
  }
  return 0.0;
}

constexpr std::size_t kMostBytes = std::size_t{512} << 20;  // that are allocated to measure memory; no cache holds them

/// Every core reads its share of `bytes` once: of a part of them several times.
double stream_ms(std::size_t bytes) {
  const std::vector<std::uint64_t> words(std::min(bytes, kMostBytes) / sizeof(std::uint64_t), 1);
  const std::size_t threads = std::max(1u, std::thread::hardware_concurrency());
  std::atomic<std::uint64_t> sum = 0;
  double best = 0.0;
  for (int round = 0; round < 5; ++round) {
    const auto start = Clock::now();
    {
      std::vector<std::jthread> readers;
      for (std::size_t i = 0; i < threads; ++i) {
        readers.emplace_back([&, i] {
          const auto begin = words.begin() + static_cast<std::ptrdiff_t>(words.size() * i / threads);
          const auto end = words.begin() + static_cast<std::ptrdiff_t>(words.size() * (i + 1) / threads);
          sum += std::accumulate(begin, end, std::uint64_t{0});
        });
      }
    }
    const double ms =
        milliseconds_since(start) * static_cast<double>(bytes) / static_cast<double>(words.size() * sizeof(std::uint64_t));
    best = round == 0 ? ms : std::min(best, ms);
  }
  return sum == 0 ? 0.0 : best;
}

/// Every core writes its share of `bytes` of the device's memory that nothing has used yet, which the system clears before:
/// of a part of them. 0 where the host doesn't reach it. Loading can't take less.
double fill_ms(gpu::Context& context, std::size_t bytes) {
  const std::size_t threads = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t part = std::min(bytes, kMostBytes);
  double best = 0.0;
  for (int round = 0; round < 5; ++round) {
    const gpu::Buffer buffer(context, part, gpu::Memory::Device, "a measurement of memory");
    const std::span<std::byte> mapped = buffer.mapped();
    if (mapped.empty()) return 0.0;
    const auto start = Clock::now();
    {
      std::vector<std::jthread> writers;
      for (std::size_t i = 0; i < threads; ++i) {
        const std::size_t begin = mapped.size() * i / threads, end = mapped.size() * (i + 1) / threads;
        writers.emplace_back([share = mapped.subspan(begin, end - begin)] { std::ranges::fill(share, std::byte{1}); });
      }
    }
    const double ms = milliseconds_since(start) * static_cast<double>(bytes) / static_cast<double>(part);
    best = round == 0 ? ms : std::min(best, ms);
  }
  return best;
}

/// A text of random tokens as a prompt.
model::ModelInput random_text(const inference::LanguageModel& model, std::uint32_t n, std::mt19937& bits) {
  std::uniform_int_distribution<std::uint32_t> id(0, model.network->source_embedding->table.axis(0) - 1);
  inference::PromptText text;
  text.ids.emplace_back(n);
  for (std::uint32_t& token : text.ids.front()) token = id(bits);
  return inference::make_prompt(model, text).input;
}

class ModelBench {
 public:
  ModelBench(gpu::Context& context, const ModelPlan& plan, const std::function<void(const ModelResult&)>& report)
      : context_(context), plan_(plan), report_(report), session_(context, plan.tuning_file) {}

  void run() {
    auto start = Clock::now();
    model_ = inference::open_model(plan_.path);
    report_({.op = "open", .wall_ms = milliseconds_since(start), .peak_mib = peak_mib()});
    start = Clock::now();
    session_.load(model_->network->layers, plan_.precision);
    const double load_ms = milliseconds_since(start);
    while (!session_.is_tuned()) session_.tune_step();
    report_({.op = "load", .wall_ms = load_ms, .peak_mib = peak_mib()});
    for (const std::uint32_t n : plan_.tokens) {
      if (model_->description.max_length != 0 && n >= model_->description.max_length + 1) continue;
      forward(n);
    }
    const std::size_t bytes = inference::estimate_memory(*model_->network, plan_.precision, 1).weights;
    report_({.op = "stream", .wall_ms = stream_ms(bytes), .peak_mib = peak_mib()});
    run_.reset();
    session_.unload();
    report_({.op = "fill", .wall_ms = fill_ms(context_, bytes), .peak_mib = peak_mib()});
    first_map();
  }

 private:
  void forward(std::uint32_t n) {
    run_.reset();  // of a shorter text, whose memory would count as this one's
    Timing timing = measure(plan_.rounds, [&] { return pass(random_text(*model_, n, bits_)); });
    report("forward", n, timing);
    if (n < 2) return;
    timing = measure(plan_.rounds, [&] {
      // The preceding text is run first and isn't timed.
      const model::ModelInput longer = random_text(*model_, n, bits_);
      model::ModelInput shorter = longer;
      shorter.source.ids.pop_back();
      shorter.source.length = n - 1;
      shorter.source.lengths = {n - 1};
      shorter.source.texts = {};
      run(shorter);
      return pass(longer);
    });
    report("append", n, timing);
    const auto layers = static_cast<std::uint32_t>(model_->network->layers->encoder.size());
    for (const std::uint32_t layer : std::set{0U, layers / 2, layers - 1}) paint(n, layer);
  }

  /// Loads the unloaded model again, and shows a head of the first layer on the way.
  void first_map() {
    constexpr std::uint32_t kTokens = 64;
    const std::uint32_t longest = model_->description.max_length;
    const std::uint32_t tokens = longest == 0 ? kTokens : std::min(kTokens, longest);
    const model::Layers& layers = *model_->network->layers;
    if (layers.encoder.size() < 2 || !layers.decoder.empty()) return;
    const model::ModelInput input = random_text(*model_, tokens, bits_);
    const auto start = Clock::now();
    double map_ms = 0.0;
    const auto show = [&](const std::shared_ptr<const model::Layers>& first) {
      auto network = std::make_shared<model::Network>(*model_->network);
      network->layers = first;
      const auto first_run = session_.run({.network = network, .input = input, .masks = model_->masks});
      const attention::TileRequest map{.block = first_run->blocks().front(), .rows = tokens, .columns = tokens};
      first_run->evaluate(std::span(&map, 1));
      map_ms = milliseconds_since(start);
    };
    session_.load(model_->network->layers, plan_.precision, {}, {.count = 1, .least_rest_ms = 0.0, .ready = show});
    report_({.op = "load_with_map", .wall_ms = milliseconds_since(start), .peak_mib = peak_mib()});
    report_({.op = "first_map", .n = tokens, .wall_ms = map_ms, .peak_mib = peak_mib()});
  }

  /// The run before has another cell painted, which isn't timed.
  void paint(std::uint32_t n, std::uint32_t layer) {
    const model::ModelInput input = random_text(*model_, n, bits_);
    std::uint32_t key = 0;
    const auto masks = [&] {
      attention::MaskSet painted = model_->masks;
      attention::MaskSpec& mask = painted[model_->network->blocks().front().kind];
      mask.painted[{.layer = layer}].paint({n - 1, key++ % n}, false);
      return painted;
    };
    run(input, masks());
    report(fmt::format("paint_{}", layer), n, measure(plan_.rounds, [&] { return pass(input, masks()); }));
  }

  void run(const model::ModelInput& input) { run(input, model_->masks); }
  void run(const model::ModelInput& input, const attention::MaskSet& masks) {
    run_ = session_.run({.network = model_->network, .input = input, .masks = masks}, std::move(run_));
  }

  /// A run and the last token's logits.
  Timing pass(const model::ModelInput& input) { return pass(input, model_->masks); }
  Timing pass(const model::ModelInput& input, const attention::MaskSet& masks) {
    const auto start = Clock::now();
    run(input, masks);
    const inference::StateRef last{.token = input.source.length - 1,
                                   .layer = static_cast<std::uint32_t>(model_->network->layers->encoder.size())};
    run_->logits(std::span(&last, 1));
    return {milliseconds_since(start), run_->timing().gpu_ms, run_->timing().dispatches};
  }

  void report(const std::string& op, std::uint32_t n, const Timing& timing) {
    report_({.op = op,
             .n = n,
             .wall_ms = timing.wall_ms,
             .gpu_ms = timing.gpu_ms,
             .dispatches = timing.dispatches,
             .peak_mib = peak_mib()});
  }

  gpu::Context& context_;
  const ModelPlan& plan_;
  const std::function<void(const ModelResult&)>& report_;
  inference::Session session_;
  std::shared_ptr<const inference::Run> run_;
  std::shared_ptr<const inference::LanguageModel> model_;
  std::mt19937 bits_{1};
};

}  // namespace

void run_model(gpu::Context& context, const ModelPlan& plan, const std::function<void(const ModelResult&)>& report) {
  ModelBench(context, plan, report).run();
}

}  // namespace headlight::bench
