// Parameters of count_odd_numbers.comp. Rows lie `stride` numbers apart.
struct OddNumbersParameters {
  uint rows;
  uint first_row;  // of the dispatch
  uint stride;
  uint first;  // of a row's numbers, those in [first, first + count) are looked at
  uint count;
  uint period;  // of so many rows, the first `kept` ones
  uint kept;
  uint slot;  // of the sum
};
