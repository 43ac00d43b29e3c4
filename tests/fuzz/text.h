// Programs as text that somebody has tampered with. Whatever parses must be safe to verify, print, evaluate, compile,
// differentiate and map: a result or an Error, compiled results with the bits of eager ones, and soon.
#pragma once
#include <anew/anew.h>

#include <string>
#include <vector>

#include "support/random.h"

namespace anew::fuzz {

// Texts to start from: every row on each of its samples, its gradient, generated programs and theirs.
std::vector<std::string> row_texts();
std::vector<std::string> generated_texts(std::uint64_t seed, int count);

// One change of a text: of bytes, tokens, numbers, types, names, lines; `other` lends pieces.
std::string mutated(const std::string& text, const std::string& other, test::Random& random);
// Every number of the text replaced by numbers that are out of range, negative, huge, or one off; every list shortened,
// lengthened and repeated; every type with another rank, size and dtype; every operand dropped and doubled.
std::vector<std::string> systematically_mutated(const std::string& text);
// The text with the types that rows infer, where only the types of results are wrong: so that a change reaches what
// follows.
std::string repaired(std::string text);

// What was tried of a text.
struct Outcome {
  bool parsed = false, evaluated = false, compiled = false, differentiated = false, mapped = false;
  std::string failure;  // "" where all is well
};
// machine_code: kernels are compiled by LLVM instead of interpreted.
Outcome check_text(const std::string& text, bool machine_code);

// What is being checked, for whoever handles a crash.
extern const std::string* current_text;

}  // namespace anew::fuzz
