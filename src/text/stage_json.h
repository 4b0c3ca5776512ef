#pragma once

#include "text/decoder.h"
#include "text/json_node.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"

namespace headlight::text {

// The stages of a tokenizer.json but the model. Each throws Error naming the node of a value that it doesn't support.
NormalizerPointer read_normalizer(const JsonNode& node);
PreTokenizerPointer read_pre_tokenizer(const JsonNode& node);
PostProcessorPointer read_post_processor(const JsonNode& node);
DecoderPointer read_decoder(const JsonNode& node);

}  // namespace headlight::text
