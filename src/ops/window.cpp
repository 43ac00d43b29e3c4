// Sums, extrema and positions of extrema over windows of an array. Rows see an array that is padded already,
// so a window is never cut; padding is a pad before. The sum's transpose is a sum over windows of the cotangent, spread
// out by the strides; an extremum's tangent is that of the first element that reaches it, whose position is all that is
// kept.
#include <fmt/format.h>

#include <limits>

#include "base/size.h"
#include "ops/batch.h"
#include "ops/elementwise.h"
#include "ops/gather.h"
#include "ops/promote.h"
#include "ops/rows.h"

namespace anew {
namespace {

struct WindowParams : ir::ParamsOf<WindowParams> {
  WindowParams() = default;
  WindowParams(Shape window, Shape strides, Shape dilation)
      : window_dilation(dilation), window_dimensions(window), window_strides(strides) {}
  Shape window_dilation, window_dimensions, window_strides;
  static auto fields() {
    return std::tuple{ir::field("window_dilation", &WindowParams::window_dilation),
                      ir::field("window_dimensions", &WindowParams::window_dimensions),
                      ir::field("window_strides", &WindowParams::window_strides)};
  }
};
const WindowParams& window_params(const ParamsRef& p) { return p->as<WindowParams>(); }
WindowParams window_behind(WindowParams p, std::int64_t) {
  return {with_front(1, p.window_dimensions), with_front(1, p.window_strides), with_front(1, p.window_dilation)};
}
CheckedSize checked_covered(const WindowParams& q, int i) {
  return CheckedSize(q.window_dimensions[i] - 1) * q.window_dilation[i] + 1;
}
std::int64_t covered(const WindowParams& q, int i) { return *checked_covered(q, i).value(); }

Shape windowed(std::string_view op, const WindowParams& q, const Type& in, const Location& at) {
  const int n = in.shape.ndim();
  bool ok = q.window_dimensions.ndim() == n && q.window_strides.ndim() == n && q.window_dilation.ndim() == n;
  Shape out;
  for (int i = 0; ok && i < n; ++i) {
    constexpr std::int64_t most = std::int64_t{1} << 60;  // so that a transpose can pad by it
    ok = q.window_dimensions[i] > 0 && q.window_strides[i] > 0 && q.window_dilation[i] > 0 &&
         q.window_strides[i] <= most && checked_covered(q, i).value().value_or(most + 1) <= most;
    if (ok) out.push_back(in.shape[i] < covered(q, i) ? 0 : (in.shape[i] - covered(q, i)) / q.window_strides[i] + 1);
  }
  if (!ok)
    fail(op, at,
         fmt::format("windows of shape {} with strides {} and dilation {} do not fit {}", q.window_dimensions.str(),
                     q.window_strides.str(), q.window_dilation.str(), in.str()));
  const auto windows =
      std::count_if(q.window_dimensions.begin(), q.window_dimensions.end(), [](auto w) { return w > 1; });
  if (n + windows > Shape::max_ndim)  // each is a loop
    fail(op, at,
         fmt::format("{} axes and windows along {} of them, for {}: at most {} together", n, windows, in.str(),
                     Shape::max_ndim),
         "reshape axes of one element away");
  return out;
}

// One iteration per element of the result and of the window; window axes of one element have no variable, so a batch
// axis in front changes nothing in the order of a sum.
loops::Kernel window_kernel(const WindowParams& q, const Type& in, const Type& out, loops::Combine combine) {
  const int n = in.shape.ndim();
  loops::Kernel k;
  k.operands = {in, out};
  std::vector<int> variable(static_cast<std::size_t>(n), -1);
  for (int i = 0; i < n; ++i) k.extents.push_back(out.shape[i]);
  for (int i = 0; i < n; ++i) {
    if (q.window_dimensions[i] == 1) continue;
    variable[static_cast<std::size_t>(i)] = static_cast<int>(k.extents.size());
    k.extents.push_back(q.window_dimensions[i]);
  }
  const int rank = static_cast<int>(k.extents.size());
  for (int i = 0; i < rank; ++i) k.reduced.push_back(i >= n);
  k.combine = rank > n ? combine : loops::Combine::none;
  loops::Access from{0, {}}, to{1, {}};
  const bool empty = out.shape.size() == 0;
  for (int i = 0; i < n; ++i) {
    // A step that is never taken may be huge.
    loops::Affine a = loops::affine(rank, i, empty || out.shape[i] == 1 ? 1 : q.window_strides[i]);
    if (int v = variable[static_cast<std::size_t>(i)]; v >= 0)
      a.coefficients[static_cast<std::size_t>(v)] = empty ? 1 : q.window_dilation[i];
    from.index.push_back(a);
    to.index.push_back(loops::affine(rank, i));
  }
  k.accesses = {from};
  loops::Graph graph;
  int load = graph.add({loops::Op::load, in.dtype, -1, -1, -1, 0});
  if (k.combine == loops::Combine::none && finds_position(combine)) load = constant(graph, i32, 0.0).id();
  k.nodes = graph.nodes;
  k.stores = {{load, to}};
  return k;
}

Primitive window_row(std::string name, loops::Combine combine) {
  Primitive p;
  const bool position = finds_position(combine);
  p.name = std::move(name);
  p.parse = &WindowParams::parse;
  p.infer = [op = p.name, position](const ir::InferArgs& a) {
    require_count(op, 1, a.in, a.at);
    require(op, Accepts::numbers, a.in[0], a.at);
    if (is_stored(a.in[0].dtype)) fail(op, a.at, fmt::format("does not join {}", a.in[0].str()));
    return Types{{windowed(op, a.params.as<WindowParams>(), a.in[0], a.at), position ? i32 : a.in[0].dtype}};
  };
  p.lower = [combine](const ir::Params& params, std::span<const Type> in, std::span<const Type> out) {
    return ir::Lowered{{window_kernel(params.as<WindowParams>(), in[0], out[0], combine)}, {}};
  };
  p.jvp = [](const ir::JvpArgs&) { return Arrays{Array()}; };
  p.facts.flops_per_element = 4;
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (DType d : {f32, f64}) {
      auto add = [&](const Shape& x, const Shape& window, const Shape& strides, const Shape& dilation) {
        out.push_back({make_params(WindowParams(window, strides, dilation)), {{{x, d}}}});
      };
      add({6}, {3}, {1}, {1});
      add({7}, {2}, {3}, {2});
      add({4, 5}, {2, 3}, {2, 1}, {1, 1});
      add({2, 4, 4, 2}, {1, 2, 2, 1}, {1, 2, 2, 1}, {1, 1, 1, 1});
      add({4, 5}, {1, 1}, {2, 1}, {1, 1});
      add({5, 0}, {2, 1}, {1, 1}, {1, 1});
      add({2}, {3}, {1}, {1});
      add({}, {}, {}, {});
    }
    return out;
  };
  return p;
}

struct WindowRows;
Array reduce(const Primitive& p, const Array& x, const WindowParams& q) {
  return bind1(p, make_params(q), {x}, Location::current());
}
const Primitive& sum_row();
const Primitive& argmax_row();
const Primitive& argmin_row();

Primitive window_sum() {
  Primitive p = window_row("reduce_window_sum", loops::Combine::sum);
  p.jvp = [](const ir::JvpArgs& a) { return Arrays{reduce(sum_row(), a.t[0], window_params(a.params))}; };
  // An element is in the windows that start up to a window before it.
  p.transpose = [](const ir::TransposeArgs& a) {
    const WindowParams& q = window_params(a.params);
    const Shape &in = a.in[0].shape, &out = type_of(a.ct[0]).shape;
    if (out.size() == 0) return Arrays{zeros_of(a.in[0])};
    std::vector<lax::Padding> config;
    Shape ones;
    for (int i = 0; i < in.ndim(); ++i) {
      std::int64_t rim = covered(q, i) - 1, spread = (out[i] - 1) * q.window_strides[i] + 1;
      config.emplace_back(rim, in[i] - spread, q.window_strides[i] - 1);
      ones.push_back(1);
    }
    Array spread = lax::pad(a.ct[0], zero_like(a.ct[0]), config);
    return Arrays{reduce(sum_row(), spread, {q.window_dimensions, ones, q.window_dilation})};
  };
  p.facts.linear_in = {0};
  return p;
}

// Where in x, flat, the element is that each window's position names.
Array flat_places(const Array& position, const WindowParams& q, const Shape& x) {
  const Shape& out = type_of(position).shape;
  const ir::Strides strides = row_major(x);
  Array place, rest = position;
  for (int i = out.ndim(); i-- > 0;) {
    auto integer = [](CheckedSize v) { return literal_integer(i32, v.value().value_or(0)); };  // too far: never gone
    Array at = lax::iota(out, i) * integer(CheckedSize(q.window_strides[i]) * strides[i]);
    if (q.window_dimensions[i] > 1) {
      at = at +
           lax::rem(rest, integer(q.window_dimensions[i])) * integer(CheckedSize(q.window_dilation[i]) * strides[i]);
      rest = lax::div(rest, integer(q.window_dimensions[i]));
    }
    place = place.value() ? place + at : at;
  }
  return place.value() ? place : position;
}

Primitive extremum(std::string name, loops::Combine combine, const Primitive& (*position)()) {
  Primitive p = window_row(std::move(name), combine);
  p.jvp = [position](const ir::JvpArgs& a) {
    const Shape& shape = type_of(a.x[0]).shape;
    if (type_of(a.y[0]).shape.size() == 0) return Arrays{Array()};
    Array places = flat_places(reduce(position(), a.x[0], window_params(a.params)), window_params(a.params), shape);
    return Arrays{take(a.t[0], places, {}, "clip")};
  };
  return p;
}

struct WindowRows : Family {
  const Primitive& sum = row(window_sum(), window_behind);
  const Primitive& max = row(extremum("reduce_window_max", loops::Combine::max, argmax_row), window_behind);
  const Primitive& min = row(extremum("reduce_window_min", loops::Combine::min, argmin_row), window_behind);
  const Primitive& argmax = row(window_row("reduce_window_argmax", loops::Combine::argmax), window_behind);
  const Primitive& argmin = row(window_row("reduce_window_argmin", loops::Combine::argmin), window_behind);
};
const Primitive& sum_row() { return rows<WindowRows>().sum; }
const Primitive& argmax_row() { return rows<WindowRows>().argmax; }
const Primitive& argmin_row() { return rows<WindowRows>().argmin; }

// (before, after) per axis.
std::vector<std::pair<std::int64_t, std::int64_t>> padding_of(std::string_view op, const ConvPadding& padding,
                                                              const Shape& sizes, const WindowParams& q,
                                                              const Location& at) {
  if (padding.name().empty()) {
    if (static_cast<int>(padding.pairs().size()) != sizes.ndim())
      fail(op, at, fmt::format("{} paddings for {} axes", padding.pairs().size(), sizes.ndim()));
    return padding.pairs();
  }
  const std::string& name = padding.name();
  if (name != "SAME" && name != "SAME_LOWER" && name != "VALID")
    fail(op, at, fmt::format("padding is \"SAME\", \"SAME_LOWER\", \"VALID\" or pairs, got \"{}\"", name));
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (int i = 0; i < sizes.ndim(); ++i) {
    std::int64_t wanted = (sizes[i] + q.window_strides[i] - 1) / q.window_strides[i];
    std::int64_t total =
        name == "VALID" ? 0 : std::max<std::int64_t>(0, (wanted - 1) * q.window_strides[i] + covered(q, i) - sizes[i]);
    std::int64_t less = total / 2;
    out.emplace_back(name == "SAME_LOWER" ? total - less : less, name == "SAME_LOWER" ? less : total - less);
  }
  return out;
}

Array neutral(loops::Combine combine, DType d) {
  return make_literal(ir::Literal{d, loops::identity_bits(combine, d)});
}

Array reduced(const Primitive& p, loops::Combine combine, const ArrayLike& x, const Shape& window, const Shape& strides,
              const ConvPadding& padding, const lax::WindowOptions& options) {
  check_operand(x.value, line_or(x.at));
  PinLine pin(x.at, p.name);
  Array a = strong(x.value, x.at);
  const DType given = type_of(a).dtype;
  a = coerce(a, computed_type(given), x.at);
  const Type type = type_of(a);
  Shape ones;
  for (int i = 0; i < window.ndim(); ++i) ones.push_back(1);
  const Shape& dilation = options.base_dilation.ndim() ? options.base_dilation : ones;
  WindowParams q(window, strides.ndim() ? strides : ones,
                 options.window_dilation.ndim() ? options.window_dilation : ones);
  if (dilation.ndim() != type.shape.ndim())
    fail(p.name, x.at,
         fmt::format("a window of shape {} with base dilation {} does not fit {}", window.str(), dilation.str(),
                     type.str()));
  windowed(p.name, q, type, x.at);  // before padding, so that errors speak of x
  Shape sizes;
  for (int i = 0; i < type.shape.ndim(); ++i)
    sizes.push_back(type.shape[i] == 0 ? 0 : (type.shape[i] - 1) * dilation[i] + 1);
  std::vector<lax::Padding> config;
  bool padded = false;
  auto pairs = padding_of(p.name, padding, sizes, q, x.at);
  for (int i = 0; i < sizes.ndim(); ++i) {
    auto [before, after] = pairs[static_cast<std::size_t>(i)];
    config.emplace_back(before, after, dilation[i] - 1);
    padded = padded || before != 0 || after != 0 || dilation[i] != 1;
  }
  if (padded) a = lax::pad(a, neutral(combine, type.dtype), config);
  Array y = bind1(p, make_params(q), {a}, x.at);
  return coerce(y, given, x.at);
}

}  // namespace

std::span<const Primitive* const> window_rows() { return rows<WindowRows>().list(); }

namespace lax {
Array reduce_window_sum(const ArrayLike& x, const Shape& window, const Shape& strides, const ConvPadding& padding,
                        const WindowOptions& options) {
  return reduced(rows<WindowRows>().sum, loops::Combine::sum, x, window, strides, padding, options);
}
Array reduce_window_max(const ArrayLike& x, const Shape& window, const Shape& strides, const ConvPadding& padding,
                        const WindowOptions& options) {
  return reduced(rows<WindowRows>().max, loops::Combine::max, x, window, strides, padding, options);
}
Array reduce_window_min(const ArrayLike& x, const Shape& window, const Shape& strides, const ConvPadding& padding,
                        const WindowOptions& options) {
  return reduced(rows<WindowRows>().min, loops::Combine::min, x, window, strides, padding, options);
}
}  // namespace lax

}  // namespace anew
