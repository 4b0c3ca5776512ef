#pragma once

#include "app/cli/flags.h"

namespace headlight::app {

/// These functions add the subcommands, one source each. run_command_line() lists them in the order of --help.

/// headlight view, also the default command: the window.
Subcommand add_view_command(CLI::App& app);
/// headlight screenshot: the window as an image, without a display.
Subcommand add_screenshot_command(CLI::App& app);
/// headlight describe: what a view shows in words and numbers.
Subcommand add_describe_command(CLI::App& app);
/// headlight export: figures and numbers of every stage as files.
Subcommand add_export_command(CLI::App& app);
/// headlight info: the contents of a model's files and the memory to run it.
Subcommand add_info_command(CLI::App& app);
/// headlight models: the models on this computer.
Subcommand add_models_command(CLI::App& app);
/// headlight tokenize: lines of text → one JSON object a line.
Subcommand add_tokenize_command(CLI::App& app);
/// headlight detokenize: lines of ids → one text a line.
Subcommand add_detokenize_command(CLI::App& app);
/// headlight translate: lines through an encoder–decoder.
Subcommand add_translate_command(CLI::App& app);
/// headlight generate: lines continued by a decoder-only model.
Subcommand add_generate_command(CLI::App& app);
/// headlight devices: every Vulkan device of the machine, and the features that it lacks.
Subcommand add_devices_command(CLI::App& app);
/// headlight check: what each device computes, in a process of its own.
Subcommand add_check_command(CLI::App& app);
/// headlight survey: what every head does over a whole corpus.
Subcommand add_survey_command(CLI::App& app);
/// headlight check-lesson: what is odd about a lesson's file.
Subcommand add_check_lesson_command(CLI::App& app);
/// headlight lesson-page: a lesson for browsers.
Subcommand add_lesson_page_command(CLI::App& app);
/// headlight worksheet: a lesson for paper.
Subcommand add_worksheet_command(CLI::App& app);
/// headlight results: what a class answered, as a table.
Subcommand add_results_command(CLI::App& app);
/// headlight check-exercise: arrays of the user's own code beside those of a notebook.
Subcommand add_check_exercise_command(CLI::App& app);
/// headlight evaluate bleu|perplexity|heads: scores of a model over whole files.
Subcommand add_evaluate_command(CLI::App& app);
/// headlight evaluate bleu: how near translations come to human ones.
Subcommand add_evaluate_bleu_command(CLI::App& evaluate);
/// headlight evaluate heads: which head attends to the previous token, to an earlier equal token, or to what followed it
/// before.
Subcommand add_evaluate_heads_command(CLI::App& evaluate);
/// headlight evaluate perplexity: how likely a model finds texts.
Subcommand add_evaluate_perplexity_command(CLI::App& evaluate);

}  // namespace headlight::app
