# headlight_warnings: the warnings of every target. They are errors in the presets that developers and CI build with, so that main
# stays clean, and with CI's compiler, GCC 12, alone: another one may know warnings that it doesn't, and scripts/run must not
# fail for them (tools/try_on_debian counts those of newer ones). Not errors with sanitizers, under which GCC 12 warns of variables
# that are initialised.
option(HEADLIGHT_WARNINGS_AS_ERRORS "Warnings end the build with GCC 12" OFF)
set(as_errors "$<$<AND:$<BOOL:${HEADLIGHT_WARNINGS_AS_ERRORS}>,$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Werror>")
# Not -Wnull-dereference, which reports null pointers inside the JSON library and, with GCC from 13 on, in copies of a std::vector.
add_library(headlight_warnings INTERFACE)
target_compile_options(headlight_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor
  -Woverloaded-virtual -Wdouble-promotion -Wformat=2 ${as_errors})

set(HEADLIGHT_SANITIZE "" CACHE STRING "address: AddressSanitizer and UndefinedBehaviorSanitizer; thread: ThreadSanitizer")
set_property(CACHE HEADLIGHT_SANITIZE PROPERTY STRINGS "" address thread)
if(HEADLIGHT_SANITIZE STREQUAL "address")
  set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=undefined)
elseif(HEADLIGHT_SANITIZE STREQUAL "thread")
  set(sanitizers -fsanitize=thread)
elseif(HEADLIGHT_SANITIZE)
  message(FATAL_ERROR "HEADLIGHT_SANITIZE is '${HEADLIGHT_SANITIZE}'; choose address or thread")
endif()
if(HEADLIGHT_SANITIZE)
  add_compile_options(${sanitizers} -fno-omit-frame-pointer)
  add_link_options(${sanitizers})
endif()
if(HEADLIGHT_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(-fsanitize=address,undefined)
endif()
