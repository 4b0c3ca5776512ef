#pragma once

#include <set>

#include "app/engine/analyses/score_parts.h"
#include "app/shapes/grid.h"
#include "app/shapes/sentence.h"

namespace headlight::app {

/// "token", "L0 H5", "cross L0 H5", "MLP 0", "biases".
std::string writer_name(const attribution::Writer& writer);

/// Writers that stand together in the matrix: one, or all of a layer's attention while its heads are folded.
struct WriterGroup {
  std::string name, short_name;               ///< "attn 0", and "A0" where there is little room
  std::vector<std::size_t> members;           ///< indices of ScoreParts::queries or keys
  std::optional<model::BlockRef> folds = {};  ///< of an attention, folded or not
  std::optional<HeadRef> head = {};           ///< that it is alone
};
std::vector<WriterGroup> groups_of(const std::vector<attribution::Writer>& writers,
                                   const std::set<model::BlockRef>& unfolded);

/// Returns the matrix of groups, query's by key's, with their sums in a last row and column. Columns have short names.
Grid why_grid(const ScoreParts& found, const std::vector<WriterGroup>& queries, const std::vector<WriterGroup>& keys,
              bool is_raw);

/// Returns the 50 largest pairs and the sum of the others, with parts that no pair has; `all`: every pair.
Table pairs_table(const ScoreParts& found, bool is_raw, bool all);

/// A writer as the list has it; a row of writers_table().
struct WriterRow {
  attribution::Writer writer;
  std::optional<std::size_t> query, key;  ///< its indices
};
std::vector<WriterRow> writer_rows(const ScoreParts& found);
/// Returns what each of them gives as query and as key, and the weights without it.
Table writers_table(const ScoreParts& found, const std::vector<WriterRow>& rows, bool is_raw);

/// Says what the score is and which pair is the largest part of it. `query`, `key`: query_of() and key_of() of the tokens.
Sentence why_sentence(const ScoreParts& found, bool is_raw, const std::string& query, const std::string& key);

/// A cell of a head's map, as a trail has it.
struct TrailCell {
  HeadRef head;
  std::uint32_t query = 0, key = 0;

  bool operator==(const TrailCell&) const = default;
};
std::vector<TrailCell> read_trail(const std::string& text);
std::string write_trail(const std::vector<TrailCell>& cells);

}  // namespace headlight::app
