#pragma once

#include "app/analyses/analysis.h"

namespace headlight::app {

/// The blocks of a stack that come before a receiver's input, in the order of computation: those that paths lead through.
/// Paths to keys and values of a cross-attention lead through the whole encoder, those to its queries and to all inputs of
/// self-attention through the receiver's own stack. Throws Error where no head of the senders' kind is among them.
std::vector<model::BlockRef> path_chain(const HeadRef& receiver, PathInput input, model::BlockKind senders,
                                        const AnalysisSubject& subject);

}  // namespace headlight::app
