// Rows that put arrays together: pad and concatenate. Both are linear in every operand. Where another operand has no
// tangent its place is filled with -0.0, which adds nothing to any number.
#include <anew/ops.h>
#include <fmt/format.h>

#include "base/size.h"
#include "ops/batch.h"
#include "ops/elementwise.h"
#include "ops/promote.h"
#include "ops/rows.h"
#include "ops/view_params.h"

namespace anew {
namespace {

Array nothing_like(const Type& type) { return lax::broadcast_in_dim(literal(type.dtype, -0.0), type.shape, {}); }

Types infer_pad(const ir::InferArgs& a) {
  require_count("pad", 2, a.in, a.at);
  const auto& config = a.params.as<PadParams>().padding_config;
  const Type &x = a.in[0], &value = a.in[1];
  if (value.shape.ndim() != 0 || value.dtype != x.dtype)
    fail("pad", a.at, fmt::format("the value must be a scalar {}, got {}", name_of(x.dtype), value.str()));
  if (static_cast<int>(config.size()) != x.shape.ndim())
    fail("pad", a.at, fmt::format("{} paddings for {}", config.size(), x.str()));
  Shape out;
  for (int i = 0; i < x.shape.ndim(); ++i) {
    auto [before, after, between] = config[static_cast<std::size_t>(i)];
    const CheckedSize gaps = std::max<std::int64_t>(0, x.shape[i] - 1), spread = gaps * between + x.shape[i];
    const std::optional<std::int64_t> n = (spread + before + after).value();
    constexpr std::int64_t most = std::int64_t{1} << 62;  // so that differences fit too
    if (!n || *n > most || before < -most || after < -most || between > most)
      fail("pad", a.at,
           fmt::format("({}, {}, {}) along axis {} of {} is too much", before, after, between, i, x.str()));
    if (between < 0 || *n < 0)
      fail("pad", a.at,
           fmt::format("({}, {}, {}) along axis {} of {} leaves nothing", before, after, between, i, x.str()));
    out.push_back(*n);
  }
  return {{out, x.dtype}};
}

// Which elements of the operand survive along one axis: `count` from `first` on, to output `to` and then by `step`.
struct Survivors {
  std::int64_t first = 0, count = 0, to = 0, step = 1;
};
Survivors survivors(const lax::Padding& padding, std::int64_t n, std::int64_t out) {
  auto [before, after, between] = padding;
  Survivors s{.step = between + 1};
  if (before < 0) s.first = std::min(n, (-before - 1) / s.step + 1);
  const std::int64_t end = before < out ? std::min(n, (out - before - 1) / s.step + 1) : 0;
  s.count = std::max<std::int64_t>(0, end - s.first);
  s.to = s.count ? before + s.first * s.step : 0;
  return s;
}

ir::Lowered lower_pad(const ir::Params& params, std::span<const Type> in, std::span<const Type> out) {
  const auto& config = params.as<PadParams>().padding_config;
  std::vector<Type> operands{in[0], in[1], out[0]};
  const int rank = in[0].shape.ndim();
  ir::Lowered l;
  l.kernels.push_back(loops::over(loops::fill(out[0]), operands, std::array{1, 2}));
  std::vector<std::int64_t> extents;
  std::vector<loops::Affine> from, to;
  for (int i = 0; i < rank; ++i) {
    Survivors s = survivors(config[static_cast<std::size_t>(i)], in[0].shape[i], out[0].shape[i]);
    extents.push_back(s.count);
    from.push_back(loops::affine(rank, i, 1, s.first));
    to.push_back(loops::affine(rank, i, s.count > 1 ? s.step : 1, s.to));  // never taken, it may be huge
  }
  l.kernels.push_back(loops::over(loops::copy(extents, in[0], from, out[0], to), operands, std::array{0, 2}));
  return l;
}

Primitive padding();
Primitive concatenation();

struct PadRows : Family {
  const Primitive& pad = row(padding());
  const Primitive& concatenate = row(concatenation());
};
Arrays transpose_pad(const ir::TransposeArgs& a) {
  const auto& config = a.params->as<PadParams>().padding_config;
  const Shape &in = a.in[0].shape, &out = type_of(a.ct[0]).shape;
  Arrays cts(2);
  if (a.linear[0]) {
    // What survived is cut out of ct; what did not gets 0.
    Shape start, limit, strides;
    std::vector<lax::Padding> back;
    bool whole = true;
    for (int i = 0; i < in.ndim(); ++i) {
      Survivors s = survivors(config[static_cast<std::size_t>(i)], in[i], out[i]);
      start.push_back(s.to);
      limit.push_back(s.count ? s.to + (s.count - 1) * s.step + 1 : s.to);
      strides.push_back(s.step);
      back.emplace_back(s.first, in[i] - s.first - s.count, 0);
      whole = whole && s.count == in[i];
    }
    cts[0] = lax::slice(a.ct[0], start, limit, strides);
    if (!whole) cts[0] = lax::pad(cts[0], zero_like(a.ct[0]), back);
  }
  if (a.linear[1]) {
    Array inside = lax::pad(lax::broadcast_in_dim(true, in, {}), false, config);
    cts[1] = sum(lax::select_n(inside, {a.ct[0], zero_like(a.ct[0])}));
  }
  return cts;
}

Primitive padding() {
  Primitive p;
  p.name = "pad";
  p.parse = &PadParams::parse;
  p.infer = infer_pad;
  p.lower = lower_pad;
  p.jvp = [](const ir::JvpArgs& a) {
    Array t = a.t[0].value() ? a.t[0] : nothing_like(type_of(a.x[0]));
    Array value = a.t[1].value() ? a.t[1] : zero_like(t);
    return Arrays{bind1(rows<PadRows>().pad, a.params, {t, value}, Location::current())};
  };
  p.transpose = transpose_pad;
  // A value per example: what comes from no element is that example's value.
  p.batch = [](const ir::BatchArgs& a) {
    std::vector<lax::Padding> config = a.params->as<PadParams>().padding_config;
    config.insert(config.begin(), {0, 0, 0});
    Array x = a.mapped[0] ? a.x[0] : repeat_in_front(a.x[0], a.size);
    if (!a.mapped[1]) return ir::Batched{{lax::pad(x, a.x[1], config)}};
    Array filled = lax::pad(x, zero_like(x), config);
    const Shape &in = type_of(x).shape, &out = type_of(filled).shape;
    Array inside = lax::pad(lax::broadcast_in_dim(true, in, {}), false, config);
    return ir::Batched{{lax::select_n(inside, {lax::broadcast_in_dim(a.x[1], out, {0}), filled})}};
  };
  p.facts.linear_in = {0, 1};
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (DType d : {f32, f64}) {
      auto add = [&](Shape s, std::vector<lax::Padding> c) {
        out.push_back({make_params(PadParams(std::move(c))), {{{s, d}}, {{Shape{}, d}}}});
      };
      add({}, {});
      add({4}, {{1, 2, 0}});
      add({4}, {{-1, 0, 0}});
      add({3}, {{1, 1, 2}});
      add({4}, {{-2, 1, 1}});
      add({2, 3}, {{1, 0, 1}, {0, 2, 0}});
      add({3, 3}, {{-1, 1, 0}, {0, -1, 1}});
      add({0, 2}, {{1, 1, 0}, {0, 0, 0}});
    }
    return out;
  };
  return p;
}

Types infer_concatenate(const ir::InferArgs& a) {
  int axis = a.params.as<ConcatenateParams>().dimension;
  if (a.in.empty()) fail("concatenate", a.at, "of no arrays");
  Type out = a.in[0];
  if (axis < 0 || axis >= out.shape.ndim())
    fail("concatenate", a.at, fmt::format("axis {} is out of range for {}", axis, out.str()));
  for (const Type& t : a.in.subspan(1)) {
    Type alike = t;
    if (t.shape.ndim() == out.shape.ndim()) alike.shape[axis] = a.in[0].shape[axis];
    if (!(alike == a.in[0]))
      fail("concatenate", a.at, fmt::format("{} and {} differ in more than axis {}", a.in[0].str(), t.str(), axis));
    const auto sum = (CheckedSize(out.shape[axis]) + t.shape[axis]).value();
    if (!sum) fail("concatenate", a.at, fmt::format("{} arrays are too large together", a.in.size()));
    out.shape[axis] = *sum;
  }
  return {out};
}

ir::Lowered lower_concatenate(const ir::Params& params, std::span<const Type> in, std::span<const Type> out) {
  int axis = params.as<ConcatenateParams>().dimension, rank = out[0].shape.ndim(), n = static_cast<int>(in.size());
  std::vector<Type> operands(in.begin(), in.end());
  operands.push_back(out[0]);
  ir::Lowered l;
  std::int64_t offset = 0;
  for (int k = 0; k < n; ++k) {
    const Type& x = in[static_cast<std::size_t>(k)];
    std::vector<std::int64_t> extents(x.shape.begin(), x.shape.end());
    std::vector<loops::Affine> from, to;
    for (int i = 0; i < rank; ++i) {
      from.push_back(loops::affine(rank, i));
      to.push_back(loops::affine(rank, i, 1, i == axis ? offset : 0));
    }
    offset += x.shape[axis];
    l.kernels.push_back(loops::over(loops::copy(extents, x, from, out[0], to), operands, std::array{k, n}));
  }
  return l;
}

Primitive concatenation() {
  Primitive p;
  p.name = "concatenate";
  p.parse = &ConcatenateParams::parse;
  p.infer = infer_concatenate;
  p.lower = lower_concatenate;
  p.jvp = [](const ir::JvpArgs& a) {
    Arrays t;
    for (std::size_t i = 0; i < a.t.size(); ++i) t.push_back(a.t[i].value() ? a.t[i] : nothing_like(type_of(a.x[i])));
    return anew::bind(rows<PadRows>().concatenate, a.params, t, Location::current());
  };
  p.transpose = [](const ir::TransposeArgs& a) {
    int axis = a.params->as<ConcatenateParams>().dimension;
    Shape start, limit = type_of(a.ct[0]).shape;
    for (int i = 0; i < limit.ndim(); ++i) start.push_back(0);
    Arrays cts(a.in.size());
    for (std::size_t k = 0; k < a.in.size(); ++k) {
      limit[axis] = start[axis] + a.in[k].shape[axis];
      if (a.linear[k]) cts[k] = lax::slice(a.ct[0], start, limit);
      start[axis] = limit[axis];
    }
    return cts;
  };
  p.batch = [](const ir::BatchArgs& a) {
    auto params = make_params(ConcatenateParams(a.params->as<ConcatenateParams>().dimension + 1));
    return ir::Batched{anew::bind(rows<PadRows>().concatenate, params, all_mapped(a), a.at)};
  };
  p.facts.linear_in = {0, 1};
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (DType d : {f32, f64}) {
      auto add = [&](int axis, std::initializer_list<Shape> shapes) {
        ir::Sample s{make_params(ConcatenateParams(axis)), {}};
        for (const Shape& x : shapes) s.inputs.push_back({{x, d}});
        out.push_back(s);
      };
      add(0, {{2, 3}, {1, 3}});
      add(1, {{2, 3}, {2, 2}});
      add(0, {{2}, {3}});
      add(1, {{2, 0}, {2, 3}});
    }
    return out;
  };
  return p;
}

}  // namespace

std::span<const ir::Primitive* const> pad_rows() { return rows<PadRows>().list(); }

Array concatenate(const ArrayList& xs, int axis) {
  if (xs.values.empty()) fail("concatenate", xs.at, "of no arrays");
  for (const Array& x : xs.values) check_operand(x, line_or(xs.at));
  DType d = common_dtype(xs.values);
  Arrays all;
  for (const Array& x : xs.values) all.push_back(coerce(x, d, xs.at));
  const Type first = type_of(all[0]);
  const auto scalar = std::ranges::find_if(all, [](const Array& x) { return type_of(x).shape.ndim() == 0; });
  if (scalar != all.end())
    fail("concatenate", xs.at, fmt::format("of scalars {}", type_of(*scalar).str()),
         "stack makes an array of scalars, atleast_1d a vector of each");
  int a = checked_axis("concatenate", axis, first.shape.ndim(), first, xs.at);
  if (all.size() == 1) return all[0];
  return anew::bind(rows<PadRows>().concatenate, make_params(ConcatenateParams(a)), all, xs.at)[0];
}

namespace lax {
Array pad(const ArrayLike& x, const ArrayLike& value, const std::vector<Padding>& config) {
  check_operand(x.value, line_or(x.at));
  Array operand = strong(x.value, x.at);
  Array v = coerce(value.value, type_of(operand).dtype, x.at);
  return bind1(rows<PadRows>().pad, make_params(PadParams(config)), {operand, v}, x.at);
}
}  // namespace lax
}  // namespace anew
