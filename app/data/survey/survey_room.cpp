#include "app/data/survey/survey_room.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"

namespace headlight::app {

namespace {

constexpr const char* kNotesFile = "notes.json";
constexpr int kNotesVersion = 1;
constexpr std::size_t kLargestNotes = std::size_t{16} << 20;

}  // namespace

HeadNotes read_notes(const std::filesystem::path& survey) {
  const std::filesystem::path file = survey / kNotesFile;
  HeadNotes notes;
  if (!std::filesystem::exists(file)) return notes;
  const nlohmann::json read = read_json(file, {.bytes = kLargestNotes});
  try {
    if (read.at("version").get<double>() != kNotesVersion) throw Error("it is of another version of headlight");
    for (const auto& [name, note] : read.at("heads").get_ref<const nlohmann::json::object_t&>()) {
      notes[name] = {.label = note.at("label").get<std::string>(), .text = note.at("text").get<std::string>()};
    }
  } catch (const Error& error) {
    throw Error("{}: {}; it is left as it is", utf8(file), error.what());
  } catch (const nlohmann::json::exception&) {
    throw Error(
        "{}: expected {{\"version\": 1, \"heads\": {{\"L5H1\": {{\"label\": …, \"text\": …}}, …}}}}; move it away to write "
        "notes anew",
        utf8(file));
  }
  return notes;
}

void write_notes(const std::filesystem::path& survey, const HeadNotes& notes) {
  nlohmann::ordered_json heads = nlohmann::ordered_json::object();
  for (const auto& [name, note] : notes) {
    if (!note.is_empty()) heads[name] = {{"label", note.label}, {"text", note.text}};
  }
  write_file_atomically(survey / kNotesFile,
                        to_text(nlohmann::ordered_json{{"version", kNotesVersion}, {"heads", heads}}) + "\n");
}

namespace {

namespace fs = std::filesystem;

template <typename Value>
bool is_there(const std::future<Value>& future) {
  return future.valid() && future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

/// Writes the notes. Returns what went wrong; empty: nothing.
std::string trouble_of_writing(const fs::path& folder, const HeadNotes& notes) {
  try {
    write_notes(folder, notes);
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

SurveyRoom::~SurveyRoom() {
  if (writing_.valid()) writing_.wait();
  if (survey_ && reads_notes_ && std::isfinite(unsaved_.wait_s(notes_, 0.0))) trouble_of_writing(survey_->directory, notes_);
}

SurveyRoom::Read SurveyRoom::read(const fs::path& folder) {
  Read read;
  try {
    read.survey = std::make_shared<const Survey>(read_survey(folder));
  } catch (const std::exception& error) {
    read.error = error.what();
  }
  try {
    if (read.survey) read.notes = read_notes(folder);
  } catch (const std::exception& error) {
    read.notes_error = error.what();
  }
  return read;
}

void SurveyRoom::take(Read read) {
  survey_ = std::move(read.survey);
  error_ = std::move(read.error);
  notes_error_ = std::move(read.notes_error);
  notes_ = std::move(read.notes);
  reads_notes_ = notes_error_.empty();
  unsaved_.settle(notes_);
}

void SurveyRoom::adopt(Survey survey) {
  folder_ = survey.directory;
  Read read{.survey = std::make_shared<const Survey>(std::move(survey)), .notes = {}, .error = {}, .notes_error = {}};
  try {
    read.notes = read_notes(folder_);
  } catch (const std::exception& error) {
    read.notes_error = error.what();
  }
  take(std::move(read));
}

void SurveyRoom::write_note(const std::string& head, HeadNote note) {
  if (note.is_empty()) {
    notes_.erase(head);
  } else {
    notes_[head] = std::move(note);
  }
}

void SurveyRoom::start(const SurveyOrder& order) {
  child_ = std::make_unique<SurveyChild>(order, wake_);
  is_child_told_ = false;
}

void SurveyRoom::keep_notes(double now_s) {
  if (is_there(writing_)) write_error_ = writing_.get();
  const double quiet_s = survey_ && reads_notes_ ? unsaved_.wait_s(notes_, now_s) : std::numeric_limits<double>::infinity();
  wait_s_ = std::min(wait_s_, quiet_s);
  if (quiet_s > 0.0 || writing_.valid()) return;
  write_notes_now();
}

void SurveyRoom::write_notes_now() {
  unsaved_.settle(notes_);
  writing_ = std::async(std::launch::async, &trouble_of_writing, survey_->directory, notes_);
}

std::optional<fs::path> SurveyRoom::update(const fs::path& folder, double now_s) {
  constexpr double kLook_s = 0.05;
  std::optional<fs::path> made;
  if (child_ && !is_child_told_ && child_->view().has_ended) {
    is_child_told_ = true;
    if (child_->view().is_whole) made = child_->order().folder;
    if (made && *made == folder_) folder_.clear();  // what is open is read again
  }
  if (is_there(reading_)) take(reading_.get());
  if (folder != folder_ && !reading_.valid() && !writing_.valid()) {
    if (survey_ && reads_notes_ && std::isfinite(unsaved_.wait_s(notes_, now_s))) {
      write_notes_now();  // before anything is read, as it may be the same file
    } else {
      take({});
      folder_ = folder;
      if (!folder.empty()) reading_ = std::async(std::launch::async, &SurveyRoom::read, folder);
    }
  }
  wait_s_ = reading_.valid() || writing_.valid() || (child_ && !is_child_told_) ? kLook_s
                                                                                : std::numeric_limits<double>::infinity();
  keep_notes(now_s);
  return made;
}

void SurveyRoom::wait() const {
  if (reading_.valid()) reading_.wait();
}

}  // namespace headlight::app
