#include "app/state/kept_window.h"

#include <charconv>
#include <chrono>
#include <random>
#include <system_error>
#include <thread>

#include <nlohmann/json.hpp>

#include "app/state/json_reader.h"
#include "app/state/model_changes.h"
#include "app/state/state_json.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"

namespace headlight::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint32_t kKeptVersion = 1;

/// Returns a name that no other process takes: where two processes draw the same name, the second one can't create its lock.
std::string random_window_name() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

std::int64_t now_since_1970_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

LostWindow lost_from_json(const json& value) {
  const JsonReader reader(value, "");
  LostWindow lost;
  std::string session;
  std::uint32_t version = 0;
  reader.read("version", version, 1U, kKeptVersion);
  reader.read("session", session);
  reader.read("counter", lost.counter, std::uint64_t{0}, kMaxCounter);
  reader.read("end", lost.end);
  reader.read("is_starting", lost.has_ended_start);
  Result<State> state = state_from_json(value.at("state"));
  if (!state) throw Error("{}", state.error());
  lost.window = {.state = std::move(state).value(), .session = session};
  return lost;
}

/// Returns the inputs that a start computes for the state, without what settings.json leaves out.
RunInputs inputs_at_start(State state) {
  forget_changes(state);
  return run_inputs(state);
}

}  // namespace

std::optional<OpenSession> session_of(const OpenWindow& window) {
  if (window.session.empty()) return std::nullopt;
  Result<State> saved = load_session(window.session);
  if (!saved) return std::nullopt;
  return OpenSession{.path = window.session, .saved = std::move(saved).value()};
}

KeptWindow::KeptWindow(fs::path folder, const LoadedSettings& loaded)
    : folder_(std::move(folder)),
      saves_settings_(!loaded.is_of_newer_version),
      settings_counter_(loaded.counter),
      counter_(loaded.counter) {}

std::optional<KeptWindow::Files> KeptWindow::lock(const std::string& name) const {
  std::error_code ignored;
  platform::Descriptor held = platform::lock_file(lock_file(name), false, ignored);
  if (!held) return std::nullopt;
  return Files{.name = name, .lock = std::move(held)};
}

void KeptWindow::remove(const Files& files) const noexcept {
  std::error_code ignored;
  fs::remove(state_file(files.name), ignored);
  fs::remove(lock_file(files.name), ignored);
}

std::vector<LostWindow> KeptWindow::lost() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (fs::directory_iterator at(folder(), ignored), end; at != end; at.increment(ignored)) {
    if (at->path().extension() == ".lock") names.push_back(utf8(at->path().stem()));
  }
  std::vector<LostWindow> found;
  for (const std::string& name : names) {
    const std::optional<Files> files = lock(name);
    if (!files) continue;  // its window is open
    const auto stamp = platform::stamp_of(state_file(name));
    const std::int64_t kept_s = stamp ? stamp->written_ns / 1'000'000'000 : 0;
    const bool is_old = now_since_1970_s() - kept_s > kMaxAge_s;
    try {
      const json value = stamp ? read_json(state_file(name)) : json();
      if (is_of_newer_version(value, kKeptVersion)) continue;
      if (!is_old) {
        LostWindow& window = found.emplace_back(lost_from_json(value));
        window.name = name;
        window.kept_s = kept_s;
        counter_ = std::max(counter_, window.counter);
      }
    } catch (const std::exception&) {  // it may be read another time, or by another version
    }
    if (is_old) remove(*files);
  }
  std::ranges::sort(found, std::greater(),
                    [](const LostWindow& window) { return std::pair(window.counter, window.kept_s); });
  for (; found.size() > kMaxLost; found.pop_back()) erase(found.back());
  return found;
}

Resumed KeptWindow::resume(const State& remembered, bool may_resume) {
  std::vector<LostWindow> all = lost();
  const auto has_ended_start = [&all](const State& state, std::uint64_t counter) {
    return std::ranges::any_of(all, [&](const LostWindow& other) {
      return other.has_ended_start && other.counter >= counter &&
             inputs_at_start(other.window.state) == inputs_at_start(state);
    });
  };
  const auto words_of_end = [](const LostWindow& lost) { return lost.end.empty() ? "" : fmt::format(" ({})", lost.end); };
  Resumed resumed;
  if (may_resume) {
    const auto found = std::ranges::find_if(all, [&](const LostWindow& one) {
      return one.counter >= settings_counter_ && !has_ended_start(one.window.state, one.counter) && take(one);
    });
    if (!all.empty() && all.front().has_ended_start && all.front().counter >= settings_counter_) {
      resumed.words = fmt::format("The last start ended before all was computed{}; what it opened isn't opened again. ",
                                  words_of_end(all.front()));
    }
    if (found != all.end()) {
      const std::string changed = model_changes(found->window.state);
      resumed.words +=
          fmt::format("Headlight was not closed the last time{}: its texts, masks and views are as they were{}{}. ",
                      words_of_end(*found), changed.empty() ? "" : ", ", changed);
      resumed.window = std::move(*found);
      all.erase(found);
    } else {
      resumed.avoids_settings = has_ended_start(remembered, settings_counter_);
    }
  }
  if (!all.empty()) resumed.words += fmt::format("File, Lost windows has what ended without being closed: {}.", all.size());
  if (resumed.words.ends_with(' ')) resumed.words.pop_back();
  return resumed;
}

bool KeptWindow::take(const LostWindow& lost) {
  std::optional<Files> files = lock(lost.name);
  if (!files || !platform::stamp_of(state_file(lost.name))) return false;
  if (own_) {
    taken_.push_back(std::move(*files));
  } else {
    own_ = std::move(files);
    is_lost_one_ = true;
  }
  return true;
}

void KeptWindow::erase(const LostWindow& lost) {
  if (const std::optional<Files> files = lock(lost.name)) remove(*files);
}

void KeptWindow::begin(const Kept& kept) {
  const std::scoped_lock lock(mutex_);
  change_.settle(kept);
  is_starting_ = true;
  write_now();
}

void KeptWindow::see(const Kept& kept) {
  const std::scoped_lock lock(mutex_);
  change_.see(kept, 0.0);
}

double KeptWindow::keep(const Kept& kept, double now_s) {
  const std::scoped_lock lock(mutex_);
  is_open_ = true;
  const double wait_s = change_.wait_s(kept, now_s);
  if (wait_s > 0.0) return wait_s;
  write_now();
  return std::numeric_limits<double>::infinity();
}

void KeptWindow::prove() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(is_starting_, false)) write_now();
}

std::string KeptWindow::end(WindowEnd how, const std::string& words) noexcept {
  try {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(has_ended_, true)) return {};
    const bool has_shown_nothing = how == WindowEnd::Failed && !is_open_;
    if (how != WindowEnd::Failed || has_shown_nothing) is_starting_ = false;
    if (has_shown_nothing && !is_lost_one_) {
      discard();
      return {};
    }
    if (how != WindowEnd::Closed) return write(true, words);
    std::string trouble = write(false, "");
    if (trouble.empty()) {
      discard();
    } else {
      static_cast<void>(write(true, trouble));
    }
    return trouble;
  } catch (const std::exception& error) {
    return error.what();
  }
}

void KeptWindow::write_now() {
  const std::string trouble = write(true, "");
  if (!has_told_trouble_) trouble_ = trouble;
  has_told_trouble_ = !trouble.empty();
  change_.settle(Kept(change_.seen()));
}

void KeptWindow::discard() noexcept {
  if (own_) remove(*own_);
  for (const Files& files : taken_) remove(files);
  own_.reset();
  taken_.clear();
}

platform::Descriptor KeptWindow::raise_counter() {
  constexpr int kAttempts = 50;  // another window holds the lock while it writes two small files
  constexpr std::chrono::milliseconds kPause{20};
  const fs::path path = folder_ / "counter";
  platform::Descriptor held;
  for (int attempt = 0; attempt < kAttempts && !held; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(kPause);
    std::error_code error;
    held = platform::lock_file(path, platform::stamp_of(path) == std::nullopt, error);
    if (error == std::errc::permission_denied || error == std::errc::read_only_file_system) break;
  }
  if (held) {
    std::string digits(32, '\0');
    std::error_code ignored;
    digits.resize(platform::read_at(held.number(), digits.data(), digits.size(), 0, ignored));
    std::uint64_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    counter_ = std::max(counter_, number);
  }
  counter_ = std::min(counter_ + 1, kMaxCounter);
  if (held) static_cast<void>(platform::write_at(held.number(), fmt::format("{:020}\n", counter_), 0));
  return held;
}

void KeptWindow::write_state(const std::string& end) {
  if (!own_) {
    Files files{.name = random_window_name(), .lock = {}};
    make_private_directory(folder());
    std::error_code error;
    files.lock = platform::lock_file(lock_file(files.name), true, error);
    if (error) throw Error("{}: {}", utf8(lock_file(files.name)), error.message());
    own_ = std::move(files);
  }
  const OpenWindow& window = change_.seen().window;
  json value = {
      {"version", kKeptVersion}, {"counter", counter_}, {"session", utf8(window.session)}, {"state", to_json(window.state)}};
  if (is_starting_) value["is_starting"] = true;
  if (!end.empty()) value["end"] = end;
  write_private_file(state_file(own_->name), to_text(value) + "\n");
  for (const Files& files : std::exchange(taken_, {})) remove(files);
}

std::string KeptWindow::write(bool has_state, const std::string& end) {
  std::string trouble;
  const auto attempt = [&trouble](const char* what, auto&& action) {
    try {
      action();
    } catch (const std::exception& error) {
      if (trouble.empty()) trouble = fmt::format("{}: {}", what, one_line(error.what()));
    }
  };
  platform::Descriptor held;
  attempt(has_state ? "the window is not kept for the next start" : "the settings are not saved", [&] {
    make_private_directory(folder_);
    held = raise_counter();
    if (has_state) write_state(end);
  });
  // A start that ends the program leaves the settings that were good.
  if (saves_settings_ && !is_starting_) {
    attempt("the settings are not saved",
            [&] { save_settings(folder_ / "settings.json", change_.seen().settings, counter_); });
  }
  return trouble;
}

}  // namespace headlight::app
