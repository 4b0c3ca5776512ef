#!/usr/bin/env bash
# multi30k.sh PROGRAM [ARG…] – runs the program if Multi30k's texts are available; else says what is missing and skips.
source "$(dirname "$0")/../support/skip.sh"
if [ -z "${HEADLIGHT_MULTI30K:-}" ]; then
  skip "HEADLIGHT_MULTI30K is not set: name a folder with Multi30k's val and test_2016_flickr texts, or a clone of" \
    "github.com/multi30k/dataset"
fi
exec "$@"
