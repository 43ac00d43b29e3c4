// Chains of views as one. A candidate is made from the strides and then asked for its own map: it is taken only if the
// two agree on every element, so a wrong guess costs nothing but the guess.
#include "passes/view_map.h"

#include "ops/view_params.h"
#include "passes/named_rows.h"
#include "trace/trace.h"

namespace anew::passes {
namespace {

bool same_elements(std::int64_t offset_a, const ir::Strides& a, std::int64_t offset_b, const ir::Strides& b,
                   const Shape& shape) {
  if (shape.size() == 0) return true;
  if (offset_a != offset_b) return false;
  for (int i = 0; i < shape.ndim(); ++i)
    if (shape[i] != 1 && a[i] != b[i]) return false;
  return true;
}

using Guess = ir::ParamsRef;  // null: none

Guess guess_reshape(const ViewMap& map, const ir::Type& out) {
  if (map.type.shape.size() != out.shape.size()) return {};
  return std::make_shared<ReshapeParams>(out.shape);
}

Guess guess_transpose(const ViewMap& map, const ir::Type& out) {
  const Shape& in = map.type.shape;
  if (in.ndim() != out.shape.ndim()) return {};
  ir::Strides rows = row_major(in);
  std::vector<int> permutation;
  std::vector<bool> taken(in.ndim());
  for (int d = 0; d < in.ndim(); ++d) {
    int i = 0;
    while (i < in.ndim() && (taken[i] || in[i] != out.shape[d] || (in[i] != 1 && rows[i] != map.strides[d]))) ++i;
    if (i == in.ndim()) return {};
    taken[i] = true;
    permutation.push_back(i);
  }
  return std::make_shared<TransposeParams>(std::move(permutation));
}

Guess guess_broadcast(const ViewMap& map, const ir::Type& out) {
  const Shape& in = map.type.shape;
  ir::Strides rows = row_major(in);
  std::vector<int> dimensions;
  int d = 0;
  for (int i = 0; i < in.ndim(); ++i, ++d) {
    auto fits = [&] {
      return in[i] == 1 ? out.shape[d] == 1 || map.strides[d] == 0 : in[i] == out.shape[d] && rows[i] == map.strides[d];
    };
    while (d < out.shape.ndim() && !fits()) ++d;
    if (d == out.shape.ndim()) return {};
    dimensions.push_back(d);
  }
  return std::make_shared<BroadcastParams>(std::move(dimensions), out.shape);
}

Guess guess_slice(const ViewMap& map, const ir::Type& out) {
  const Shape& in = map.type.shape;
  if (in.ndim() != out.shape.ndim() || out.shape.size() == 0 || map.offset < 0) return {};
  ir::Strides rows = row_major(in);
  Shape start, limit, steps;
  bool by_one = true;
  std::int64_t rest = map.offset;
  for (int i = 0; i < in.ndim(); ++i) {
    std::int64_t step = out.shape[i] == 1 ? 1 : map.strides[i] / rows[i];
    start.push_back(rest / rows[i]);
    rest %= rows[i];
    steps.push_back(step);
    limit.push_back(start[i] + (out.shape[i] - 1) * step + 1);
    if (step < 1 || limit[i] > in[i]) return {};
    by_one = by_one && step == 1;
  }
  std::optional<Shape> strides;
  if (!by_one) strides = steps;
  return std::make_shared<SliceParams>(start, limit, strides);
}

}  // namespace

ViewMap root_map(const ir::Atom& root, const ir::Type& type) { return {root, type, 0, row_major(type.shape)}; }

std::optional<ViewMap> looked_through(const ViewMap& map, const ir::Eqn& view, const ir::Type& in,
                                      const ir::Type& out) {
  std::optional<ir::View> v = view.primitive->view(*view.params, in, map.strides, out);
  if (!v) return {};
  return ViewMap{map.root, map.type, map.offset + v->offset, v->strides};
}

bool is_identity(const ViewMap& map, const ir::Type& out) {
  return map.type == out && same_elements(map.offset, map.strides, 0, row_major(out.shape), out.shape);
}

std::optional<OneView> as_one_view(const ViewMap& map, const ir::Type& out) {
  const NamedRows& rows = named_rows();
  struct Candidate {
    const ir::Primitive& row;
    Guess (*guess)(const ViewMap&, const ir::Type&);
  };
  for (const Candidate& c : {Candidate{rows.reshape, guess_reshape}, Candidate{rows.transpose, guess_transpose},
                             Candidate{rows.broadcast_in_dim, guess_broadcast}, Candidate{rows.slice, guess_slice}}) {
    const Guess params = c.guess(map, out);
    if (!params) continue;
    std::optional<ir::View> v = c.row.view(*params, map.type, row_major(map.type.shape), out);
    if (v && same_elements(v->offset, v->strides, map.offset, map.strides, out.shape)) return OneView{&c.row, params};
  }
  return {};
}

}  // namespace anew::passes
