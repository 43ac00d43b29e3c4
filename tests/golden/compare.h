// How a computed array meets a recorded one: the rules of the golden files, and equality of bits.
// nan meets nan only, an infinity the same infinity; a figure may also meet what the recording library gives in f32.
#pragma once
#include "golden/golden_file.h"

namespace anew::golden {

struct Rule {
  enum class Kind {
    exact,    // integers and booleans
    array,    // tol * (|wanted| + largest finite |wanted| of the array)
    element,  // tol * |wanted| + smallest normal number
    slope     // tol * (|wanted| + 1): the element rule for derivatives
  } kind = Kind::exact;
  double tol = 0;
  bool signed_zeros = false;
};

// What is wrong with `got`: type, or number of bad entries and the worst of them; empty if nothing is.
// `either` may replace `wanted` entry by entry; entries that `counts` leaves out are not compared.
std::string difference(const Numbers& wanted, const Array& got, const Rule& rule, const Numbers* either = nullptr,
                       const std::vector<bool>* counts = nullptr);

// The first entry whose bits differ; a nan equals a nan. Empty if there is none.
std::string bit_difference(const Array& a, const Array& b);

}  // namespace anew::golden
