// Expr and the common loop nests. Type errors are found here, where the row that made them is on the stack; the rest
// is the verifier's.
#include "loops/build.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/dtype.h"

namespace anew::loops {
namespace {

Expr make(Graph& graph, Op op, DType dtype, int a = -1, int b = -1, int c = -1, std::uint64_t imm = 0) {
  return {&graph, graph.add({.op = op, .dtype = dtype, .a = a, .b = b, .c = c, .imm = imm})};
}

void require_same(std::string_view what, Expr x, Expr y) {
  if (x.dtype() != y.dtype())
    throw InternalError(fmt::format("[{}] operands are {} and {}", what, name_of(x.dtype()), name_of(y.dtype())));
  if (&x.graph() != &y.graph()) throw InternalError(fmt::format("[{}] operands of different kernels", what));
}

std::vector<Affine> identity(int rank) {
  std::vector<Affine> index;
  for (int v = 0; v < rank; ++v) index.push_back(affine(rank, v));
  return index;
}

}  // namespace

int Graph::add(const Node& node) {
  // Most repeats are constants and subexpressions used twice nearby; a full table would cost more than it saves.
  const std::size_t n = nodes.size(), reach = node.op == Op::constant ? n : std::min<std::size_t>(n, 8);
  for (std::size_t k = n; k > n - reach; --k)
    if (nodes[k - 1] == node) return static_cast<int>(k - 1);
  nodes.push_back(node);
  return static_cast<int>(n);
}

Expr constant(Graph& graph, DType dtype, double value) {
  return make(graph, Op::constant, dtype, -1, -1, -1, bits_of(dtype, value));
}
Expr constant(Graph& graph, DType dtype, std::int64_t value) {
  return make(graph, Op::constant, dtype, -1, -1, -1, bits_of(dtype, value));
}
Expr like(Expr x, double value) { return constant(x.graph(), x.dtype(), value); }

Expr unary(Op op, Expr x) { return make(x.graph(), op, x.dtype(), x.id()); }

Expr binary(Op op, Expr x, Expr y) {
  require_same(name_of(op), x, y);
  const bool compares = op >= Op::eq && op <= Op::ge;
  return make(x.graph(), op, compares ? bool_ : x.dtype(), x.id(), y.id());
}

Expr call(Math m, Expr x) {
  return make(x.graph(), Op::call, x.dtype(), x.id(), -1, -1, static_cast<std::uint64_t>(m));
}
Expr call(Math m, Expr x, Expr y) {
  require_same(name_of(m), x, y);
  return make(x.graph(), Op::call, x.dtype(), x.id(), y.id(), -1, static_cast<std::uint64_t>(m));
}

Expr fma(Expr x, Expr y, Expr z) {
  require_same("fma", x, y);
  require_same("fma", y, z);
  return make(x.graph(), Op::fma, x.dtype(), x.id(), y.id(), z.id());
}

Expr select(Expr condition, Expr x, Expr y) {
  require_same("select", x, y);
  if (condition.dtype() != bool_)
    throw InternalError(fmt::format("[select] condition is {}", name_of(condition.dtype())));
  return make(x.graph(), Op::select, x.dtype(), condition.id(), x.id(), y.id());
}
Expr rarely(Expr condition, Expr x, Expr y) {
  return make(x.graph(), Op::select, x.dtype(), condition.id(), x.id(), y.id(), 1);
}

Expr convert(Expr x, DType dtype) { return x.dtype() == dtype ? x : make(x.graph(), Op::convert, dtype, x.id()); }
Expr bitcast(Expr x, DType dtype) { return x.dtype() == dtype ? x : make(x.graph(), Op::bitcast, dtype, x.id()); }

Affine affine(int rank, int variable, std::int64_t coefficient, std::int64_t offset) {
  Affine f{std::vector<std::int64_t>(rank), offset};
  if (variable >= 0) f.coefficients[variable] = coefficient;
  return f;
}

Kernel elementwise(std::span<const ShapeDtype> inputs, const std::function<Expr(std::span<const Expr>)>& body) {
  Kernel k;
  Shape shape;
  for (const ShapeDtype& t : inputs) {
    if (t.shape.ndim() == 0) continue;
    if (shape.ndim() == 0) shape = t.shape;
    if (t.shape != shape)
      throw InternalError(fmt::format("[elementwise] shapes {} and {} differ", shape.str(), t.shape.str()));
  }
  const int rank = shape.ndim();
  k.operands.assign(inputs.begin(), inputs.end());
  k.extents.assign(shape.begin(), shape.end());
  k.reduced.assign(k.extents.size(), false);
  Graph graph;
  std::vector<Expr> x;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    k.accesses.push_back({static_cast<int>(i), inputs[i].shape.ndim() ? identity(rank) : std::vector<Affine>{}});
    x.push_back(make(graph, Op::load, inputs[i].dtype, -1, -1, -1, i));
  }
  const Expr y = body(x);
  k.operands.push_back({shape, y.dtype()});
  k.stores.push_back({y.id(), {static_cast<int>(inputs.size()), identity(rank)}});
  k.nodes = std::move(graph.nodes);
  return k;
}

Kernel generate(const Shape& shape, const std::function<Expr(Graph&, std::span<const Expr>)>& body) {
  Kernel k;
  k.extents.assign(shape.begin(), shape.end());
  k.reduced.assign(k.extents.size(), false);
  Graph graph;
  std::vector<Expr> index;
  for (int v = 0; v < shape.ndim(); ++v)
    index.push_back(make(graph, Op::index, i64, -1, -1, -1, static_cast<std::uint64_t>(v)));
  const Expr y = body(graph, index);
  k.operands.push_back({shape, y.dtype()});
  k.stores.push_back({y.id(), {0, identity(shape.ndim())}});
  k.nodes = std::move(graph.nodes);
  return k;
}

Kernel reduction(const ShapeDtype& input, std::span<const int> axes, Combine combine, DType result,
                 const std::function<Expr(Expr)>& body) {
  Kernel k;
  const int rank = input.shape.ndim();
  k.combine = combine;
  k.extents.assign(input.shape.begin(), input.shape.end());
  k.reduced.assign(k.extents.size(), false);
  for (int axis : axes) k.reduced.at(axis) = true;
  k.accesses.push_back({0, identity(rank)});
  Graph graph;
  Expr x = make(graph, Op::load, input.dtype);
  if (body) x = body(x);
  ShapeDtype out{{}, result};
  std::vector<Affine> to;
  for (int v = 0; v < rank; ++v) {
    if (k.reduced[v]) continue;
    out.shape.push_back(input.shape[v]);
    to.push_back(affine(rank, v));
  }
  k.operands = {input, out};
  k.stores.push_back({x.id(), {1, std::move(to)}});
  k.nodes = std::move(graph.nodes);
  return k;
}

Kernel copy(std::span<const std::int64_t> extents, const ShapeDtype& in, std::vector<Affine> from,
            const ShapeDtype& out, std::vector<Affine> to) {
  Kernel k;
  k.operands = {in, out};
  k.extents.assign(extents.begin(), extents.end());
  k.reduced.assign(extents.size(), false);
  k.nodes.push_back({.op = Op::load, .dtype = in.dtype});
  k.accesses.push_back({0, std::move(from)});
  k.stores.push_back({0, {1, std::move(to)}});
  return k;
}

Kernel fill(const ShapeDtype& out) {
  const std::vector<std::int64_t> extents(out.shape.begin(), out.shape.end());
  return copy(extents, {{}, out.dtype}, {}, out, identity(out.shape.ndim()));
}

Kernel over(Kernel kernel, std::vector<ShapeDtype> operands, std::span<const int> positions) {
  for (Access& access : kernel.accesses) access.operand = positions[access.operand];
  for (Store& store : kernel.stores) store.to.operand = positions[store.to.operand];
  kernel.operands = std::move(operands);
  return kernel;
}

}  // namespace anew::loops
