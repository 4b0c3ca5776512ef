#include "inference/notebook_makers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>

#include "core/error.h"
#include "inference/notebooks.h"
#include "inference/reference_run.h"
#include "inference/run.h"
#include "model/torch_random.h"

namespace headlight::inference {
namespace {

using attention::Stage;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Calls `visit` with each index of a shape.
template <typename Visit>
void each(const Shape& shape, const Visit& visit) {
  std::vector<std::size_t> index(shape.size(), 0);
  for (std::size_t count = element_count(shape); count > 0; --count) {
    visit(index);
    for (std::size_t axis = shape.size(); axis-- > 0 && ++index[axis] == shape[axis];) index[axis] = 0;
  }
}

/// Numbers by what `of` says of each index.
template <typename Of>
Lettered made(std::string letters, Shape shape, const Of& of) {
  Lettered result{.letters = std::move(letters), .shape = std::move(shape)};
  each(result.shape, [&](const auto& index) { result.values.push_back(of(index)); });
  return result;
}

Lettered list(std::vector<double> values) {
  return {.letters = "n", .shape = {static_cast<std::uint32_t>(values.size())}, .values = std::move(values)};
}

template <typename Values>
Lettered lettered(std::string letters, Shape shape, const Values& values) {
  return {.letters = std::move(letters), .shape = std::move(shape), .values = {values.begin(), values.end()}};
}

std::optional<Stage> find_stage(std::string_view name) {
  const auto found = std::ranges::find(attention::kStageNames, name);
  if (found == attention::kStageNames.end()) return std::nullopt;
  return static_cast<Stage>(found - attention::kStageNames.begin());
}

/// Makes the numbers of one part.
class Maker {
 public:
  Maker(const NotebookPass& pass, const NotebookPart& part)
      : pass_(pass), part_(part), block_{.kind = part.block, .layer = {}} {
    const std::vector<model::BlockRef> blocks = pass.network.blocks();
    if (std::ranges::find(blocks, block_) == blocks.end()) throw Error("this network has no such attention");
    layer_ = &pass.network.layer(block_);
    shape_ = shape_of(*layer_, block_.kind, pass.input);
  }

  Lettered make() const {
    if (const auto stage = find_stage(part_.stage)) return part_.is_size ? sized(*stage) : numbers(*stage);
    const Named* named = find(part_);
    if (named == nullptr) throw Error("there is no stage '{}'", part_.stage);
    return (this->*named->make)();
  }

  struct Named {
    std::string_view name;
    Lettered (Maker::*make)() const;
    Stage about = Stage::X;  ///< the stage that it is about
    std::vector<Stage> stages = {};
    bool has_visible = false;
  };
  static const std::vector<Named> kMakers;
  /// Returns null where a part has the name of no maker.
  static const Named* find(const NotebookPart& part) {
    const auto found = std::ranges::find(kMakers, part.stage, &Named::name);
    return found == kMakers.end() ? nullptr : &*found;
  }

 private:
  /// The stage's letters and sizes.
  Lettered sized(Stage stage) const {
    const auto extent = shape_.extent(stage);
    if (!extent) throw Error("this pass has no {}", to_string(stage));
    if (!is_per_head(stage)) return {.letters = "btc", .shape = {shape_.batch, extent->rows, extent->columns}};
    return {.letters = is_map(stage) ? "bhqk" : "bhtd",
            .shape = {shape_.batch, shape_.matrices(stage), extent->rows, extent->columns}};
  }

  Lettered numbers(Stage stage) const {
    Lettered result = sized(stage);
    if (std::optional<std::vector<double>> exact = exact_numbers(stage)) {
      result.values = std::move(*exact);
      return result;
    }
    const Tensor tensor = pass_.stage(block_, stage);
    if (tensor.values.size() != element_count(result.shape)) throw Error("this pass has no {}", to_string(stage));
    result.values.assign(tensor.values.begin(), tensor.values.end());
    return result;
  }

  /// Returns the numbers in double precision of a pass whose Q, K and V are given, as notebook 003 computes them; none of
  /// other passes.
  std::optional<std::vector<double>> exact_numbers(Stage stage) const {
    if (!pass_.input.qkv || !pass_.is_plain) return std::nullopt;
    const model::GivenQkv& given = *pass_.input.qkv;
    model::reference::AttentionStages stages;
    const std::array<const Tensor*, 3> tensors = {&given.query, &given.key, &given.value};
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      model::reference::Array array = model::reference::widen(*tensors[i]);
      const std::uint32_t width = tensors[i]->shape.back();
      for (std::uint32_t at = 0; at < array.values.size(); ++at) {
        const std::uint32_t row = at / width, column = at % width;
        if (row >= kPrintedTokens || column >= kPrintedWidth) continue;
        const double printed = printed_qkv()[i][row * kPrintedWidth + column];
        if (static_cast<float>(printed) == tensors[i]->values[at]) array.values[at] = printed;
      }
      stages[static_cast<Stage>(static_cast<std::size_t>(Stage::Q) + i)] = std::move(array);
    }
    const model::reference::PassRules rules = reference_rules(pass_.network, pass_.input, pass_.masks, {});
    model::reference::attend(attention_of(pass_.network, pass_.input, rules, block_), stages);
    const std::vector<double>& values = stages[stage].values;
    return values.empty() ? std::nullopt : std::optional(values);
  }

  Lettered visible() const {
    const Tensor tensor = pass_.visible(block_);
    return lettered("bhqk", tensor.shape, tensor.values);
  }

  Lettered ids_of(const model::TokenBatch& tokens) const {
    return lettered("bt", {tokens.batch, tokens.length}, tokens.ids);
  }
  Lettered ids() const { return ids_of(pass_.input.source); }
  Lettered target_ids() const {
    if (!pass_.input.target) throw Error("this pass has no target");
    return ids_of(*pass_.input.target);
  }

  Lettered weight(const model::Linear model::AttentionWeights::*member) const {
    if (!layer_->weights) throw Error("this layer has no weights");
    const Tensor tensor = ((*layer_->weights).*member).weight.tensor();
    const std::uint32_t heads = layer_->config.heads;
    return lettered("hdi", {heads, tensor.shape[0] / heads, tensor.shape[1]}, tensor.values);
  }
  Lettered query_weight() const { return weight(&model::AttentionWeights::query); }
  Lettered key_weight() const { return weight(&model::AttentionWeights::key); }
  Lettered value_weight() const { return weight(&model::AttentionWeights::value); }

  /// The randn(2, 3) at the end of notebook 001, after all that its cells draw.
  Lettered drawn() const {
    model::TorchRandom random(pass_.seed);
    for (int i = 0; i < 3; ++i) random.linear(shape_.d_model, shape_.d_model);
    random.randn({shape_.batch, shape_.queries, shape_.d_model});
    random.rand({2, 5, 16});
    for (int i = 0; i < 3 * 4; ++i) random.linear(16, 16);
    for (int i = 0; i < 2; ++i) random.rand({2, 5, 16});
    const Tensor tensor = random.randn({2, 3});
    return lettered("tc", tensor.shape, tensor.values);
  }

  /// Strides of A·V [b, h, t, d], of its transpose [b, t, h, d] and of the merged copy [b, t, h·d].
  std::array<std::pair<std::vector<double>, std::vector<double>>, 3> memory() const {
    const Lettered heads = sized(Stage::Heads);
    const double b = heads.shape[0], h = heads.shape[1], t = heads.shape[2], d = heads.shape[3];
    return {{{{b, h, t, d}, {h * t * d, t * d, d, 1.0}},
             {{b, t, h, d}, {h * t * d, d, t * d, 1.0}},
             {{b, t, h * d}, {t * h * d, h * d, 1.0}}}};
  }
  /// Do the numbers follow each other in memory in the order of the indices?
  static double is_contiguous(const std::vector<double>& sizes, const std::vector<double>& strides) {
    double expected = 1.0;
    for (std::size_t axis = sizes.size(); axis-- > 0; expected *= sizes[axis]) {
      if (sizes[axis] > 1.0 && strides[axis] != expected) return 0.0;
    }
    return 1.0;
  }
  Lettered strides() const {
    Lettered result{.letters = "mn", .shape = {3, 4}};
    for (const auto& of : memory()) {
      for (std::size_t i = 0; i < 4; ++i) result.values.push_back(i < of.second.size() ? of.second[i] : kNone);
    }
    return result;
  }
  Lettered contiguous_heads() const {
    const auto known = memory();
    return list({is_contiguous(known[1].first, known[1].second), is_contiguous(known[2].first, known[2].second)});
  }
  Lettered contiguous_drawn() const {
    const Shape shape = drawn().shape;
    const double rows = shape[0], columns = shape[1];
    return list({is_contiguous({rows, columns}, {columns, 1.0}), is_contiguous({columns, rows}, {1.0, columns})});
  }

  Lettered token() const {
    const Lettered heads = sized(Stage::Heads);
    return made(heads.letters, heads.shape, [](const auto& index) { return static_cast<double>(index[2]); });
  }

  Lettered asymmetry() const {
    const Lettered scores = numbers(Stage::Scaled);
    return made(scores.letters, scores.shape, [&](const auto& i) {
      const bool has_both = i[3] < scores.shape[2] && i[2] < scores.shape[3];
      return has_both ? scores.at(i) - scores.at({i[0], i[1], i[3], i[2]}) : kNone;
    });
  }
  Lettered largest_asymmetry() const {
    double largest = 0.0;
    for (const double off : asymmetry().values) largest = std::max(largest, std::abs(off));
    return list({largest});
  }

  /// Sums of the rows of a map.
  static Lettered sums(const Lettered& map) {
    return made("bhq", {map.shape[0], map.shape[1], map.shape[2]}, [&](const auto& i) {
      double sum = 0.0;
      for (std::size_t key = 0; key < map.shape[3]; ++key) sum += map.at({i[0], i[1], i[2], key});
      return sum;
    });
  }
  Lettered row_sums() const { return sums(numbers(Stage::Weights)); }
  Lettered visible_keys() const { return sums(visible()); }

  /// For each token and head its query, key and value side by side.
  Lettered fused() const {
    const std::array all = {numbers(Stage::Q), numbers(Stage::K), numbers(Stage::V)};
    const Shape& of = all[0].shape;
    if (all[1].shape != of || all[2].shape != of) throw Error("Q, K and V have different sizes");
    return made("bthnd", {of[0], of[2], of[1], 3, of[3]}, [&](const auto& i) {
      return all[i[3]].at({i[0], i[2], i[1], i[4]});
    });
  }

  /// Notebook 004 multiplies by hand numbers that it had printed with four decimals. `left_at` and `right_at` say of each
  /// axis which index of the result it has; '*' is the axis that is summed.
  Lettered by_hand(Stage stage, const Lettered& left, std::string_view left_at, const Lettered& right,
                   std::string_view right_at) const {
    const auto factor = [](const Lettered& of, std::string_view at, const auto& indices, std::size_t summed) {
      std::vector<std::size_t> place;
      for (const char axis : at) place.push_back(axis == '*' ? summed : indices[static_cast<std::size_t>(axis - '0')]);
      return std::round(of.at(place) * 1e4) / 1e4;
    };
    const Lettered like = sized(stage);
    return made(like.letters, like.shape, [&](const auto& i) {
      double sum = 0.0;
      for (std::size_t n = 0; n < left.shape.back(); ++n) sum += factor(left, left_at, i, n) * factor(right, right_at, i, n);
      return sum;
    });
  }
  Lettered hand_query() const { return by_hand(Stage::Q, numbers(Stage::X), "02*", query_weight(), "13*"); }
  Lettered hand_scores() const { return by_hand(Stage::Scores, numbers(Stage::Q), "012*", numbers(Stage::K), "013*"); }
  Lettered hand_heads() const { return by_hand(Stage::Heads, numbers(Stage::Weights), "012*", numbers(Stage::V), "01*3"); }

  const model::Embedding& embedding() const {
    if (!pass_.network.source_embedding) throw Error("this network has no embedding");
    return *pass_.network.source_embedding;
  }
  /// Lengths of each token's vector as it is in the table, as it is scaled, and of its position's.
  Lettered embedding_sizes() const {
    const model::Embedding& from = embedding();
    const model::TokenBatch& tokens = pass_.input.source;
    std::vector<float> row(from.table.axis(1));
    return made("btn", {tokens.batch, tokens.length, 3}, [&](const auto& i) {
      const auto token = static_cast<std::uint32_t>(i[1]);
      if (i[2] < 2) from.table.read(tokens.ids[i[0] * tokens.length + token], 1, row);
      if (i[2] == 2 && from.positions.is_empty()) return kNone;
      if (i[2] == 2) from.positions.read(token + from.position_offset, 1, row);
      const double length = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
      return i[2] == 1 ? length * static_cast<double>(from.scale) : length;
    });
  }
  Lettered root() const { return list({static_cast<double>(embedding().scale)}); }

  /// Of each line its tokens, its padding, the cells of its map, and how many of these have padding as query or key.
  Lettered padding() const {
    const model::TokenBatch& tokens = pass_.input.source;
    const double all = tokens.length;
    return made("bn", {tokens.batch, 4}, [&](const auto& i) {
      const double real = tokens.lengths[i[0]];
      return std::array{real, all - real, all * all, all * all - real * real}[i[1]];
    });
  }
  Lettered padding_share() const {
    const Lettered lines = padding();
    double cells = 0.0, of_padding = 0.0;
    for (std::size_t item = 0; item < lines.shape[0]; ++item) {
      cells += lines.at({item, 2});
      of_padding += lines.at({item, 3});
    }
    return list({of_padding / cells});
  }

  Lettered widths() const {
    return list({static_cast<double>(shape_.d_k), static_cast<double>(shape_.d_k), static_cast<double>(shape_.d_v)});
  }

  const NotebookPass& pass_;
  const NotebookPart& part_;
  model::BlockRef block_;
  const model::AttentionLayer* layer_ = nullptr;
  BlockShape shape_;
};

const std::vector<Maker::Named> Maker::kMakers = {
    {"visible", &Maker::visible, Stage::Masked, {}, true},
    {"visible_keys", &Maker::visible_keys, Stage::Masked, {}, true},
    {"ids", &Maker::ids},
    {"target_ids", &Maker::target_ids},
    {"w_q", &Maker::query_weight, Stage::Q},
    {"w_k", &Maker::key_weight, Stage::K},
    {"w_v", &Maker::value_weight, Stage::V},
    {"drawn", &Maker::drawn},
    {"strides", &Maker::strides, Stage::Merged},
    {"contiguous_heads", &Maker::contiguous_heads, Stage::Merged},
    {"contiguous_drawn", &Maker::contiguous_drawn},
    {"token", &Maker::token, Stage::Merged},
    {"asymmetry", &Maker::asymmetry, Stage::Scaled, {Stage::Scaled}},
    {"largest_asymmetry", &Maker::largest_asymmetry, Stage::Scaled, {Stage::Scaled}},
    {"row_sums", &Maker::row_sums, Stage::Weights, {Stage::Weights}},
    {"fused", &Maker::fused, Stage::Q, {Stage::Q, Stage::K, Stage::V}},
    {"hand_q", &Maker::hand_query, Stage::Q, {Stage::X}},
    {"hand_scores", &Maker::hand_scores, Stage::Scores, {Stage::Q, Stage::K}},
    {"hand_heads", &Maker::hand_heads, Stage::Heads, {Stage::Weights, Stage::V}},
    {"embedding_sizes", &Maker::embedding_sizes},
    {"root", &Maker::root},
    {"padding", &Maker::padding, Stage::Masked},
    {"padding_share", &Maker::padding_share, Stage::Masked},
    {"widths", &Maker::widths, Stage::Heads}};

}  // namespace

NotebookReads reads_of(const NotebookPart& part) {
  if (const auto stage = find_stage(part.stage))
    return {.stages = part.is_size ? std::vector<Stage>() : std::vector{*stage}};
  const Maker::Named* named = Maker::find(part);
  return named == nullptr ? NotebookReads() : NotebookReads{.stages = named->stages, .has_visible = named->has_visible};
}

std::optional<Stage> stage_of(const NotebookPart& part) {
  if (const auto stage = find_stage(part.stage)) return stage;
  const Maker::Named* named = Maker::find(part);
  return named == nullptr ? std::nullopt : std::optional(named->about);
}

Lettered make_numbers(const NotebookPass& pass, const NotebookPart& part) { return Maker(pass, part).make(); }

}  // namespace headlight::inference
