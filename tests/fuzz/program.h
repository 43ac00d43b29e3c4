// Random programs as data: what is generated, printed, read back, shrunk and run. A block takes parameters, computes
// nodes in order and returns values; every value has a number that is unique in the whole program, so that a nested
// block may name values of the blocks around it (a captured value).
// Invariant: parse(print(b)) is b, and a program is a function of its text alone.
#pragma once
#include <anew/anew.h>

#include <functional>
#include <string>
#include <vector>

namespace anew::fuzz {

using Id = int;
using In = std::span<const Array>;
using Params = std::vector<std::int64_t>;

struct Block;
struct Node {
  std::string op;
  Params params;
  std::vector<Id> in, out;
  std::vector<Block> blocks;
};
struct Parameter {
  Id id;
  ShapeDtype type;
};
struct Block {
  std::vector<Parameter> inputs;
  std::vector<Node> nodes;
  std::vector<Id> outputs;
};

std::string print(const Block& b, int indent = 0);
Block parse(std::string_view text);
// Applies f to every node, nested ones included, outermost first.
void for_each_node(const Block& b, const std::function<void(const Node&)>& f);
bool contains(const Block& b, std::string_view op);
Id next_id(const Block& b);

// First-order operations by name. All are tame: values of moderate size give values of moderate size, and derivatives
// exist almost everywhere.
using Operation = std::function<Arrays(In, const Params&)>;
const Operation* find_operation(std::string_view name);

// How the constructs of a program that must not change its results are run.
struct Mode {
  bool plain = false;              // checkpoint and jit: their bodies in place
  const Policy* policy = nullptr;  // instead of the one each checkpoint names
  std::size_t memory = 0;          // bytes that each loop may keep, instead of what it says itself; 0: as it says
};
// The policies that programs name by number, and that a whole program is run under.
const std::vector<Policy>& policies();
const std::vector<Policy>& offloading();  // others, which programs do not name
Arrays run(const Block& b, In inputs, const Mode& mode = {});
FlatFunction function(const Block& b, const Mode& mode = {});
// What it is run on: numbers that depend on `seed` and types only.
Arrays inputs_of(const Block& b, std::uint64_t seed);

// `scale`: sizes above one are so many times as large. `attention`: batched products with softmax between them, and
// products of which a part is read.
struct Limits {
  int nodes = 12, depth = 3, scale = 1;
  bool attention = false;
};
Block generate(std::uint64_t seed, const Limits& limits = {});

// Nothing where all properties hold; else which one fails and how: "bits: ...", "residuals: ...".
std::string check(const Block& b, std::uint64_t seed);
// The smallest program found that still fails in the same property.
using Check = std::function<std::string(const Block& b, std::uint64_t seed)>;
Block shrink(Block b, std::uint64_t seed, const std::string& failure, const Check& fails = check);

}  // namespace anew::fuzz
