#include "tree/carried.h"

#include <fmt/format.h>

#include "base/returned_by.h"

namespace anew::detail {
namespace {

// What all of its trees are like.
std::string_view model_of(std::string_view op) {
  if (op == "newton" || op == "fixed_point" || op == "custom_root") return "x0";
  if (op == "odeint") return "y0";
  if (op == "associative_scan") return "xs";
  if (op == "cg" || op == "bicgstab" || op == "gmres" || op == "custom_linear_solve") return "b";
  return "";
}

}  // namespace

Carried::Carried(std::string_view op) : loop(model_of(op).empty()) {
  if (loop) {
    what = "the carry";
    like = "the initial carry";
    hint = "the body must return a carry of the same structure as it takes";
    return;
  }
  const std::string_view function = ReturnedBy::function(op), model = model_of(op);
  const bool krylov = model == "b" && op != "custom_linear_solve";
  if (function.empty() && krylov) what = ".x0";  // what its functions return has their names
  else what = fmt::format("what {} returns", function.empty() ? "f" : function);
  like = model;
  hint = fmt::format("{} must have the structure of {}", krylov && function.empty() ? ".x0" : "it", model);
}

std::string Carried::path(std::string_view path) const {
  if (loop || !path.starts_with("carry")) return std::string(path);
  path.remove_prefix(path.starts_with("carry.") ? 6 : 5);
  return path.empty() ? "the array" : std::string(path);
}

}  // namespace anew::detail
