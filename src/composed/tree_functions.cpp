// What functions of trees do with leaves. Errors about a leaf name its path.
#include <anew/indexing.h>
#include <anew/ops.h>
#include <anew/tree_functions.h>
#include <fmt/format.h>

#include <sstream>

#include "ops/promote.h"

namespace anew::detail {
namespace {

void check_same_shapes(const LeafView& a, const LeafView& b, std::string_view op, const Location& at) {
  check_arrays(a, op, "first tree", at);
  check_arrays(b, op, "second tree", at);
  for (std::size_t i = 0; i < a.leaves().size(); ++i) {
    const Type x = type_of(a.leaves()[i]), y = type_of(b.leaves()[i]);
    if (x.shape != y.shape)
      fail(op, at, fmt::format("{} is {} in one tree and {} in the other", a.path(i), x.str(), y.str()),
           "leaves have the same shape; tree_map takes functions that broadcast");
  }
}

// A factor of vectors of any dtype: a number, or a scalar.
void check_factor(const Array& factor, std::string_view op, const Location& at) {
  check_operand(factor, line_or(at));
  if (type_of(factor).shape.ndim() != 0)
    fail(op, at, fmt::format("the factor is {}, not a scalar", type_of(factor).str()), "use tree_map");
}

// A multiple of a leaf is of its dtype, whatever the factor's; integers become what they become in arithmetic.
Array of_dtype_of(const Array& x, const Array& y, const Location& at) {
  const DType dtype = type_of(x).dtype;
  return is_float(dtype) && !is_weak(x) ? coerce(y, dtype, at) : y;
}

// Sums of products are not rounded to fewer bits than those of f32.
Array wide_leaf(const Array& x, const Location& at) {
  const Array a = strong(x, at);
  return coerce(a, promote(floating(type_of(a).dtype), f32), at);
}

}  // namespace

std::string leaves_text(const LeafView& leaves) {
  std::ostringstream out;
  const std::vector<std::string> paths = leaves.paths();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string& path = paths[i];
    out << (i ? "\n" : "") << path << (path.empty() ? "" : ": ");
    if (leaves.leaves()[i].value()) out << leaves.leaves()[i];
    else out << "no array yet";
  }
  return out.str();
}

std::string LeafView::path(std::size_t i) const {
  std::string path = paths().at(i);
  return path.empty() ? "the array" : path;
}

void check_arrays(const LeafView& t, std::string_view op, std::string_view what, const Location& at) {
  for (std::size_t i = 0; i < t.leaves().size(); ++i) {
    if (!t.leaves()[i].value())
      fail(op, at, fmt::format("{} of the {} is an uninitialised Array", t.path(i), what),
           "`Array x;` is no array yet, one that was moved from is none any more: assign one first");
    check_operand(t.leaves()[i], line_or(at));
  }
}

void check_floats(const LeafView& t, std::string_view op, std::string_view what, const Location& at) {
  check_arrays(t, op, what, at);
  for (std::size_t i = 0; i < t.leaves().size(); ++i)
    if (const Type type = type_of(t.leaves()[i]); !is_float(type.dtype))
      fail(op, at, fmt::format("{} of the {} is {}, not of floating-point numbers", t.path(i), what, type.str()),
           "keep it out of the tree, or convert it with astype(x, f32)");
}

Arrays combine_leaves(LeafOperation operation, const LeafView& a, const LeafView& b, const Location& at) {
  const bool add = operation == LeafOperation::add;
  check_same_shapes(a, b, add ? "tree_add" : "tree_sub", at);
  PinLine pin(at);
  Arrays out;
  for (std::size_t i = 0; i < a.leaves().size(); ++i) {
    const Array &x = a.leaves()[i], &y = b.leaves()[i];
    out.push_back(add ? x + y : x - y);
  }
  return out;
}

Arrays scale_leaves(const Array& factor, const LeafView& x, const Location& at) {
  check_factor(factor, "tree_scale", at);
  check_arrays(x, "tree_scale", "tree", at);
  PinLine pin(at);
  Arrays out;
  for (const Array& leaf : x.leaves()) out.push_back(of_dtype_of(leaf, factor * leaf, at));
  return out;
}

Arrays axpy_leaves(const Array& a, const LeafView& x, const LeafView& y, const Location& at) {
  check_factor(a, "tree_axpy", at);
  check_same_shapes(x, y, "tree_axpy", at);
  PinLine pin(at);
  Arrays out;
  for (std::size_t i = 0; i < x.leaves().size(); ++i)
    out.push_back(of_dtype_of(y.leaves()[i], a * x.leaves()[i] + y.leaves()[i], at));
  return out;
}

Arrays zeros_like_leaves(const LeafView& x, const Location& at) {
  check_arrays(x, "tree_zeros_like", "tree", at);
  PinLine pin(at);
  Arrays out;
  for (const Array& leaf : x.leaves()) out.push_back(zeros_like(leaf));
  return out;
}

Array dot_leaves(const LeafView& a, const LeafView& b, const Location& at) {
  check_same_shapes(a, b, "tree_dot", at);
  PinLine pin(at);
  std::optional<Array> total;
  for (std::size_t i = 0; i < a.leaves().size(); ++i) {
    Array one = vdot(wide_leaf(a.leaves()[i], at), wide_leaf(b.leaves()[i], at));
    total = total ? *total + one : one;
  }
  return total ? *total : literal(default_float(), 0);
}

Array norm_leaves(const LeafView& x, const Location& at) {
  check_arrays(x, "tree_norm", "tree", at);
  PinLine pin(at);
  std::optional<Array> total;
  for (const Array& leaf : x.leaves()) {
    Array one = sum(square(wide_leaf(leaf, at)));
    total = total ? *total + one : one;
  }
  return total ? sqrt(*total) : literal(default_float(), 0);
}

Arrays stack_leaves(const std::vector<Arrays>& trees, const LeafView& first, const Location& at) {
  Arrays out;
  for (std::size_t i = 0; i < first.leaves().size(); ++i) {
    Arrays column;
    for (std::size_t k = 0; k < trees.size(); ++k) {
      const Array& leaf = trees[k][i];
      if (!leaf.value())
        fail("tree_stack", at, fmt::format("{} of tree {} is an uninitialised Array", first.path(i), k),
             "`Array x;` is no array yet, one that was moved from is none any more: assign one first");
      check_operand(leaf, line_or(at));
      const Type type = type_of(leaf), want = type_of(trees[0][i]);
      if (type.shape != want.shape)
        fail("tree_stack", at,
             fmt::format("{} is {} in tree {} and {} in the first", first.path(i), type.str(), k, want.str()),
             "only leaves of one shape can be stacked");
      column.push_back(leaf);
    }
    PinLine pin(at);
    out.push_back(stack(column));
  }
  return out;
}

std::vector<Arrays> unstack_leaves(const LeafView& x, const Location& at) {
  check_arrays(x, "tree_unstack", "tree", at);
  if (x.leaves().empty()) no_leaves("tree_unstack", at);
  const Type first = type_of(x.leaves()[0]);
  for (std::size_t i = 0; i < x.leaves().size(); ++i) {
    const Type type = type_of(x.leaves()[i]);
    if (type.shape.ndim() == 0)
      fail("tree_unstack", at, fmt::format("{} is a scalar: there is no axis to unstack", x.path(i)));
    if (type.shape[0] != first.shape[0])
      fail(
          "tree_unstack", at,
          fmt::format("{} is {} and {} is {}: their first axes differ", x.path(i), type.str(), x.path(0), first.str()));
  }
  PinLine pin(at);
  std::vector<Arrays> out(static_cast<std::size_t>(first.shape[0]));
  for (const Array& leaf : x.leaves()) {
    Arrays parts = unstack(leaf);
    for (std::size_t k = 0; k < out.size(); ++k) out[k].push_back(parts[k]);
  }
  return out;
}

Array ravel_leaves(const LeafView& x, const Location& at) {
  if (x.leaves().empty()) return zeros(0);
  PinLine pin(at);
  Arrays parts;
  for (const Array& leaf : x.leaves()) parts.push_back(strong(leaf, at));
  const DType dtype = common_dtype(parts);
  for (Array& part : parts) part = ravel(coerce(part, dtype, at));
  return parts.size() == 1 ? parts[0] : concatenate(parts);
}

Arrays unravel_leaves(const Array& v, const std::vector<ShapeDtype>& types, const Location& at) {
  check_operand(v, line_or(at));
  std::int64_t size = 0;
  bool mixed = false;
  for (const ShapeDtype& t : types) {
    size += t.shape.size();
    mixed = mixed || t.dtype != types[0].dtype;
  }
  const Type type = type_of(v);
  if (type.shape.ndim() != 1 || type.shape[0] != size)
    fail("ravel_tree", at, fmt::format("the tree has {} elements, and unravel was given {}", size, type.str()),
         "give a vector like the one that ravel_tree returned");
  PinLine pin(at);
  Arrays out;
  std::int64_t from = 0;
  for (const ShapeDtype& t : types) {
    const std::int64_t to = from + t.shape.size();
    Array part = reshape(lax::slice(v, {from}, {to}), t.shape);
    // Where all leaves have one dtype the vector's is kept, so that one function serves f32 and f64.
    out.push_back(mixed ? coerce(part, t.dtype, at) : part);
    from = to;
  }
  return out;
}

std::vector<ShapeDtype> types_of(const LeafView& x, std::string_view op, const Location& at) {
  check_arrays(x, op, "tree", at);
  std::vector<ShapeDtype> out;
  for (const Array& leaf : x.leaves()) out.push_back(leaf.type());
  return out;
}

void no_trees(std::string_view op, const Location& at) { fail(op, at, "there is no tree in the list"); }
void no_leaves(std::string_view op, const Location& at) { fail(op, at, "the tree has no leaves"); }

}  // namespace anew::detail
