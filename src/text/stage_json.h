#pragma once

#include "text/decoder.h"
#include "text/json_place.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"

namespace headlight::text {

// The stages of a tokenizer.json but the model. Each throws Error naming the place of a value that it doesn't support.
NormalizerPointer read_normalizer(const JsonPlace& place);
PreTokenizerPointer read_pre_tokenizer(const JsonPlace& place);
PostProcessorPointer read_post_processor(const JsonPlace& place);
DecoderPointer read_decoder(const JsonPlace& place);

}  // namespace headlight::text
