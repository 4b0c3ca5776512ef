#pragma once

#include "model/architectures/settings.h"
#include "model/architectures/sizes.h"
#include "model/architectures/tensors.h"
#include "model/network.h"

namespace headlight::model {

/// The whole network of a family. Throws Error naming tensors that are missing or mis-shaped.
Network build_network(const Family& family, const Settings& settings, const Sizes& sizes, FamilyTensors& tensors);

}  // namespace headlight::model
