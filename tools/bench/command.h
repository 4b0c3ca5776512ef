#pragma once

#include "app/cli/command_line.h"

namespace headlight::bench {

/// The program headlight-bench.
app::SingleCommand bench_command();

}  // namespace headlight::bench
