#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/architectures/sizes.h"
#include "model/checkpoint.h"
#include "model/network.h"

namespace headlight::model {

/// The tensors of a checkpoint under the names of a family. Throws Error naming tensor, expected and found shape.
class FamilyTensors {
 public:
  /// Finds the prefix of the family that this checkpoint uses, and takes away one that programs put before all names.
  FamilyTensors(Checkpoint checkpoint, const Family& family);

  /// Does one of the alternatives exist? With `prefix` below the family's, else without a prefix.
  bool has(Names names) const { return !find(prefix_, names, ".weight").empty(); }
  bool has_head(Names names) const { return !find("", names, ".weight").empty(); }
  bool has_whole(Names names) const { return !find("", names, "").empty(); }
  bool has_bias(Names names) const { return !find(prefix_, names, ".bias").empty(); }

  Parameter weight(Names names, const Shape& shape);
  /// [out, in], however it is stored.
  Linear linear(Names names, std::uint32_t out, std::uint32_t in, bool has_bias);
  /// Of all experts in one tensor [expert, out, in], under a name as it is or with ".weight": rows [expert · out, in];
  /// nullopt where there is none.
  std::optional<Parameter> expert_weights(Names names, std::uint32_t count, std::uint32_t out, std::uint32_t in);
  /// [1, in], also where it is stored as [in].
  Linear single_output(Names names, std::uint32_t in);
  /// With the epsilon and the biases of `sizes`.
  Norm norm(Names names, std::uint32_t width, const Sizes& sizes);
  /// [count] numbers under a whole name; nullopt where the file has none.
  std::optional<Parameter> frequencies(Names names, std::uint32_t count);
  /// Of the queries or keys of so many heads, as Family::head_norms says.
  Norm head_norm(Names names, std::uint32_t heads, std::uint32_t d_k, const Sizes& sizes);

  /// Rows of the embedding's table as stored; 0 where there is none.
  std::uint32_t table_rows() const;
  /// The table of a head that is tied to the embedding's: an adapter may have replaced that one alone.
  Parameter tied_table(Names names, const Parameter& table) const;
  Linear head_linear(Names names, std::uint32_t out, std::uint32_t in, bool has_bias);
  Norm unembedding_norm(Names names, std::uint32_t width, const Sizes& sizes);
  /// [out] or [1, out]; empty when there is none and none is needed.
  Parameter head_bias(Names names, std::uint32_t out, bool is_needed);

  /// Names of unused tensors outside of the network: vision towers, heads of other tasks. Throws Error naming one inside the
  /// network that none of its parts uses.
  std::vector<std::string> leftovers();
  const Checkpoint& checkpoint() const { return checkpoint_; }

 private:
  /// Sets the prefix under which the embedding's table is; false when there is none.
  bool find_prefix();
  /// The same behind so many prefixes of other programs at most, which are taken away.
  bool unwrap(int wrappers);
  /// The full name of the first alternative that exists, "" for none.
  std::string find(std::string_view prefix, Names names, std::string_view suffix) const;
  /// The tensor; throws Error naming the first alternative when there is none.
  Parameter take(std::string_view prefix, Names names, std::string_view suffix, const Shape& shape);
  Linear linear(std::string_view prefix, Names names, const Shape& shape, bool has_bias);
  Norm norm(std::string_view prefix, Names names, std::uint32_t width, const Sizes& sizes, bool has_bias);

  Checkpoint checkpoint_;
  const Family& family_;
  std::string prefix_;
  bool is_transposed_;
  bool has_table_in_head_ = false;  ///< the embedding's table has the name of the head that is tied to it
  bool is_bare_encoder_ = false;    ///< an encoder saved alone: names lack "encoder."
};

/// The stacks of the family that the checkpoint holds. Throws Error for a decoder without its encoder.
StackKind stored_kind(const Family& family, const FamilyTensors& tensors);

/// Where Family::finds_parts: the biases and norms of heads that a key of config.json decides about are there when the first
/// layer has them, and a feed-forward without a norm of its own is parallel to attention.
void find_parts(const Family& family, const FamilyTensors& tensors, Sizes& sizes);

/// A stack's token vectors, with positions of `length` tokens.
Embedding build_embedding(const Family& family, const StackNames& names, const Sizes& sizes, std::uint32_t vocabulary,
                          std::uint32_t length, FamilyTensors& tensors);
/// None when the checkpoint holds the stack alone.
std::optional<Unembedding> build_unembedding(const Family& family, const Sizes& sizes, const Embedding& embedding,
                                             FamilyTensors& tensors);

/// The whole network of a family. Throws Error naming tensors that are missing or mis-shaped.
Network build_network(const Family& family, const Settings& settings, const Sizes& sizes, FamilyTensors& tensors);

}  // namespace headlight::model
