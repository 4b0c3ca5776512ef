#pragma once

#include "app/state/setting.h"

namespace headlight::app {

/// The neuron view shows the products of one query with one key, or with every key.
enum class NeuronForm : std::uint8_t { Pair, AllKeys };
/// The order of the products qᵢ · kᵢ of a pair.
enum class ProductOrder : std::uint8_t { ByComponent, BySize };

/// The view's query and key are the pinned cell.
struct NeuronSettings : SettingGroup {
  NeuronSettings() : SettingGroup{.name = "neuron", .view = "neuron", .is_look = true} {}

  Setting<NeuronForm> form{
      *this,
      {.key = "form",
       .undo = "Choose neuron view's keys",
       .options = {
           {"pair", "one key", "One key: every product of its numbers with the query's, and what follows from their sum."},
           {"all-keys", "all keys", "All keys: a row of products for each key that the query is compared with."}}}};
  Setting<ProductOrder> order{*this,
                              {.key = "order",
                               .undo = "Sort products",
                               .options = {{"component", "by component", "Products in the order of the components."},
                                           {"size", "by size", "The products of the largest magnitude first."}}}};
};
inline const NeuronSettings kNeuronView;

}  // namespace headlight::app
