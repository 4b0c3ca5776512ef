#pragma once

#include <cstdint>
#include <span>

#include "inference/reuse.h"

namespace headlight::inference {

// Several changed passes of one text as one pass: the text is there once for each of them, as an item of a batch, and what
// is changed about an item concerns that item alone (Scope::item).

/// Can such a pass be made? Not where Q, K and V are given, not where a change replaces a pattern, which is of all items,
/// and not with dropout, which drops other numbers in each item.
bool can_copy(const PassInputs& pass, std::span<const Interventions> changes);

/// The pass of one line, as many times as there are lists of changes: item i has the changes of list i after the pass's
/// own interventions. What masks and interventions say about the line holds for every copy; what they say about others is
/// left out. The pass must have that line, and can_copy() these.
PassInputs copies_of(const PassInputs& pass, std::uint32_t line, std::span<const Interventions> changes);

}  // namespace headlight::inference
