#include "tools/bench/command.h"

int main(int argc, char** argv) { return headlight::app::run_single_command(headlight::bench::bench_command(), argc, argv); }
