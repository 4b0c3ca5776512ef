#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/mapped_file.h"

namespace headlight::model {

/// One value of a pickle. Values refer to each other by their places in Pickle::values; loops are possible.
struct PickleValue {
  enum class Kind : std::uint8_t {
    Other,     ///< None, a float, bytes: nothing that a tensor is described by
    Integer,   ///< bools too
    Text,      ///< not checked to be UTF-8
    List,      ///< tuples too
    Dict,      ///< collections.OrderedDict too; keys and values in turn
    Function,  ///< what the pickle names: a row of a table; of a storage's type, `text` is "F32", "BF16", …
    Storage,   ///< the items of its persistent id: "storage", its type, key, device, count, …
    Tensor,    ///< the arguments of _rebuild_tensor_v2: a Storage, offset, shape, strides, …
    Foreign,   ///< what another class or function, Pickle::foreign[integer], would make of what is left out
  };
  Kind kind = Kind::Other;
  std::int64_t integer = 0;
  std::string_view text = {};             ///< of the pickle's bytes, or a constant
  std::vector<std::uint32_t> items = {};  ///< places of other values
};

/// What a pickle of torch.save holds.
struct Pickle {
  std::vector<PickleValue> values;
  std::uint32_t root = 0;
  std::vector<std::string> foreign = {};  ///< the classes and functions that aren't known: "argparse.Namespace"

  const PickleValue& at(std::uint32_t place) const { return values[place]; }
};

/// Reads one pickle from the cursor on (format: pickletools.py of Python), of protocols 0 to 5 as far as tensors, storages,
/// dictionaries, lists, numbers and texts need. Nothing is called: what any other class or function would make is left out.
/// Its values keep no more memory than some multiple of its bytes. Throws Error in one line naming the
/// file.
Pickle read_pickle(FileCursor& cursor);

}  // namespace headlight::model
