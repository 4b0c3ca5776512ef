#include "app/link/link_server.h"
#include "app/state/source.h"
#include "app/widgets/controls.h"
#include "app/window/desk.h"

namespace headlight::app {
namespace {

constexpr std::uint64_t kBytesPerMib = std::uint64_t{1} << 20;

/// The step that the capture on show is; none: it isn't kept any more.
std::optional<std::size_t> find_step(const LinkSnapshot& link, const std::string& file) {
  const auto found = std::ranges::find_if(link.steps, [&](const LinkedStep& step) { return step.file == file; });
  if (found == link.steps.end()) return std::nullopt;
  return static_cast<std::size_t>(found - link.steps.begin());
}

using LinkSource = std::function<std::shared_ptr<const LinkSnapshot>()>;

/// Shows a new program's captures, and goes on with the newest while the user follows them.
class Link final : public Feature {
 public:
  Link(Desk& desk, LinkSource link) : Feature(desk), link_(std::move(link)) {}

  void begin_frame() override {
    if (std::shared_ptr<const LinkSnapshot> now = link_(); now != linked_) {
      linked_ = std::move(now);
      desk_.ui.request_redraw(2);
    }
    if (!linked_ || linked_->steps.empty()) return;
    const auto newest = std::ranges::find(linked_->steps, linked_->newest, &LinkedStep::step);
    if (linked_->session != shown_session_) {
      shown_session_ = linked_->session;
      follows_newest_ = true;
      desk_.stop_generating();
      desk_.undo.seal();
      if (newest != linked_->steps.end()) show_step(*newest);
      desk_.tell(
          fmt::format("{} sends attention to this window while it computes; the slider of steps is in the "
                      "sidebar.",
                      linked_->name.empty() ? "A program" : linked_->name));
      return;
    }
    const std::string& shown = capture_path(desk_.state.source);
    if (!is_linked_step(shown) || !desk_.is_current()) return;  // the step before is shown first, however fast they come
    const std::optional<std::size_t> known = find_step(*linked_, shown);
    if (follows_newest_ && newest != linked_->steps.end() && newest->file != shown) {
      show_step(*newest);
    } else if (!known) {  // it was thinned out, or sent again
      show_step(linked_->steps[nearest_step(linked_->steps, shown_step_)]);
    }
  }

  /// A slider over the steps, and whether the newest is shown as it comes; where the capture on show is one of them.
  void section(Frame& frame) override {
    const std::string& shown = capture_path(desk_.state.source);
    if (!linked_ || linked_->steps.empty() || !is_linked_step(shown)) return;
    const std::size_t index = find_step(*linked_, shown).value_or(nearest_step(linked_->steps, shown_step_));
    draw_section(frame, desk_.layout.sidebar, "link", "Steps", is_open_, [&] { draw(frame, index); });
  }

 private:
  void draw(Frame& frame, std::size_t shown) {
    const LinkSnapshot& link = *linked_;
    Form form(frame, desk_.typed, "link");
    frame.ui.ensure_glyphs(link.name);
    form.value("From", link.name.empty() ? "a program" : link.name, "What the program that sends these steps calls itself.");
    const std::size_t chosen = draw_slider(frame, form, shown);
    form.toggle("newest", "Follow newest", follows_newest_, {}, "Show each step as it comes.");
    if (chosen != shown) {
      follows_newest_ = follows_newest_ && chosen + 1 == link.steps.size();
      desk_.post([this, step = link.steps[chosen]] { show_step(step); });
    }
    std::string note =
        fmt::format("{} steps kept, {} of {} MiB{}", link.steps.size(), (link.bytes + kBytesPerMib - 1) / kBytesPerMib,
                    link.budget.bytes / kBytesPerMib, link.is_linked ? "" : "; the program has ended");
    if (link.thinned > 0) note += fmt::format("; {} thinned out", link.thinned);
    form.note(note + ".");
    if (!link.refusal.empty()) form.warning(fmt::format("Not shown: {}", link.refusal));
  }

  /// Returns the chosen step's index.
  std::size_t draw_slider(Frame& frame, Form& form, std::size_t shown) const {
    const std::vector<LinkedStep>& steps = linked_->steps;
    const float width = form.label("Step", "Of those that are kept; every view and metric shows the step's attention.");
    int index = static_cast<int>(shown);
    ImGui::SetNextItemWidth(width);
    const int last = static_cast<int>(steps.size()) - 1;
    ImGui::SliderInt("##step", &index, 0, last, std::to_string(steps[shown].step).c_str(),
                     ImGuiSliderFlags_AlwaysClamp | ImGuiSliderFlags_NoInput);
    mark_last_item(frame, "link.step", "The step of training on show.");
    step_by_keys(frame, index, 0, last, 1, false);
    const float half = (ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ItemSpacing.x) * 0.5F;
    if (form.button("earlier", "\u2039 Earlier", half)) index = std::max(index - 1, 0);
    ImGui::SameLine();
    if (form.button("later", "Later \u203A", half)) index = std::min(index + 1, last);
    return static_cast<std::size_t>(index);
  }

  void show_step(const LinkedStep& step) {
    shown_step_ = step.step;
    if (!is_linked_step(capture_path(desk_.state.source))) {
      select_capture(desk_.state, utf8(step.file));
    } else {
      // Looking at another step is no change to undo; what is selected and pinned stays.
      std::get<Capture>(desk_.state.source).path = utf8(step.file);
      desk_.undo.adopt(desk_.state);
    }
    desk_.ui.request_redraw(2);
  }

  LinkSource link_;
  std::shared_ptr<const LinkSnapshot> linked_;  ///< of this frame
  std::uint64_t shown_session_ = 0;             ///< whose first capture was shown
  bool follows_newest_ = true, is_open_ = true;
  std::int64_t shown_step_ = 0;
};

}  // namespace

std::unique_ptr<Feature> link_feature(Desk& desk, std::function<std::shared_ptr<const LinkSnapshot>()> link) {
  return std::make_unique<Link>(desk, std::move(link));
}

}  // namespace headlight::app
