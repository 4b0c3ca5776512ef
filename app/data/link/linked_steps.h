#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace headlight::app {

/// The capture of one step that a program sent.
struct LinkedStep {
  std::int64_t step = 0;
  std::filesystem::path file;  ///< of capture::CaptureFile
  std::uint64_t bytes = 0;

  bool operator==(const LinkedStep&) const = default;
};

/// The limits of linked steps.
struct LinkBudget {
  std::uint64_t bytes = std::uint64_t{512} << 20;
  std::size_t steps = 1'000;
};

/// The steps that a program sent, as files of a folder. The oldest are thinned out where they are more than the budget, so
/// that what is left spans the whole training: of the older half, the step whose neighbours are nearest to each other goes.
/// The first and the newest step stay as long as there are three.
class LinkedSteps {
 public:
  /// Files are removed when steps go and when this does.
  explicit LinkedSteps(LinkBudget budget) : budget_(budget) {}
  ~LinkedSteps() { clear(); }
  LinkedSteps(const LinkedSteps&) = delete;
  LinkedSteps& operator=(const LinkedSteps&) = delete;

  /// Adds a step, in place of an earlier capture of that step.
  void add(LinkedStep step);
  /// Gives up the step that is missed least. Returns false where none is left to give up.
  bool thin_out();
  void clear();

  /// Returns the steps in ascending order.
  const std::vector<LinkedStep>& steps() const { return steps_; }
  std::uint64_t bytes() const { return bytes_; }
  const LinkBudget& budget() const { return budget_; }
  /// Returns the number of steps that went because of the budget.
  std::uint64_t thinned() const { return thinned_; }

 private:
  void remove(std::size_t index);

  LinkBudget budget_;
  std::vector<LinkedStep> steps_;
  std::uint64_t bytes_ = 0, thinned_ = 0;
};

/// Returns the index of the step nearest to `step`. `steps` isn't empty.
std::size_t nearest_step(const std::vector<LinkedStep>& steps, std::int64_t step);

/// Returns the folder of the sockets of open windows, platform::meeting_folder(), and makes it. Throws Error where it isn't
/// a folder of this user that others have no access to.
std::filesystem::path link_folder();
/// Makes a folder of any name likewise, with these checks.
void make_private_folder(const std::filesystem::path& folder);

}  // namespace headlight::app
