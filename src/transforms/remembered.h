// What a transformation makes of a Program, remembered. Under a trace that remembers (trace/remember.h) a
// transformation first traces the user's function barely, then asks here for what it made of an equal Program before.
// That is one equation, `remembered`, which holds the result; whoever transforms or compiles the Program around it
// inlines it first, so nobody else ever meets one, and the Program is the one that direct tracing gives.
#pragma once
#include <functional>

#include "trace/remember.h"

namespace anew {

// The transformation itself, of a function g that stands for f: x and `more` are as given below.
using Transform = std::function<Arrays(const FlatFunction& g, std::span<const Array> x, std::span<const Array> more)>;
// Under a trace that remembers: transform(f, x, more). `types` are those that f is called with; `name` and `options`
// tell transformations apart (options may be read only after f has been called).
struct Transformation {
  std::string_view name;
  std::function<std::vector<std::int64_t>()> options = {};
  // What else the transformation gives: read when it has run, remembered with its results, and given to `receive`.
  std::function<std::shared_ptr<const void>()> payload = {};
  std::function<void(const std::shared_ptr<const void>&)> receive = {};
};
Arrays remembered(const Transformation& which, const FlatFunction& f, std::span<const Type> types,
                  std::span<const Array> x, std::span<const Array> more, const Transform& transform,
                  const Location& at);

// p without `remembered` equations.
ir::Program inline_remembered(const ir::Program& p);

// How many results are remembered, and at most; how often one was found and how often it had to be made. For tests.
struct RememberedCounts {
  std::size_t size, most, found, made;
};
RememberedCounts remembered_counts();
void forget_remembered();

}  // namespace anew
