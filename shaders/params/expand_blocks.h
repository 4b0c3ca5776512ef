// Parameters of expand_blocks.comp.
struct ExpandBlocksParameters {
  uint inner;       // numbers of a row of the weight: a multiple of a block's
  uint first_byte;  // of the first tile's blocks
  uint first_tile;  // its number; these four of weights of experts
  uint expert_tiles;
  uint experts;
  uint pairs;
};
