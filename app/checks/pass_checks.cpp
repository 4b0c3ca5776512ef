// Whole operations by the kernels that are chosen, a trained model against shipped numbers, and times.
#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "app/checks/checker.h"
#include "app/checks/checks.h"
#include "app/models/starter_view.h"
#include "app/state/settings.h"
#include "core/error.h"
#include "core/json.h"
#include "inference/language_model.h"
#include "inference/session.h"
#include "ops/attention.h"
#include "ops/attention_blocks.h"
#include "ops/linear.h"

namespace headlight::checks {
namespace {

using app::find_bundled_model;
using app::kCaptionWriter;
using app::tuning_file;
using ops::AttentionKernel;
using ops::LinearKernel;

/// A causal attention of 64 numbers a head and a linear layer, with what they need on the device.
class Workload {
 public:
  Workload(ops::Kernels& kernels, std::uint32_t tokens, std::uint32_t heads, std::uint32_t out)
      : kernels_(kernels), heads_(heads), tokens_(tokens), setup_(kernels.context()) {
    const std::uint32_t width = heads * 64;
    const Tensor weight = random_tensor({out, width}, 2);
    const ops::LinearSource source{.weight = weight.values, .bias = {}, .out = out, .in = width};
    packed_ = ops::pack(kernels.context(), {&source, 1}, "a check");
    x_ = &setup_.put(random_tensor({1, 1, tokens, width}, 1));
    y_ = &setup_.make({1, 1, tokens, out});
    const Tensor heads_numbers = random_tensor({1, heads, tokens, 64}, 3);
    for (const ops::DeviceTensor** tensor : {&q_, &k_, &v_}) *tensor = &setup_.put(heads_numbers);
    merged_ = &setup_.make({1, 1, tokens, width});
    stats_ = ops::make_stats(setup_.stream, 1, heads, tokens);
    words_ = gpu::Buffer(kernels.context(), 64, gpu::Memory::Device, "a check");
    setup_.stream.clear(words_);
    std::move(setup_.stream).submit().wait();
  }

  void linear(gpu::Stream& stream) const { ops::linear(stream, kernels_, *x_, packed_, *y_); }
  void attention(gpu::Stream& stream) {
    if (!scratch_) scratch_ = std::make_unique<ops::AttentionScratch>(kernels_.context(), heads_, tokens_, tokens_);
    const ops::AttentionInputs inputs{.q = *q_,
                                      .k = *k_,
                                      .v = *v_,
                                      .mask = {.causal = true, .words = &words_},
                                      .scale = 0.125F,
                                      .queries = q_->all(),
                                      .keys = tokens_};
    ops::attention(stream, kernels_, inputs, {*merged_, stats_, ops::concatenated(heads_, 16)}, scratch_.get());
  }
  const ops::DeviceTensor& y() const { return *y_; }
  const ops::DeviceTensor& merged() const { return *merged_; }

 private:
  ops::Kernels& kernels_;
  std::uint32_t heads_, tokens_;
  CheckStream setup_;
  ops::PackedLinear packed_;
  const ops::DeviceTensor *x_ = nullptr, *y_ = nullptr, *q_ = nullptr, *k_ = nullptr, *v_ = nullptr, *merged_ = nullptr;
  ops::DeviceTensor stats_;
  gpu::Buffer words_;
  std::unique_ptr<ops::AttentionScratch> scratch_;
};

/// Returns the milliseconds of the fastest of some rounds after one that compiles; by the device's clock where it has one.
template <typename Record>
double fastest_ms(Checker& check, const Record& record) {
  constexpr int kRounds = 4;
  constexpr double kLong_ms = 2'000.0;
  const bool has_clock = !check.context().device().is_cpu;
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    check.go_on();
    gpu::Stream stream(check.context());
    record(stream);
    const auto start = std::chrono::steady_clock::now();
    gpu::Submission submission = std::move(stream).submit();
    submission.wait();
    const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - start;
    if (round > 0) best = std::min(best, has_clock && submission.gpu_ms() > 0.0 ? submission.gpu_ms() : wall.count());
    if (round > 0 && wall.count() > kLong_ms) break;
  }
  return best;
}

/// Returns "tiled 0.12, gemv 0.30", the fastest first, and as numbers of a line.
std::string times_text(std::vector<std::pair<std::string, double>>& times) {
  std::ranges::sort(times, {}, &std::pair<std::string, double>::second);
  std::string text;
  for (auto& [name, ms] : times) {
    text += fmt::format("{}{} {:.3g}", text.empty() ? "" : ", ", name, ms);
    name += "_ms";
  }
  return text + " ms";
}

void time_linear(Checker& check, std::uint32_t tokens) {
  check.step(fmt::format("linear, {} tokens", tokens), [&] {
    const Workload work(check.kernels(), tokens, 12, 2'304);
    std::vector<std::pair<std::string, double>> times;
    for (const LinearKernel kind : ops::linear_candidates(check.context().device(), tokens <= ops::kFewRows)) {
      check.kernels().set_tuning({.few_rows = kind, .many_rows = kind});
      times.emplace_back(to_string(kind), fastest_ms(check, [&](gpu::Stream& stream) { work.linear(stream); }));
    }
    check.tell(CheckStatus::Ok, "[" + std::to_string(tokens) + ", 768] x [768, 2304]: " + times_text(times), times);
  });
}

/// Times attention; longer ones only where the one before took less than some seconds.
void time_attention(Checker& check) {
  constexpr double kLong_ms = 3'000.0;
  double last_ms = 0.0;
  for (const std::uint32_t tokens : {16U, 64U, 1'024U, 2'048U, 4'096U, 8'192U}) {
    check.step(fmt::format("attention, {} tokens", tokens), [&] {
      if (last_ms > kLong_ms) return;
      Workload work(check.kernels(), tokens, 12, 64);
      std::vector<std::pair<std::string, double>> times;
      for (const AttentionKernel kind : ops::attention_candidates(check.context().device())) {
        if (tokens > 1'024 && kind != ops::default_tuning(check.context().device()).attention) continue;
        check.kernels().set_tuning({.attention = kind});
        times.emplace_back(to_string(kind), fastest_ms(check, [&](gpu::Stream& stream) { work.attention(stream); }));
        last_ms = times.back().second;
      }
      check.tell(CheckStatus::Ok, "12 heads of 64, causal: " + times_text(times), times);
    });
  }
}

/// Compares a model's own numbers with those of the shipped file, by the kernels of this session.
void compare_captions(Checker& check, const std::filesystem::path& folder, const std::filesystem::path& tuning) {
  constexpr double kMaxWeightError = 1e-4;  // of weights; observed 4.5e-7
  const nlohmann::json wanted = std::move(parse_json(kCaptionsNumbers)).value();
  const auto model = inference::open_model(folder);
  inference::Session session(check.context(), tuning);
  session.watch_compiling([&](std::size_t, std::size_t) { check.go_on(); });
  const inference::Prompt prompt = inference::make_prompt(*model, {.lines = {wanted.at("text").get<std::string>()}});
  const auto run = session.run({.network = model->network, .input = prompt.input, .masks = model->masks});
  double weights = 0.0, logits = 0.0;
  const auto differ = [](double& worst, const nlohmann::json& number, float found) {
    const double error = std::abs(number.get<double>() - static_cast<double>(found));
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
  };
  std::size_t layer = 0;
  for (const model::BlockRef block : run->blocks()) {
    const Tensor maps = run->stage(block, attention::Stage::Weights);
    const nlohmann::json& heads = wanted.at("last_rows").at(layer++);
    const std::uint32_t keys = maps.axis(3), last = maps.axis(2) - 1;
    for (std::uint32_t head = 0; head < maps.axis(1); ++head) {
      for (std::uint32_t key = 0; key < keys; ++key) differ(weights, heads.at(head).at(key), maps.at({0, head, last, key}));
    }
  }
  const Tensor all = run->logits();
  for (const auto& [id, logit] : wanted.at("logits").items()) {
    differ(logits, logit, all.at({0, all.axis(1) - 1, static_cast<std::uint32_t>(std::stoul(id))}));
  }
  check.tell(
      weights <= kMaxWeightError && logits <= 100.0 * kMaxWeightError ? CheckStatus::Ok : CheckStatus::Fail,
      fmt::format("weights differ by at most {:.1e} from transformers' in float64, logits by {:.1e}", weights, logits),
      {{"weights", weights}, {"logits", logits}});
}

/// Compares one choice with the naive kernels, whose numbers the first call leaves in `naive`, and with itself.
void compare_choice(Checker& check, const std::string& name, const ops::Tuning& tuning, std::vector<double>& naive,
                    const std::function<void(CheckStream&, Workload&)>& record) {
  check.step(name, [&] {
    check.kernels().set_tuning(tuning);
    const Checker::Numbers found = check.run(
        [&](CheckStream& one) { record(one, *one.keep(std::make_shared<Workload>(check.kernels(), 129, 4, 259))); });
    if (naive.empty()) naive.assign(found.front().begin(), found.front().end());
    if (check.expect(found, {naive})) check.tell(CheckStatus::Ok, "the same bits twice, and the naive kernel's numbers");
  });
}

}  // namespace

void check_choices(Checker& check) {
  const gpu::DeviceInfo& device = check.context().device();
  const std::optional<ops::Tuning> measured = ops::load_tuning(device, tuning_file());
  const ops::Tuning guess = ops::default_tuning(device);
  std::vector<std::pair<std::string, ops::Tuning>> all{
      {"naive", {.few_rows = LinearKernel::Naive, .many_rows = LinearKernel::Naive, .attention = AttentionKernel::Naive}},
      {"default", guess}};
  if (measured && *measured != guess) all.emplace_back("measured", *measured);
  std::vector<double> naive_linear, naive_attention;
  for (const std::pair<std::string, ops::Tuning>& choice : all) {
    const ops::Tuning& tuning = choice.second;
    compare_choice(check, fmt::format("{}: linear {}", choice.first, to_string(tuning.many_rows)), tuning, naive_linear,
                   [](CheckStream& one, Workload& work) {
                     work.linear(one.stream);
                     one.take(work.y());
                   });
    compare_choice(check, fmt::format("{}: attention {}", choice.first, to_string(tuning.attention)), tuning,
                   naive_attention, [](CheckStream& one, Workload& work) {
                     work.attention(one.stream);
                     one.take(work.merged());
                   });
  }
  check.tell_tally("all", "choices");
}

void check_captions(Checker& check) {
  const auto folder = find_bundled_model(kCaptionWriter);
  check.step(fmt::format("{}, default", kCaptionWriter), [&] {
    folder ? compare_captions(check, *folder, {}) : check.tell(CheckStatus::Warn, "the bundled model isn't installed");
  });
  if (!folder || !ops::load_tuning(check.context().device(), tuning_file())) return;
  check.step(fmt::format("{}, measured", kCaptionWriter), [&] { compare_captions(check, *folder, tuning_file()); });
}

void check_times(Checker& check) {
  for (const std::uint32_t tokens : {1U, 16U, 64U, 1'024U}) time_linear(check, tokens);
  time_attention(check);
  check.step("copy", [&] {
    constexpr std::size_t kBytes = std::size_t{64} << 20;
    const gpu::Buffer from(check.context(), kBytes, gpu::Memory::Device, "a check"),
        to(check.context(), kBytes, gpu::Memory::Device, "a check");
    const double ms = fastest_ms(check, [&](gpu::Stream& stream) { stream.copy(from, to); });
    const double rate = 2.0 * kBytes / ms * 1e-6;
    check.tell(CheckStatus::Ok, fmt::format("{:.3g} GB/s read and written", rate), {{"gbytes_per_s", rate}});
  });
  check.step("submit and wait", [&] {
    const gpu::Buffer buffer(check.context(), 256, gpu::Memory::Device, "a check");
    double best_us = std::numeric_limits<double>::infinity();
    for (int round = 0; round < 50; ++round) {
      gpu::Stream stream(check.context());
      stream.clear(buffer);
      const auto start = std::chrono::steady_clock::now();
      std::move(stream).submit().wait();
      best_us =
          std::min(best_us, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    check.tell(CheckStatus::Ok, fmt::format("{:.3g} us", best_us), {{"us", best_us}});
  });
}

}  // namespace headlight::checks
