#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/state/json_reader.h"
#include "app/state/state.h"

namespace headlight::app {

// Values of fields that are neither numbers, texts nor enumerators, as JSON. Each read_…() reads the member `key` of
// `object` into `value`, which stays as it is where there is no such member, and throws Error naming it when it is invalid.

using IdLists = std::vector<std::vector<std::uint32_t>>;
using ColorLimits = std::map<attention::Stage, chart::ValueLimits>;

/// Returns "1/sqrt(d_k)", "none" or a number.
nlohmann::json write_scale(const model::Scale& scale);
void read_scale(const JsonReader& object, const char* key, model::Scale& value);

/// Lists of token ids, one for each item of the batch.
void read_ids(const JsonReader& object, const char* key, IdLists& value);

/// [{"kind", "layer", "head", "gain"}, …].
/// Files of older versions say true or false.
void read_thinking(const JsonReader& object, const char* key, text::Thinking& value);

nlohmann::json write_gains(const inference::HeadGains& gains);
void read_gains(const JsonReader& object, const char* key, inference::HeadGains& value);

/// Returns [{"kind", "layer", "head", "pattern"}, …].
nlohmann::json write_patterns(const inference::FixedPatterns& patterns);
void read_patterns(const JsonReader& object, const char* key, inference::FixedPatterns& value);

/// Returns [{"name", "operation", "site", "kind", "layer", "head", "item", "first", "strength", "numbers"}, …].
nlohmann::json write_changes(const KeptChanges& changes);
void read_changes(const JsonReader& object, const char* key, KeptChanges& value);

/// Returns {"recipe": {"seed", …}, "matrices": {"v": {"shape": [6, 4], "cells": [[9, 0.5], …]}}}; null without a change.
nlohmann::json write_edits(const inference::NotebookEdits& edits);
void read_edits(const JsonReader& object, const char* key, inference::NotebookEdits& value);

/// Returns {"weights": [low, high], …}.
nlohmann::json write_limits(const ColorLimits& limits);
void read_limits(const JsonReader& object, const char* key, ColorLimits& value);

/// Returns [query, key], or null without a cell.
nlohmann::json write_cell(const std::optional<attention::Cell>& cell);
void read_cell(const JsonReader& object, const char* key, std::optional<attention::Cell>& value);

/// Returns {"kind", "layer", "head"}.
nlohmann::json write_head(model::BlockRef block, std::uint32_t head);
void read_head(const JsonReader& object, model::BlockRef& block, std::uint32_t& head);

/// Returns [{"kind", "layer", "head"}, …]; in files in any order.
nlohmann::json write_heads(const std::vector<HeadRef>& heads);
void read_heads(const JsonReader& object, const char* key, std::vector<HeadRef>& value);

/// Returns a name of kHeadMetricNames, or null without a metric.
nlohmann::json write_metric(const std::optional<evaluation::HeadMetric>& metric);
void read_metric(const JsonReader& object, const char* key, std::optional<evaluation::HeadMetric>& value);

/// Returns {"side": "query", "token": 3}, or null without a token.
nlohmann::json write_locked(const std::optional<LockedToken>& locked);
void read_locked(const JsonReader& object, const char* key, std::optional<LockedToken>& value);

/// Returns numbers of heads, in files in any order.
nlohmann::json write_head_numbers(const std::vector<std::uint32_t>& heads);
void read_head_numbers(const JsonReader& object, const char* key, std::vector<std::uint32_t>& value);

/// Reads any name of the kind that views have: a version that has other views may have written the file.
void read_view_id(const JsonReader& object, const char* key, std::string& value);

/// Reads the name of a matrix of the block view, which another version may have written too; empty: none.
void read_matrix_id(const JsonReader& object, const char* key, std::string& value);

/// Returns the id of a token, or null for none.
nlohmann::json write_token(std::optional<std::uint32_t> token);
void read_token(const JsonReader& object, const char* key, std::optional<std::uint32_t>& value);

}  // namespace headlight::app
