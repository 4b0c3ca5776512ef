#include "app/engine/analyses/lens_cells.h"

#include <chrono>
#include <filesystem>
#include <future>
#include <mutex>

#include "core/error.h"
#include "model/linear_lens.h"

namespace headlight::app {
namespace {

using SharedLens = std::shared_ptr<const model::LinearLens>;
namespace fs = std::filesystem;

std::uint32_t lens_layers(const model::Network& network) {
  const model::Layers& layers = *network.layers;
  return static_cast<std::uint32_t>(layers.decoder.empty() ? layers.encoder.size() : layers.decoder.size());
}

std::uint32_t stream_width(const model::Network& network) {
  const model::Layers& layers = *network.layers;
  return (layers.decoder.empty() ? layers.encoder.front() : layers.decoder.front().cross).config.d_model;
}

/// Returns the file that was asked for last, opened on a thread of its own, since all its numbers are read. Used by the
/// threads of several engines. Without a file the last one is let go, and with it what a device has of it.
std::shared_future<SharedLens> opened_lens(const std::string& file, std::uint32_t layers, std::uint32_t d_model) {
  using Key = std::tuple<std::string, fs::file_time_type, std::uint32_t, std::uint32_t>;
  static std::mutex mutex;
  std::error_code failure;
  const Key key{file, fs::last_write_time(file, failure), layers, d_model};
  const std::lock_guard lock(mutex);
  static std::pair<Key, std::shared_future<SharedLens>> newest;
  static std::vector<std::shared_future<SharedLens>> left;  // while they are read: their end would be waited for
  if (newest.first != key || !newest.second.valid()) {
    if (newest.second.valid()) left.push_back(newest.second);
    newest = {key, file.empty()
                       ? std::shared_future<SharedLens>()
                       : std::async(std::launch::async, [file, layers, d_model]() -> SharedLens {
                           return std::make_shared<const model::LinearLens>(model::open_linear_lens(file, layers, d_model));
                         })};
  }
  std::erase_if(left, [](const auto& lens) { return lens.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  return newest.second;
}

/// Waits until the lens is open; null: there is no linear lens.
Task<SharedLens> wait_for_lens(std::string file, std::uint32_t layers, std::uint32_t d_model) {
  const std::shared_future<SharedLens> lens = opened_lens(file, layers, d_model);
  if (!lens.valid()) co_return nullptr;
  while (lens.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) co_await read_nothing();
  co_return lens.get();
}

}  // namespace

LensCell lens_cell(std::span<const float> logits, std::span<const float> last, std::optional<std::uint32_t> ranked) {
  LensCell cell;
  const std::vector<inference::Candidate> likeliest = inference::top_candidates(logits, kLensTokens);
  cell.known = static_cast<std::uint32_t>(likeliest.size());
  std::ranges::copy(likeliest, cell.likeliest.begin());
  const double sum = log_sum_exp(logits), of_last = log_sum_exp(last);
  const auto best = std::ranges::max_element(last) - last.begin();
  cell.ranked = ranked && *ranked < logits.size() ? *ranked : static_cast<std::uint32_t>(best);
  const float wanted = logits[cell.ranked];
  cell.logit = double{wanted};
  cell.rank = 1;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const double log_probability = double{logits[id]} - sum, log_last = double{last[id]} - of_last;
    const double probability = std::exp(log_probability), share = std::exp(log_last);
    if (probability > 0.0) cell.entropy -= probability * log_probability;
    if (share > 0.0) cell.divergence += share * (log_last - log_probability);
    cell.rank += logits[id] > wanted || (logits[id] == wanted && id < cell.ranked) ? 1U : 0U;
  }
  cell.probability = std::exp(double{wanted} - sum);
  if (std::isnan(sum)) cell.entropy = cell.divergence = sum;
  return cell;
}

Task<LensCells> analyse(LensQuestion question, AnalysisSubject subject) {
  const std::uint32_t layers = lens_layers(*subject.network);
  const model::TokenBatch& tokens = subject.input->target ? *subject.input->target : subject.input->source;
  const bool is_inside = question.batch < tokens.batch && question.token < tokens.length && question.first <= layers;
  if (!subject.has_logits || !is_inside) throw Error("this run has no such prediction");
  const SharedLens lens = co_await wait_for_lens(question.lens, layers, stream_width(*subject.network));
  const inference::StateRef last{.batch = question.batch, .token = question.token, .layer = layers};
  Reads reads;
  reads.logits.push_back(last);
  for (std::uint32_t layer = question.first; layer < std::min(question.first + kLensLayers, layers); ++layer) {
    inference::StateRef state = last;
    state.layer = layer;
    if (lens) state.translator = {lens, &lens->translators[layer]};
    reads.logits.push_back(std::move(state));
  }
  const std::size_t states = reads.logits.size();
  const Answers read = co_await std::move(reads);
  const std::size_t width = read.logits.size() / states;
  LensCells found;
  for (std::size_t i = 1; i < states; ++i) {
    found.layers.push_back(lens_cell(read.logits.subspan(i * width, width), read.logits.first(width), question.ranked));
  }
  if (question.first + kLensLayers > layers) {
    found.layers.push_back(lens_cell(read.logits.first(width), read.logits.first(width), question.ranked));
  }
  co_return found;
}

Task<LensTable> analyse(LensTableQuestion question, AnalysisSubject subject) {
  const model::TokenBatch& tokens = subject.input->target ? *subject.input->target : subject.input->source;
  const attention::KeyRange real = real_tokens(tokens, question.batch, tokens.length);
  LensTable found;
  for (question.token = real.begin; question.token < real.end; ++question.token) {
    std::vector<LensCell>& position = found.positions.emplace_back();
    for (question.first = 0; question.first <= lens_layers(*subject.network); question.first += kLensLayers) {
      Task<LensCells> part = analyse(static_cast<const LensQuestion&>(question), subject);
      const LensCells cells = co_await std::move(part);
      position.insert(position.end(), cells.layers.begin(), cells.layers.end());
    }
  }
  co_return found;
}

}  // namespace headlight::app
