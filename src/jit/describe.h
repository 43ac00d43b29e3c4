// What plans and reports say of a lowered Program: names of steps, what lives in the arena at each of them, sizes for
// people to read.
#pragma once
#include <anew/jit.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "passes/lowered.h"

namespace anew::compiled {

// Whether a part of the time that a budget costs is for values on their way to files and back.
bool moves_values(const MemoryPlan& plan);
// "512 B", "8.0 KiB", "1.5 GiB".
std::string readable_bytes(double bytes);
// By what `size` says; those of one size stay in order.
template <class T, class Size>
void largest_first(std::vector<T>& list, Size size) {
  std::vector<std::size_t> order(list.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return std::pair(size(list[b]), a) < std::pair(size(list[a]), b); });
  std::vector<T> sorted;
  for (std::size_t i : order) sorted.push_back(std::move(list[i]));
  list = std::move(sorted);
}
// A text in which numbers that count layers and calls, "layers[3].w", "checkpoint 3 of model.cpp:88", may be several.
class Pattern {
 public:
  explicit Pattern(std::string_view s);
  const std::string& text() const { return text_; }  // without the numbers
  // Those of a Pattern with the same text come in.
  void join(const Pattern& p);
  std::string str() const;  // "layers[0..5].w"

 private:
  std::string text_;
  std::vector<std::pair<std::int64_t, std::int64_t>> numbers_;  // the least and the greatest
};
// "scan[10]" and "while" of loops, the primitive of a call, "mul, sin x3, reduce_sum" of a kernel, "copy" of one
// without arithmetic.
std::string step_name(const passes::Step& step);
// Loops and branches. Bodies of other steps are how they work, not what the user wrote.
bool is_control(const passes::Step& step);
// Whether a value lies in the arena.
bool in_arena(const passes::Body& body, passes::ValueId value);
// Bytes of the Body's own temporaries that live at each step; scratch does not count.
std::vector<std::size_t> live_bytes(const passes::Body& body, const Table<passes::StorageId, passes::Span>& spans);
// Of each storage: the value that was last written into it when the step has run, if any.
Table<passes::StorageId, passes::ValueId> written_values(const passes::Body& body, std::size_t step);

}  // namespace anew::compiled
