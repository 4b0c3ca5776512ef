#pragma once

#include "app/frame.h"

namespace headlight::app {

enum class LeaveChoice : std::uint8_t { None, Save, Discard, Stay };

/// Asks what becomes of changes that the open session's file lacks, before it is left. `trouble`: why saving it has failed;
/// empty: it wasn't tried.
LeaveChoice draw_leave_dialog(Frame& frame, const std::string& session, const std::string& trouble);

}  // namespace headlight::app
