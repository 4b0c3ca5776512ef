#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/engine/runner.h"
#include "core/error.h"
#include "inference/session.h"

namespace headlight::app {

/// A log of the requests to a fake device; shared with the test that looks on.
struct FakeLog {
  std::atomic<int> opened{0};
  std::atomic<int> runs{0};
  std::atomic<int> evaluations{0};
  std::atomic<int> tiles{0};
  std::atomic<std::size_t> largest{0};  ///< values of the largest tile
  std::atomic<std::size_t> cells{0};    ///< of all tiles
  std::atomic<int> uploads{0};          ///< networks that weren't the one of the run before
  std::atomic<bool> fails_to_run{false};
  std::atomic<bool> fails_to_open{false};
  std::atomic<int> lost_runs{0}, lost_evaluations{0};  ///< so many from now on lose the device
  std::atomic<int> loads{0};
  std::atomic<bool> fails_to_load{false}, is_load_held{false}, is_loaded{false}, has_f16{false};
  std::atomic<bool> shows_first_layers{false};  ///< of the next loads, when three tenths are there; it waits behind them
  std::atomic<int> gains{0};                    ///< of the last run
  std::atomic<int> kernels{0};                  ///< that the next run compiles
  std::atomic<bool> is_compiling_held{false};   ///< after the first of them it waits while this is set
  std::atomic<int> layers{0};                   ///< that the next run tells of, one after another
  std::atomic<bool> is_pass_held{false};        ///< after the first of them it waits while this is set
  std::atomic<int> logit_rows{0};               ///< read in all
  std::atomic<bool> is_held{false};             ///< evaluations wait while this is set
  std::atomic<int> run_ms{0};                   ///< a pass takes at least so long
  std::atomic<std::uint32_t> repeats{1};        ///< of each layer: a network may have few
  std::atomic<std::uint64_t> odd_rows{0};       ///< of the next runs: rows of attention whose scores aren't finite
};

struct FakeDevice {
  std::string name;
  bool is_lost = false;

  /// A lost device does nothing any more; the next one opened is another.
  void lose_if(std::atomic<int>& losses) {
    if (losses > 0) is_lost = losses-- > 0;
    if (is_lost) throw Error(ErrorKind::DeviceLost, "the device '{}' was lost", name);
  }
};

/// A run without numbers of its own: sizes are right, and a cell's value tells its position: number·1000 + head·100 + row
/// + column/100.
class FakeRun final : public inference::Run {
 public:
  FakeRun(inference::PassInputs inputs, int number, std::shared_ptr<FakeLog> log, std::shared_ptr<FakeDevice> device)
      : Run(std::move(inputs), {.gpu_ms = 1.5, .wall_ms = 2.0, .dispatches = 3, .device_bytes = 4},
            {.rows = log->odd_rows, .all_rows = 12}),
        number_(number),
        log_(std::move(log)),
        device_(std::move(device)) {}

  std::vector<model::BlockRef> blocks() const override {
    std::vector<model::BlockRef> all;
    for (model::BlockRef block : inputs().network->blocks()) {
      block.layer.value *= log_->repeats;
      for (std::uint32_t i = 0; i < log_->repeats; ++i, ++block.layer.value) all.push_back(block);
    }
    return all;
  }

  inference::BlockShape shape(model::BlockRef block) const override {
    block.layer.value /= log_->repeats;
    return inference::shape_of(inputs().network->layer(block), block.kind, inputs().input);
  }

  std::uint64_t version(model::BlockRef /*block*/) const override { return static_cast<std::uint64_t>(number_); }

  std::vector<attention::Tile> evaluate(std::span<const attention::TileRequest> requests) const override {
    log_->is_held.wait(true);
    device_->lose_if(log_->lost_evaluations);
    ++log_->evaluations;
    std::vector<attention::Tile> tiles;
    for (const attention::TileRequest& request : requests) {
      ++log_->tiles;
      log_->cells += request.cells();
      attention::Tile tile{.request = request, .values = {}, .masked = {}, .row_max = {}, .row_sum = {}};
      for (std::uint32_t row = 0; row < request.tile_rows(); ++row) {
        for (std::uint32_t column = 0; column < request.tile_columns(); ++column) {
          tile.values.push_back(value(request.head, request.row + row, request.column + column));
        }
      }
      if (attention::is_map(request.stage)) {
        tile.masked.assign(tile.values.size(), 0);
        tile.row_max.assign(request.rows, 0.0f);
        tile.row_sum.assign(request.rows, 1.0f);
      }
      log_->largest = std::max(log_->largest.load(), tile.values.size());
      tiles.push_back(std::move(tile));
    }
    return tiles;
  }

  Tensor encoder_output() const override { return {}; }
  Tensor hidden(inference::Stack /*stack*/) const override { return {}; }
  bool has_logits() const override { return inputs().network->layers->unembedding.has_value(); }
  Tensor logits() const override { return {}; }
  /// The likeliest token is (number + token + layer) modulo the vocabulary: its logit is 10, all others are 0.
  Tensor logits(std::span<const inference::StateRef> states) const override {
    const std::uint32_t vocabulary = inputs().network->layers->unembedding->linear.out();
    Tensor result({static_cast<std::uint32_t>(states.size()), vocabulary});
    for (std::size_t i = 0; i < states.size(); ++i) {
      const std::uint32_t favourite = (static_cast<std::uint32_t>(number_) + states[i].token + states[i].layer) % vocabulary;
      result.values[i * vocabulary + favourite] = 10.0f;
      ++log_->logit_rows;
    }
    return result;
  }
  /// Number i of a token's row is i + token + 10 · layer.
  std::vector<Tensor> residuals(std::span<const inference::ResidualRows> requests) const override {
    std::vector<Tensor> result;
    for (const inference::ResidualRows& rows : requests) {
      const std::uint32_t width = inputs().network->layer(blocks().front()).config.d_model;
      Tensor& tensor = result.emplace_back(Shape{rows.count, width});
      for (std::uint32_t row = 0; row < rows.count; ++row) {
        for (std::uint32_t i = 0; i < width; ++i) {
          tensor.values[std::size_t{row} * width + i] = static_cast<float>(i + rows.first + row + 10 * rows.layer);
        }
      }
    }
    return result;
  }

  float value(std::uint32_t head, std::uint32_t row, std::uint32_t column) const {
    return static_cast<float>(number_) * 1000.0f + static_cast<float>(head) * 100.0f + static_cast<float>(row) +
           static_cast<float>(column) / 100.0f;
  }

 private:
  int number_ = 0;
  std::shared_ptr<FakeLog> log_;
  std::shared_ptr<FakeDevice> device_;
};

/// A device without a GPU.
class FakeRunner final : public Runner {
 public:
  FakeRunner(std::string name, std::shared_ptr<FakeLog> log)
      : device_(std::make_shared<FakeDevice>(FakeDevice{std::move(name)})), log_(std::move(log)) {
    ++log_->opened;
  }

  std::string device_name() const override { return device_->name; }

  /// Ten steps, each of which waits while the log says so.
  void load(std::shared_ptr<const model::Layers> layers, inference::Precision precision,
            const inference::LoadObserver& observer) override {
    load_in_order(std::move(layers), precision, observer, {});
  }
  void load_in_order(std::shared_ptr<const model::Layers> layers, inference::Precision precision,
                     const inference::LoadObserver& observer, const inference::FirstLayers& first) override {
    ++log_->loads;
    log_->has_f16 = precision == inference::Precision::F16;
    if (log_->fails_to_load) throw Error("the model takes 16 GiB and the device has 4; load it as f16");
    constexpr std::size_t kSteps = 10;
    constexpr std::size_t kFirst = 3;
    const bool shows_first = log_->shows_first_layers && first.ready && first.count > 0;
    for (std::size_t step = 0; step <= kSteps; ++step) {
      if (observer && !observer(step * 100, kSteps * 100)) throw Error(ErrorKind::Cancelled, "loading was cancelled");
      if (step == kFirst && shows_first) {
        auto alone = std::make_shared<model::Layers>(*layers);
        alone->encoder.resize(first.count);
        alone->unembedding.reset();
        alone->encoder_norm.reset();
        first.ready(alone);
      }
      while (step >= (shows_first ? kFirst : 1) && log_->is_load_held) {
        if (observer && !observer(step * 100, kSteps * 100)) throw Error(ErrorKind::Cancelled, "loading was cancelled");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    loaded_ = std::move(layers);
    log_->is_loaded = true;
  }
  void unload() override {
    loaded_.reset();
    log_->is_loaded = false;
  }

  void watch_compiling(inference::CompileObserver observer) override { compile_observer_ = std::move(observer); }
  void watch_passes(inference::PassObserver observer) override { pass_observer_ = std::move(observer); }

  std::shared_ptr<const inference::Run> run(inference::PassInputs pass,
                                            std::shared_ptr<const inference::Run>&& base) override {
    log_->gains = static_cast<int>(pass.interventions.size());
    model::check(*pass.network, pass.input);
    device_->lose_if(log_->lost_runs);
    if (log_->fails_to_run) throw std::runtime_error("the device can't hold it\nand a second line");
    const std::size_t kernels = static_cast<std::size_t>(log_->kernels.exchange(0));
    for (std::size_t i = 0; kernels > 0 && i <= kernels && compile_observer_; ++i) {
      compile_observer_(i, kernels);
      if (i > 0) log_->is_compiling_held.wait(true);
    }
    const std::size_t layers = static_cast<std::size_t>(log_->layers.exchange(0));
    for (std::size_t done = 0; layers > 0 && done <= layers && pass_observer_; ++done) {
      const auto tell = [&] {
        if (!pass_observer_(done, layers)) throw Error(ErrorKind::Cancelled, "the pass was cancelled");
      };
      tell();
      while (done == 1 && log_->is_pass_held) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        tell();
      }
    }
    if (pass.network != network_) ++log_->uploads;
    network_ = pass.network;
    std::this_thread::sleep_for(std::chrono::milliseconds(log_->run_ms));
    base.reset();
    newest = std::make_shared<FakeRun>(std::move(pass), ++log_->runs, log_, device_);
    return newest;
  }

  std::shared_ptr<const FakeRun> newest;  ///< what run() returned last

 private:
  std::shared_ptr<FakeDevice> device_;
  inference::CompileObserver compile_observer_;
  inference::PassObserver pass_observer_;
  std::shared_ptr<FakeLog> log_;
  std::shared_ptr<const model::Layers> loaded_;
  std::shared_ptr<const model::Network> network_;
};

/// A factory of fake devices called "fake" and "other"; anything else doesn't exist.
inline RunnerFactory fake_factory(std::shared_ptr<FakeLog> log) {
  return [log = std::move(log)](const std::string& device) -> std::unique_ptr<Runner> {
    const std::string name = device.empty() ? "fake" : device;
    if (name != "fake" && name != "other") throw Error("no device \"{}\"", name);
    if (log->fails_to_open) throw Error("there is no such device");
    return std::make_unique<FakeRunner>(name, log);
  };
}

}  // namespace headlight::app
