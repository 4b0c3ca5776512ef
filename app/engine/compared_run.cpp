#include "app/engine/compared_run.h"

#include <algorithm>

#include "app/shapes/quantities/evaluation.h"
#include "core/error.h"
#include "inference/aligned_run.h"
#include "text/tokenizer.h"

namespace headlight::app {
namespace {

/// Why these inputs have no run beside one of the others on the same device; empty: they may have one.
std::string why_not_together(const RunInputs& wanted, const RunInputs& newest) {
  if (is_capture(wanted.source) || is_capture(newest.source)) return {};  // whose weights are in no one's way
  if (is_model(wanted.source) != is_model(newest.source)) {
    return is_model(wanted.source) ? "the baseline is of a model, this one isn't"
                                   : "this run is of a model, the baseline isn't";
  }
  const auto* wanted_model = std::get_if<Model>(&wanted.source);
  const auto* newest_model = std::get_if<Model>(&newest.source);
  if (wanted_model && newest_model && wanted_model->precision != newest_model->precision) {
    const bool is_f16 = wanted_model->precision == inference::Precision::F16;
    return fmt::format("the baseline has {} weights, this run {}", is_f16 ? "f16" : "f32", is_f16 ? "f32" : "f16");
  }
  return {};
}

/// Do the tokenizers of two models give every id the same token?
bool have_same_tokens(const text::Tokenizer& left, const text::Tokenizer& right) {
  if (&left == &right) return true;
  if (left.vocabulary_size() != right.vocabulary_size()) return false;
  for (std::uint32_t id = 0; id < left.vocabulary_size(); ++id) {
    if (left.token_string(id) != right.token_string(id)) return false;
  }
  return true;
}

/// Do two networks have the same layers, heads and widths?
bool have_same_heads(const model::Network& left, const model::Network& right) {
  const std::vector<model::BlockRef> blocks = left.blocks();
  return blocks == right.blocks() && std::ranges::all_of(blocks, [&](model::BlockRef block) {
           const model::AttentionConfig &a = left.layer(block).config, &b = right.layer(block).config;
           return a.heads == b.heads && a.kv_head_count() == b.kv_head_count() && a.d_model == b.d_model && a.d_k == b.d_k &&
                  a.d_v == b.d_v;
         });
}

/// Why runs of two models have no differences; empty: they may have. Told before the other model's weights are uploaded.
std::string why_not_comparable(const RunSource::Source& baseline, const RunSource::Source& newest) {
  if (!baseline.model || !newest.model || baseline.model == newest.model) return {};
  const text::Tokenizer *theirs = baseline.model->tokenizer.get(), *ours = newest.model->tokenizer.get();
  if (theirs == nullptr || ours == nullptr || !have_same_tokens(*theirs, *ours)) {
    return "the baseline is of a model with another tokenizer";
  }
  const text::Tokenizer *written = baseline.model->predicted_tokenizer(),
                        *ours_written = newest.model->predicted_tokenizer();
  if ((written != theirs || ours_written != ours) && !have_same_tokens(*written, *ours_written)) {
    return "the baseline is of a model that writes another tokenizer's tokens";
  }
  if (!have_same_heads(*baseline.network, *newest.network)) {
    return "the baseline is of a model with other layers, heads or widths";
  }
  return {};
}

/// Are all maps of two runs as many and of one size? A capture has less than a network's run beside them.
bool have_same_maps(const BlockShapes& left, const BlockShapes& right) {
  return std::ranges::equal(left, right, [](const auto& one, const auto& other) {
    const inference::BlockShape &a = one.second, &b = other.second;
    return one.first == other.first && a.batch == b.batch && a.heads == b.heads && a.queries == b.queries &&
           a.keys == b.keys;
  });
}

/// Why two runs have no differences; empty: they have. `only_maps`: one is a capture, the other a network's.
std::string why_not_comparable(const BlockShapes& baseline, const BlockShapes& newest, bool only_maps) {
  if (baseline == newest || (only_maps && have_same_maps(baseline, newest))) return {};
  for (const auto& [block, shape] : newest) {
    const auto found = baseline.find(block);
    const bool differs = found != baseline.end() && (found->second.queries != shape.queries ||
                                                     found->second.keys != shape.keys || found->second.batch != shape.batch);
    if (!differs) continue;
    const inference::BlockShape& other = found->second;
    return fmt::format("the baseline has {} × {} queries and {} keys, this run {} × {} and {}", other.batch, other.queries,
                       other.keys, shape.batch, shape.queries, shape.keys);
  }
  return "the baseline has other layers or heads";
}

}  // namespace

std::shared_ptr<const inference::Run> by_positions_of(const RunInputs& newest, const inference::Run& run,
                                                      const RunInputs& wanted, std::shared_ptr<const inference::Run> other) {
  if (is_capture(newest.source) || is_capture(wanted.source)) return other;
  const auto identity = is_model(newest.source) ? inference::TokenIdentity::Id : inference::TokenIdentity::Spelling;
  return inference::aligned_to(run, std::move(other), identity);
}

void ComparedRun::clear() {
  run_.reset();
  aligned_.reset();
  failure_.clear();
  refusal_.clear();
}

void ComparedRun::update(const std::optional<RunInputs>& wanted, const Newest& newest, Runner& runner) {
  if (!wanted) return clear();
  aligned_.reset();
  refusal_ = why_not_together(*wanted, newest.inputs);
  if (!refusal_.empty()) {
    run_.reset();
    return;
  }
  const bool is_known = inputs_ == *wanted && (run_ || !failure_.empty());
  if (*wanted == newest.inputs) {
    if (run_ != newest.run) ++number_;
    run_ = newest.run;
    inputs_ = *wanted;
    failure_.clear();
  } else if (!is_known) {
    compute(*wanted, newest, runner);
  }
  const bool only_maps = is_capture(wanted->source) != is_capture(newest.inputs.source);
  aligned_ = run_ ? by_positions_of(newest.inputs, *newest.run, *wanted, run_) : nullptr;
  refusal_ = run_ ? why_not_comparable(shapes_of(*aligned_), shapes_of(*newest.run), only_maps) : failure_;
}

std::shared_ptr<const inference::InputCounterparts> ComparedRun::pairs() const {
  const auto aligned = std::dynamic_pointer_cast<const inference::AlignedRun>(aligned_);
  return aligned ? aligned->pairs() : nullptr;
}

std::shared_ptr<const model::ModelInput> ComparedRun::tokens() {
  if (!run_) return nullptr;
  if (tokens_ && tokens_number_ == number_) return tokens_;
  model::ModelInput tokens = run_->inputs().input;
  tokens.source.vectors = {};
  if (tokens.target) tokens.target->vectors = {};
  tokens.qkv.reset();
  tokens_ = std::make_shared<const model::ModelInput>(std::move(tokens));
  tokens_number_ = number_;
  return tokens_;
}

std::shared_ptr<const model::ModelInput> ComparedRun::aligned_tokens() {
  if (!pairs()) return tokens();
  return {aligned_, &aligned_->inputs().input};
}

void ComparedRun::compute(const RunInputs& wanted, const Newest& newest, Runner& runner) {
  run_.reset();
  inputs_ = wanted;
  failure_.clear();
  try {
    RunSource source = newest.source;  // which shares its weights where they are the same
    const RunSource::Source newest_source = source.build(newest.inputs);
    const RunSource::Source& built = source.build(wanted);
    failure_ = why_not_comparable(built, newest_source);
    if (!failure_.empty()) return;
    std::shared_ptr<const inference::Run> base = newest.run;
    run_ = compute_run(runner, built, wanted, std::move(base));
    ++number_;
  } catch (const std::exception& error) {
    if (kind_of(error) == ErrorKind::DeviceLost) throw;
    if (kind_of(error) == ErrorKind::Cancelled) return;  // a newer request tries again
    failure_ = fmt::format("the baseline: {}", error.what());
    failure_.resize(std::min(failure_.size(), failure_.find('\n')));
  }
}

}  // namespace headlight::app
