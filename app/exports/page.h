#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/exports/job.h"
#include "app/exports/numbers.h"
#include "app/exports/plan.h"

namespace headlight::capture {
class CaptureFile;
}

namespace headlight::app {

/// What a page says of its numbers' origin: how the run differs from its model (changes_note()), and the device.
struct PageOrigin {
  std::string changes, device;
};

/// Writes the selected weights as a page for browsers, a part of it for each kind of attention and line of the batch,
/// without padding. `capture`: that is shown, whose tokens may be patches of an image; null: a network's run. Returns a
/// warning where the page is large. Throws Error where it would be too large, or has nothing to show.
std::string write_attention_page(const inference::Run& run, const model::ModelInput& input,
                                 const capture::CaptureFile* capture, const std::vector<ExportBlocks>& plan,
                                 const ExportOptions& options, const PageOrigin& origin, const std::filesystem::path& path,
                                 const Checkpoint& checkpoint);

}  // namespace headlight::app
