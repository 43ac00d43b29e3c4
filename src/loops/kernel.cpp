// Names, hash and text of kernels. The text is stable: golden tests and cache keys of people who debug rely on it.
// Floats print with the digits that give their value back.
#include "loops/kernel.h"

#include <fmt/format.h>

#include "base/base.h"
#include "base/dtype.h"

namespace anew::loops {
namespace {

constexpr std::string_view op_names[] = {
    "load", "index",     "constant",    "add",      "sub",     "mul",        "div",   "rem", "fma",
    "neg",  "abs",       "sqrt",        "floor",    "ceil",    "round_even", "trunc", "eq",  "ne",
    "lt",   "le",        "gt",          "ge",       "select",  "and",        "or",    "xor", "not",
    "shl",  "shr_arith", "shr_logical", "popcount", "bitcast", "convert",    "scale", "call"};
static_assert(std::size(op_names) == static_cast<std::size_t>(Op::call) + 1);

void print(std::string& out, const Affine& f) {
  bool any = false;
  auto term = [&](std::int64_t factor, const std::string& name) {
    if (factor == 0) return;
    if (any) out += factor < 0 ? " - " : " + ";
    else if (factor < 0) out += "-";
    const std::uint64_t size = factor < 0 ? 0 - static_cast<std::uint64_t>(factor) : static_cast<std::uint64_t>(factor);
    if (name.empty()) out += fmt::format("{}", size);
    else if (size == 1) out += name;
    else out += fmt::format("{}*{}", size, name);
    any = true;
  };
  for (std::size_t v = 0; v < f.coefficients.size(); ++v) term(f.coefficients[v], fmt::format("i{}", v));
  term(f.constant, "");
  if (!any) out += "0";
}

void print(std::string& out, const Access& access) {
  out += fmt::format("#{}[", access.operand);
  for (std::size_t d = 0; d < access.index.size(); ++d) {
    if (d) out += ", ";
    print(out, access.index[d]);
  }
  out += "]";
}

std::string literal(const Node& node) {
  if (node.dtype == bool_) return node.imm ? "true" : "false";
  return visit(node.dtype, [&]<class T>(std::type_identity<T>) {
    using Shown = std::conditional_t<std::is_integral_v<T>, T, Computed<T>>;
    return fmt::format("{}", convert_number<Shown>(read_element<T>(&node.imm)));
  });
}

void hash(std::size_t& h, const Access& access) {
  hash_combine(h, access.operand);
  for (const Affine& f : access.index) {
    for (std::int64_t c : f.coefficients) hash_combine(h, static_cast<std::size_t>(c));
    hash_combine(h, f.constant);
  }
}

}  // namespace

std::string_view name_of(Op op) { return op_names[static_cast<int>(op)]; }

std::uint64_t identity_bits(Combine c, DType dtype) {
  switch (line_of(c).identity) {
    case Identity::zero: return 0;
    case Identity::one: return bits_of(dtype, 1.0);
    case Identity::least: return extreme_bits(dtype, true);
    case Identity::greatest: return extreme_bits(dtype, false);
    case Identity::all_bits: return dtype == bool_ ? 1 : bits_of(dtype, std::int64_t{-1});
  }
  return 0;
}

Kernel::Kernel() = default;
Kernel::Kernel(const Kernel&) = default;
Kernel::Kernel(Kernel&&) noexcept = default;
Kernel& Kernel::operator=(const Kernel&) = default;
Kernel& Kernel::operator=(Kernel&&) noexcept = default;
Kernel::~Kernel() = default;
bool operator==(const Kernel&, const Kernel&) = default;

std::string Kernel::str() const {
  std::string out = "kernel";
  for (std::size_t k = 0; k < operands.size(); ++k) out += fmt::format("{} #{}:{}", k ? "," : "", k, operands[k].str());
  out += "\nfor";
  for (std::size_t v = 0; v < extents.size(); ++v)
    out +=
        fmt::format("{} i{} < {}{}", v ? "," : "", v, extents[v], v < reduced.size() && reduced[v] ? " reduced" : "");
  if (combine != Combine::none) out += fmt::format(" by {}", name_of(combine));
  out += "\n";
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const Node& n = nodes[k];
    out += fmt::format("  %{}:{} = ", k, name_of(n.dtype));
    if (n.op == Op::call) out += n.imm < math_count ? name_of(static_cast<Math>(n.imm)) : "?";
    else out += name_of(n.op);
    if (n.op == Op::load) {
      out += " ";
      if (n.imm < accesses.size()) print(out, accesses[n.imm]);
      else out += "?";
    }
    if (n.op == Op::index) out += fmt::format(" i{}", n.imm);
    if (n.op == Op::constant) out += fmt::format(" {}", literal(n));
    for (std::int32_t x : {n.a, n.b, n.c})
      if (x >= 0) out += fmt::format(" %{}", x);
    out += "\n";
  }
  for (const Store& s : stores) {
    out += "  ";
    print(out, s.to);
    out += fmt::format(" = %{}\n", s.node);
  }
  return out;
}

std::size_t hash_value(const Node& n) {
  std::size_t h = static_cast<std::size_t>(n.op) * 16 + static_cast<std::size_t>(n.dtype);
  hash_combine(h, n.a);
  hash_combine(h, n.b);
  hash_combine(h, n.c);
  hash_combine(h, n.imm);
  return h ^ (h >> 17);
}

std::size_t hash_value(const Kernel& kernel) {
  std::size_t h = static_cast<std::size_t>(kernel.combine);
  for (const ShapeDtype& t : kernel.operands) hash_combine(h, anew::hash_value(t));
  for (std::size_t v = 0; v < kernel.extents.size(); ++v) {
    hash_combine(h, kernel.extents[v]);
    hash_combine(h, kernel.reduced[v]);
  }
  for (const Node& n : kernel.nodes) {
    hash_combine(h, static_cast<std::size_t>(n.op) * all_dtypes.size() + static_cast<std::size_t>(n.dtype));
    hash_combine(h, n.a);
    hash_combine(h, n.b);
    hash_combine(h, n.c);
    hash_combine(h, n.imm);
  }
  for (const Access& access : kernel.accesses) hash(h, access);
  for (const Store& s : kernel.stores) {
    hash_combine(h, s.node);
    hash(h, s.to);
  }
  return h;
}

}  // namespace anew::loops
