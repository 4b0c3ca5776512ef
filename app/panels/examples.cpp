#include "panels/examples.h"

#include <array>

namespace headlight::app {
namespace {

constexpr std::array kExamples = {
    Example{"One sentence", "Life is short, eat dessert first", nullptr},
    Example{"A batch with padding",
            "The lamp lights the desk\nA ship waits\nEvery head looks at the same words in its own way", nullptr},
    Example{"Repeated words", "the cat saw the dog and the dog saw the cat", nullptr},
    Example{"Two texts", "Das Licht brennt noch", "The light is still on"},
    Example{"Greek and Cyrillic", "Το φως ανάβει το βράδυ\nВечером загорается свет", nullptr},
    Example{
        "A long paragraph",
        "A keeper climbs the stairs each evening and lights the lamp before the sun is gone because ships that come late "
        "need to know where the rocks are and the rocks do not move but the fog does and on some nights the fog is so "
        "thick that the beam ends a few steps from the glass and on those nights the keeper rings a bell every minute "
        "until morning and writes down in a book how many times the bell was rung and which ships answered",
        nullptr},
};

}  // namespace

std::span<const Example> examples() { return kExamples; }

}  // namespace headlight::app
