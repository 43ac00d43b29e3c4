// What optimizers are put together from.
#pragma once
#include <anew/optim.h>
#include <fmt/format.h>

#include "ops/promote.h"
#include "trace/trace.h"

namespace anew::optim {

// A member of a named optimizer, and what its keys begin with ("": nothing).
struct Part {
  std::string label;
  Optimizer optimizer;
};
Optimizer combined(std::string name, std::vector<Part> parts);

// One more, and no more than an i32 holds.
Array next_count(const Array& count);
// Throws where a moment has another shape than its gradient.
void check_shape_of_state(std::string_view name, const std::string& path, const ShapeDtype& gradient,
                          const ShapeDtype& moment, const Location& at);
// Numbers that users choose, where they are known: sizes, which are not negative; fractions, from 0 to 1; decays, which
// are below 1, as means are divided by 1 - decay.
enum class Range : std::uint8_t { size, fraction, decay };
struct Chosen {
  std::string_view name;
  std::optional<double> value;
  Range range = Range::size;
};
std::optional<double> known(const Schedule& s);
// Throws where one is out of range; what is called pins its name and line.
void check_chosen(std::initializer_list<Chosen> options, const Location& at);
// decay * the former mean + (1 - decay) * the gradient.
Optimizer ema(double decay);

}  // namespace anew::optim
