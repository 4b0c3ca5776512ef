#pragma once

#include "app/figures/job.h"
#include "app/figures/plan.h"
#include "export/file_array.h"
#include "inference/run.h"

namespace headlight::app {

struct ExportWork;

/// An array and what its axes are called.
struct NumberArray {
  exporting::FileArray array;  ///< reads what needs no run
  std::vector<std::string> axes = {};
  /// Reads the bytes of a part of the run that the task is of; empty: `array` does.
  std::function<Task<std::string>(std::size_t part)> read = {};
};

/// Every selected matrix of a stage: [layer, batch, head, row, column], or without the head axis.
NumberArray stage_array(const EvaluationSubject& subject, const ExportBlocks& blocks, attention::Stage stage,
                        std::string name);

/// Results of a whole network, or what they are more than the baseline's. Values at padding are meaningless.

/// What the encoder returns: [batch, token, d_model].
NumberArray encoder_output_array(const ExportWork& work, std::string name);
/// Hidden states of a stack: [layer + 1, batch, token, d_model].
NumberArray hidden_array(const ExportWork& work, inference::Stack stack, std::string name);
/// Logits of the last stack [batch, token, vocabulary], some tokens at a time: a long text's fill gigabytes.
NumberArray logits_array(const ExportWork& work, std::string name);

/// Tokens and their ids, where there are any: "tokens", "token_ids", and of an encoder-decoder those of its target.
std::vector<exporting::FileArray> token_arrays(const model::ModelInput& input);
/// The ids alone.
std::vector<exporting::FileArray> id_arrays(const model::ModelInput& input);

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
void write_parameter(const WrittenParameter& parameter, std::size_t index, const std::filesystem::path& path);

}  // namespace headlight::app
