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

/// What a fake device was asked to do; shared with the test that looks on.
struct FakeLog {
  std::atomic<int> opened{0};
  std::atomic<int> runs{0};
  std::atomic<int> evaluations{0};
  std::atomic<int> tiles{0};
  std::atomic<std::size_t> largest{0};  ///< values of the largest tile
  std::atomic<int> uploads{0};          ///< networks that weren't the one of the run before
  std::atomic<bool> fails_to_run{false};
  std::atomic<bool> fails_to_open{false};
  std::atomic<int> lost_runs{0}, lost_evaluations{0};  ///< so many from now on lose the device
  std::atomic<int> loads{0};
  std::atomic<bool> fails_to_load{false}, is_load_held{false}, is_loaded{false}, has_f16{false};
  std::atomic<int> gains{0};                   ///< of the last run
  std::atomic<int> kernels{0};                 ///< that the next run compiles
  std::atomic<bool> is_compiling_held{false};  ///< after the first of them it waits while this is set
  std::atomic<int> logit_rows{0};              ///< read in all
  std::atomic<bool> is_held{false};            ///< evaluations wait while this is set
  std::atomic<int> run_ms{0};                  ///< a pass takes at least so long
};

/// A device without a GPU: sizes are right, and a cell's value tells where it stands: run·1000 + head·100 + row +
/// column/100.
class FakeRunner final : public Runner {
 public:
  FakeRunner(std::string name, std::shared_ptr<FakeLog> log) : name_(std::move(name)), log_(std::move(log)) {
    ++log_->opened;
  }

  std::string device_name() const override { return name_; }

  /// Ten steps, each of which waits while the log says so.
  void load(std::shared_ptr<const model::Layers> layers, inference::Precision precision,
            const inference::LoadObserver& observer) override {
    ++log_->loads;
    log_->has_f16 = precision == inference::Precision::F16;
    if (log_->fails_to_load) throw Error("the model takes 16 GiB and the device has 4; load it as f16");
    constexpr std::size_t kSteps = 10;
    for (std::size_t step = 0; step <= kSteps; ++step) {
      if (observer && !observer(step * 100, kSteps * 100)) throw Error("loading was cancelled");
      while (step > 0 && log_->is_load_held) {
        if (observer && !observer(step * 100, kSteps * 100)) throw Error("loading was cancelled");
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

  inference::RunTiming run(std::shared_ptr<const model::Network> network, const model::ModelInput& input,
                           const attention::MaskSet& /*masks*/, const inference::HeadGains& gains) override {
    log_->gains = static_cast<int>(gains.size());
    model::check(*network, input);
    lose_if(log_->lost_runs);
    if (log_->fails_to_run) throw std::runtime_error("the device can't hold it\nand a second line");
    const std::size_t kernels = static_cast<std::size_t>(log_->kernels.exchange(0));
    for (std::size_t i = 0; kernels > 0 && i <= kernels && compile_observer_; ++i) {
      compile_observer_(i, kernels);
      if (i > 0) log_->is_compiling_held.wait(true);
    }
    if (network != network_) ++log_->uploads;
    std::this_thread::sleep_for(std::chrono::milliseconds(log_->run_ms));
    network_ = std::move(network);
    input_ = input;
    run_ = ++log_->runs;
    return {.gpu_ms = 1.5, .wall_ms = 2.0, .dispatches = 3, .device_bytes = 4};
  }

  std::vector<model::BlockRef> blocks() const override { return network_->blocks(); }

  inference::BlockShape shape(model::BlockRef block) const override {
    const model::AttentionLayer& layer = network_->layer(block);
    inference::BlockShape shape;
    shape.batch = input_.source.batch;
    shape.heads = layer.config.heads;
    shape.queries = input_.queries(block.kind).length;
    shape.keys = input_.keys(block.kind).length;
    shape.d_model = layer.config.d_model;
    shape.d_k = layer.config.d_k;
    shape.d_v = layer.config.d_v;
    shape.d_merged = layer.config.heads * layer.config.d_v;
    shape.has_input = layer.weights.has_value();
    shape.d_output = layer.weights && layer.weights->output ? layer.weights->output->out() : 0;
    return shape;
  }

  std::vector<attention::Tile> evaluate(std::span<const attention::TileRequest> requests) override {
    log_->is_held.wait(true);
    lose_if(log_->lost_evaluations);
    ++log_->evaluations;
    std::vector<attention::Tile> tiles;
    for (const attention::TileRequest& request : requests) {
      ++log_->tiles;
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

  Tensor encoder_output() override { return {}; }
  Tensor hidden(inference::Stack /*stack*/) override { return {}; }
  bool has_logits() const override { return network_ && network_->layers->unembedding; }
  Tensor logits() override { return {}; }
  /// The likeliest token is (run + token + layer) modulo the vocabulary: its logit is 10, all others are 0.
  Tensor logits(std::span<const inference::StateRef> states) override {
    const std::uint32_t vocabulary = network_->layers->unembedding->linear.out();
    Tensor result({static_cast<std::uint32_t>(states.size()), vocabulary});
    for (std::size_t i = 0; i < states.size(); ++i) {
      const std::uint32_t favourite = (static_cast<std::uint32_t>(run_) + states[i].token + states[i].layer) % vocabulary;
      result.values[i * vocabulary + favourite] = 10.0f;
      ++log_->logit_rows;
    }
    return result;
  }

  float value(std::uint32_t head, std::uint32_t row, std::uint32_t column) const {
    return static_cast<float>(run_) * 1000.0f + static_cast<float>(head) * 100.0f + static_cast<float>(row) +
           static_cast<float>(column) / 100.0f;
  }

 private:
  /// A lost device does nothing any more; the next one opened is another.
  void lose_if(std::atomic<int>& losses) {
    if (losses > 0) is_lost_ = losses-- > 0;
    if (is_lost_) throw Error(ErrorKind::DeviceLost, "the device '{}' was lost", name_);
  }

  bool is_lost_ = false;
  inference::CompileObserver compile_observer_;
  std::string name_;
  std::shared_ptr<FakeLog> log_;
  std::shared_ptr<const model::Layers> loaded_;
  std::shared_ptr<const model::Network> network_;
  model::ModelInput input_;
  int run_ = 0;
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
