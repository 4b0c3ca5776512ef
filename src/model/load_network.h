#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/checkpoint.h"
#include "model/network.h"

namespace headlight::model {

/// Special token ids that config.json names.
struct SpecialIds {
  std::optional<std::uint32_t> bos = {}, pad = {}, decoder_start = {}, mask = {}, separator = {}, classify = {};
  std::vector<std::uint32_t> eos = {};  ///< each of them ends a text
};

/// An overview of a model, for the user.
struct ModelDescription {
  std::string family;            ///< "GPT-2"
  std::string family_file = {};  ///< the model's own file that describes it; empty: the family is the program's
  std::string model_type;        ///< of config.json: "gpt2"
  std::string name;              ///< of its folder; "openai-community/gpt2" in the hub's cache
  std::uint32_t layers = 0, heads = 0, kv_heads = 0, d_model = 0, d_k = 0;  ///< of the encoder where there are two stacks
  std::uint32_t decoder_layers = 0, decoder_heads = 0;                      ///< 0 without a second stack
  std::uint32_t vocabulary = 0, target_vocabulary = 0;                      ///< target_vocabulary: 0 without a second stack
  std::uint32_t max_length = 0;    ///< tokens that have a position, or the length in training; 0: unknown
  bool is_length_limited = false;  ///< no token beyond max_length has a position
  std::uint32_t window = 0;        ///< of its layers with sliding-window attention; 0: none has
  std::uint32_t token_types = 0;   ///< 2 in BERT; 0: it has none
  std::uint32_t experts = 0;       ///< of a layer that has some; 0: none has
  std::uint32_t experts_per_token = 0;
  std::uint32_t expert_layers = 0;                          ///< layers that have them
  bool has_shared_expert = false;                           ///< beside these, one for every token
  std::uint64_t parameter_count = 0;                        ///< shared weights once
  std::uint64_t active_parameter_count = 0;                 ///< of these, what a token uses
  std::uint64_t file_bytes = 0;                             ///< of all tensors as stored
  std::map<std::string, std::uint32_t> element_types = {};  ///< "F16" → number of tensors
  std::vector<std::string> unused_tensors = {};  ///< stored, but not of the network: heads of other tasks, vision towers
  bool is_causal = false;                        ///< the (last) stack doesn't attend to later tokens
  bool is_encoder_decoder = false;
  bool has_logits = false;  ///< it has a head over the vocabulary
  SpecialIds ids = {};
  std::vector<std::string> ids_outside = {};  ///< "bos_token_id 50256": named by the files, but not in the vocabulary
};

/// A network whose weights are views of its files, with its description.
struct LoadedNetwork {
  Network network;
  ModelDescription description;
};

/// Builds a network from config.json and tensors, of the family that its model_type names or that headlight-family.json
/// beside it describes; reads only a few small weights. Throws Error in one line for an unknown model_type, a value of
/// config.json out of its range, and a tensor that is missing, has another shape than config.json implies, or is no part of
/// such a network.
LoadedNetwork load_network(const Checkpoint& checkpoint);
/// A folder or file.
LoadedNetwork load_network(const std::filesystem::path& path);
/// With `config` instead of config.json.
LoadedNetwork load_network(const Checkpoint& checkpoint, std::string_view config);

}  // namespace headlight::model
