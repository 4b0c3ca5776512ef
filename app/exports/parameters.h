#pragma once

#include "app/exports/arrays.h"
#include "app/exports/contents.h"

namespace headlight::app {

/// What --stages calls the weights of a network, in their order: "w_q" … "norm_final", "embedding".
std::vector<std::string> parameter_names();

/// The names that a word of --stages means: itself, or of "ffn_*" and "norm_*" all that begin so; empty: no weight.
std::vector<std::string> parameters_of_word(const std::string& word);

/// A weight of the network that is written: an array [layer, output, input], [layer, output], or without the layer axis.
struct WrittenParameter {
  std::string name;                      ///< "encoder_w_q"
  std::vector<std::string> axes;         ///< of one layer's: "output", "input"
  std::vector<std::uint32_t> layers;     ///< that have it; empty: it is of the whole network
  std::vector<model::Parameter> values;  ///< one for each of `layers`, of one shape
};

/// The asked weights of the selected layers. What the network doesn't have, or has in another shape in another layer, is
/// said in `notes`.
std::vector<WrittenParameter> written_parameters(const std::vector<std::string>& names, const model::Network& network,
                                                 const model::ModelInput& input, std::span<const ExportBlocks> blocks,
                                                 std::vector<std::string>& notes);

NumberArray parameter_array(const WrittenParameter& parameter);

/// One layer's (or the whole network's) numbers as RFC 4180 text or as JSON; `index`: of `values`.
void write_parameter(const WrittenParameter& parameter, std::size_t index, bool as_json, const std::filesystem::path& path);

}  // namespace headlight::app
