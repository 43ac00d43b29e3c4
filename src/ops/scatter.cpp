// scatter and its kin: updates joined to slices of an array at places that an integer array names, in a fixed order.
// Places may repeat. Then `scatter` keeps the last update and its derivative goes to that one alone; products are
// differentiated as dual numbers along the updates of each element, which is right where factors are 0; extrema share a
// tie evenly among the element and all updates that reach it.
#include <fmt/format.h>

#include <limits>

#include "ops/batch.h"
#include "ops/elementwise.h"
#include "ops/gather.h"
#include "ops/promote.h"
#include "ops/rows.h"

namespace anew {
namespace {

struct ScatterParams : ir::ParamsOf<ScatterParams> {
  ScatterParams() = default;
  ScatterParams(const lax::ScatterDimensions& d, std::string mode, bool unique)
      : inserted_window_dims(d.inserted_window_dims),
        operand_batching_dims(d.operand_batching_dims),
        scatter_dims_to_operand_dims(d.scatter_dims_to_operand_dims),
        scatter_indices_batching_dims(d.scatter_indices_batching_dims),
        update_window_dims(d.update_window_dims),
        mode(std::move(mode)),
        unique_indices(unique) {}
  std::vector<int> inserted_window_dims, operand_batching_dims, scatter_dims_to_operand_dims,
      scatter_indices_batching_dims, update_window_dims;
  std::string mode;
  bool unique_indices = false;

  lax::ScatterDimensions dimensions() const {
    return {update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims, operand_batching_dims,
            scatter_indices_batching_dims};
  }
  lax::ScatterOptions options() const {
    return {mode == "clip"           ? lax::IndexMode::clip
            : mode == "fill_or_drop" ? lax::IndexMode::fill_or_drop
                                     : lax::IndexMode::promise_in_bounds,
            unique_indices};
  }
  static auto fields() {
    return std::tuple{
        ir::field("inserted_window_dims", &ScatterParams::inserted_window_dims),
        ir::field("mode", &ScatterParams::mode),
        ir::optional_field("operand_batching_dims", &ScatterParams::operand_batching_dims),
        ir::field("scatter_dims_to_operand_dims", &ScatterParams::scatter_dims_to_operand_dims),
        ir::optional_field("scatter_indices_batching_dims", &ScatterParams::scatter_indices_batching_dims),
        ir::field("unique_indices", &ScatterParams::unique_indices),
        ir::field("update_window_dims", &ScatterParams::update_window_dims)};
  }
};

const ScatterParams& scatter_params(const ParamsRef& p) { return p->as<ScatterParams>(); }

// What gather reads at the places of the updates.
Array read_back(const Array& x, const Array& indices, const ScatterParams& q, const Shape& updates, double fill) {
  return lax::gather(x, indices, gathering(q.dimensions()),
                     slice_sizes_of(q.dimensions(), type_of(x).shape.ndim(), updates), q.options().mode, fill);
}

// Number of each update, row-major; where each element lies among all.
Array numbered(const Shape& shape) {
  DType d = shape.size() < std::numeric_limits<std::int32_t>::max() ? i32 : i64;
  return reshape(lax::iota({shape.size()}, 0, d), shape);
}

Types infer_scatter(std::string_view op, Scatter join, const ir::InferArgs& a) {
  require_count(op, 3, a.in, a.at);
  const auto& q = a.params.as<ScatterParams>();
  const Type &x = a.in[0], &indices = a.in[1], &updates = a.in[2];
  require_integers(op, "indices", indices, a.at);
  if (!is_mode(q.mode)) fail(op, a.at, fmt::format("no mode \"{}\"", q.mode));
  if (x.dtype != updates.dtype) fail(op, a.at, fmt::format("types differ: {} and updates {}", x.str(), updates.str()));
  if (join != Scatter::set && (x.dtype == bool_ || is_stored(x.dtype)))
    fail(op, a.at, fmt::format("does not join {}", x.str()));
  const lax::ScatterDimensions d = q.dimensions();
  std::string wrong =
      wrong_dimensions(gathering(d), slice_sizes_of(d, x.shape.ndim(), updates.shape), x.shape, indices.shape);
  std::vector<int> places = axes_without(updates.shape.ndim(), d.update_window_dims);
  if (wrong.empty() && (static_cast<int>(places.size()) != indices.shape.ndim() - 1 ||
                        places.size() + d.update_window_dims.size() != static_cast<std::size_t>(updates.shape.ndim())))
    wrong = "the dimension numbers do not fit";
  for (std::size_t i = 0; wrong.empty() && i < places.size(); ++i)
    if (updates.shape[places[i]] != indices.shape[static_cast<int>(i)])
      wrong = fmt::format("axis {} of the updates has another size than axis {} of the indices", places[i], i);
  if (!wrong.empty())
    fail(op, a.at, fmt::format("{}: {} at {}, updates {}", wrong, x.str(), indices.str(), updates.str()));
  return {x};
}

ir::Lowered lower_scatter(Scatter join, const ir::Params& params) {
  auto call = [q = params.as<ScatterParams>(), join](std::span<const ir::Memory> in, std::span<const ir::Memory> out,
                                                     std::byte*) {
    Places places{q.update_window_dims,
                  q.inserted_window_dims,
                  q.scatter_dims_to_operand_dims,
                  q.operand_batching_dims,
                  q.scatter_indices_batching_dims,
                  slice_sizes_of(q.dimensions(), in[0].type.shape.ndim(), in[2].type.shape),
                  q.options().mode != lax::IndexMode::fill_or_drop};
    if (in[0].data != out[0].data) copy_array(strided(out[0]), strided(in[0]));
    scatter(strided(out[0]), strided(in[1]), strided(in[2]), places, join);
  };
  return {.kernels = {}, .call = call, .in_place = 0};
}

// Every example has its own elements, so the updates of an element keep their order.
ScatterParams batched_params(ScatterParams q, bool indices_mapped) {
  q.inserted_window_dims = behind_front(q.inserted_window_dims);
  q.scatter_dims_to_operand_dims = behind_front(q.scatter_dims_to_operand_dims);
  q.operand_batching_dims =
      indices_mapped ? with_front(q.operand_batching_dims) : behind_front(q.operand_batching_dims);
  if (indices_mapped) q.scatter_indices_batching_dims = with_front(q.scatter_indices_batching_dims);
  q.update_window_dims = indices_mapped ? behind_front(q.update_window_dims) : with_front(q.update_window_dims);
  return q;
}

Arrays set_jvp(const ir::JvpArgs& a) {
  Array t = a.t[0].value() ? a.t[0] : zeros_of(type_of(a.x[0]));
  Array u = a.t[2].value() ? a.t[2] : zeros_of(type_of(a.x[2]));
  return {lax::scatter(t, a.x[1], u, scatter_params(a.params).dimensions(), scatter_params(a.params).options())};
}
Arrays set_transpose(const ir::TransposeArgs& a) {
  const ScatterParams& q = scatter_params(a.params);
  Arrays out(3);
  if (a.linear[0]) out[0] = lax::scatter(a.ct[0], a.x[1], zeros_of(a.in[2]), q.dimensions(), q.options());
  if (a.linear[2]) {
    out[2] = read_back(a.ct[0], a.x[1], q, a.in[2].shape, 0);
    if (!q.unique_indices) {  // of several updates of one element the last gets the cotangent
      Array number = numbered(a.in[2].shape);
      Array none = lax::broadcast_in_dim(literal_integer(type_of(number).dtype, -1), a.in[0].shape, {});
      Array last = lax::scatter(none, a.x[1], number, q.dimensions(), q.options());
      out[2] = lax::select_n(read_back(last, a.x[1], q, a.in[2].shape, -1) == number, {zero_like(a.ct[0]), out[2]});
    }
  }
  return out;
}

Arrays add_jvp(const ir::JvpArgs& a) {
  if (!a.t[2].value()) return {a.t[0]};
  Array t = a.t[0].value() ? a.t[0] : zeros_of(type_of(a.x[0]));
  return {
      lax::scatter_add(t, a.x[1], a.t[2], scatter_params(a.params).dimensions(), scatter_params(a.params).options())};
}
Arrays add_transpose(const ir::TransposeArgs& a) {
  Arrays out(3);
  if (a.linear[0]) out[0] = a.ct[0];
  if (a.linear[2]) out[2] = read_back(a.ct[0], a.x[1], scatter_params(a.params), a.in[2].shape, 0);
  return out;
}

// What the tangents of the updates do to the product of all updates of each element. Updates are brought together by
// element, in order; then product and tangent run along them as linear recurrences that start anew at each element.
Array product_of_updates_tangent(const Type& x, const Array& indices, const Array& updates, const Array& t,
                                 const ScatterParams& q) {
  const std::int64_t size = x.shape.size(), n = type_of(updates).shape.size();
  if (n == 0) return zeros_of(x);
  Array element = ravel(read_back(numbered(x.shape), indices, q, type_of(updates).shape, static_cast<double>(size)));
  Array order = argsort(element);
  auto sorted = [&](const Array& v) { return take(ravel(v), order, 0, "clip"); };
  Array e = sorted(element), u = sorted(updates), du = sorted(t);
  auto shifted = [&](const Array& v, const Array& first) {
    return concatenate({broadcast_to(first, {1}), lax::slice(v, {0}, {n - 1})});
  };
  Array one = literal(x.dtype, 1.0), zero = literal(x.dtype, 0.0);
  Array starts = e != shifted(e, literal_integer(type_of(e).dtype, -1));
  Array factor = where(starts, zero, u);
  Array product = linear_recurrence(factor, where(starts, u, zero));
  Array before = where(starts, one, shifted(product, one));
  Array tangent = linear_recurrence(factor, before * du);
  // The last update of each element has it all.
  Array next = concatenate({lax::slice(e, {1}, {n}), broadcast_to(literal_integer(type_of(e).dtype, -1), {1})});
  Array to = where(e != next, e, literal_integer(type_of(e).dtype, size));
  Array flat = lax::scatter(zeros_of({{size}, x.dtype}), expand_dims(to, 1), tangent, {{}, {0}, {0}},
                            {lax::IndexMode::fill_or_drop, true});
  return reshape(flat, x.shape);
}

Arrays mul_jvp(const ir::JvpArgs& a) {
  const ScatterParams& q = scatter_params(a.params);
  Array t;
  if (a.t[0].value()) t = lax::scatter_mul(a.t[0], a.x[1], a.x[2], q.dimensions(), q.options());
  if (!a.t[2].value()) return {t};
  if (q.unique_indices) {
    Array part = read_back(a.x[0], a.x[1], q, type_of(a.x[2]).shape, 0) * a.t[2];
    Array base = t.value() ? t : zeros_of(type_of(a.x[0]));
    return {lax::scatter_add(base, a.x[1], part, q.dimensions(), q.options())};
  }
  return {add_tangents(t, a.x[0] * product_of_updates_tangent(type_of(a.x[0]), a.x[1], a.x[2], a.t[2], q))};
}
Arrays mul_transpose(const ir::TransposeArgs& a) {
  Arrays out(3);
  if (a.linear[0])
    out[0] = lax::scatter_mul(a.ct[0], a.x[1], a.x[2], scatter_params(a.params).dimensions(),
                              scatter_params(a.params).options());
  return out;
}

Arrays extremum_jvp(const ir::JvpArgs& a) {
  const ScatterParams& q = scatter_params(a.params);
  const Type x = type_of(a.x[0]);
  Array here = a.x[0] == a.y[0], there = a.x[2] == read_back(a.y[0], a.x[1], q, type_of(a.x[2]).shape, 0);
  auto joined_at = [&](const Array& base, const Array& u) {
    return lax::scatter_add(base, a.x[1], u, q.dimensions(), q.options());
  };
  Array count = joined_at(astype(here, x.dtype), astype(there, x.dtype));
  Array t = a.t[0].value() ? lax::select_n(here, {zero_like(a.t[0]), a.t[0]}) : zeros_of(x);
  if (a.t[2].value()) t = joined_at(t, lax::select_n(there, {zero_like(a.t[2]), a.t[2]}));
  return {t / count};
}

std::vector<ir::Sample> scatter_samples(SampleRange values) {
  std::vector<ir::Sample> out;
  for (DType d : {f32, f64})
    for (const char* mode : {"clip", "fill_or_drop"}) {
      auto add = [&](const Shape& x, const Shape& indices, const Shape& updates, const lax::ScatterDimensions& s,
                     bool unique = false, double lo = -2, double hi = 5) {
        out.push_back(
            {make_params(ScatterParams(s, mode, unique)),
             {{{x, d}, values.lo, values.hi}, {{indices, i32}, lo, hi}, {{updates, d}, values.lo, values.hi}}});
      };
      add({5}, {7, 1}, {7}, {{}, {0}, {0}});
      add({4, 3}, {3, 1}, {3, 3}, {{1}, {0}, {0}});
      add({3, 4}, {5, 1}, {3, 5}, {{0}, {1}, {1}});
      add({3, 4}, {5, 2}, {5}, {{}, {0, 1}, {0, 1}});
      add({6, 4}, {3, 2}, {3, 2, 2}, {{1, 2}, {}, {1, 0}});
      add({2, 4}, {2, 3, 1}, {2, 3}, {{}, {1}, {1}, {0}, {0}});
      add({4, 2}, {0, 1}, {0, 2}, {{1}, {0}, {0}});
      add({4, 0}, {2, 1}, {2, 0}, {{1}, {0}, {0}});
      add({4}, {1}, {}, {{}, {0}, {0}}, true);
    }
  return out;
}

struct ScatterRows : Family {
  const Primitive& set = kind("scatter", Scatter::set, set_jvp, set_transpose, {0, 2});
  const Primitive& add = kind("scatter_add", Scatter::add, add_jvp, add_transpose, {0, 2});
  const Primitive& mul = kind("scatter_mul", Scatter::mul, mul_jvp, mul_transpose, {0});
  const Primitive& min = kind("scatter_min", Scatter::min, extremum_jvp, nullptr, {});
  const Primitive& max = kind("scatter_max", Scatter::max, extremum_jvp, nullptr, {});

 private:
  const Primitive& kind(std::string name, Scatter join, Arrays (*jvp)(const ir::JvpArgs&),
                        Arrays (*transpose)(const ir::TransposeArgs&), std::vector<int> linear_in) {
    Primitive p;
    p.name = std::move(name);
    p.parse = &ScatterParams::parse;
    p.infer = [op = p.name, join](const ir::InferArgs& a) { return infer_scatter(op, join, a); };
    p.lower = [join](const ir::Params& params, std::span<const Type>, std::span<const Type>) {
      return lower_scatter(join, params);
    };
    p.jvp = jvp;
    if (transpose) p.transpose = transpose;
    p.facts.linear_in = std::move(linear_in);
    p.facts.flops_per_element = join == Scatter::set ? 0 : 1;
    // Extrema: apart from each other, so that differences see one of them.
    const bool extremum = join == Scatter::min || join == Scatter::max;
    p.samples = [extremum] { return scatter_samples(extremum ? SampleRange{-50, 50} : SampleRange{0.5, 1.5}); };
    auto self = std::make_shared<const Primitive*>();  // a row binds itself
    p.batch = [self](const ir::BatchArgs& a) {
      Arrays x = all_mapped(a);
      if (!a.mapped[1]) x[1] = a.x[1];
      return ir::Batched{
          anew::bind(**self, make_params(batched_params(scatter_params(a.params), a.mapped[1])), x, a.at)};
    };
    *self = &row(std::move(p));
    return **self;
  }
};
// Stored types are joined in the type they are computed in, and rounded once.
Array scattered(const Primitive& p, const ArrayLike& x, const ArrayLike& indices, const ArrayLike& updates,
                const lax::ScatterDimensions& dimensions, const lax::ScatterOptions& options) {
  check_operand(x.value, line_or(x.at));
  Array i = index_operand(p.name, indices.value, x.at), base = strong(x.value, x.at);
  const DType d = type_of(base).dtype;
  const DType joined = &p == &rows<ScatterRows>().set ? d : computed_type(d);
  auto params = make_params(ScatterParams(dimensions, std::string(name_of(options.mode)), options.unique_indices));
  Array u = coerce(coerce(updates.value, d, x.at), joined, x.at);
  Array y = bind1(p, params, {coerce(base, joined, x.at), i, u}, x.at);
  return coerce(y, d, x.at);
}

}  // namespace

std::span<const Primitive* const> scatter_rows() { return rows<ScatterRows>().list(); }

namespace lax {
Array scatter(const ArrayLike& x, const ArrayLike& indices, const ArrayLike& updates,
              const ScatterDimensions& dimensions, const ScatterOptions& options) {
  return scattered(rows<ScatterRows>().set, x, indices, updates, dimensions, options);
}
Array scatter_add(const ArrayLike& x, const ArrayLike& indices, const ArrayLike& updates,
                  const ScatterDimensions& dimensions, const ScatterOptions& options) {
  return scattered(rows<ScatterRows>().add, x, indices, updates, dimensions, options);
}
Array scatter_mul(const ArrayLike& x, const ArrayLike& indices, const ArrayLike& updates,
                  const ScatterDimensions& dimensions, const ScatterOptions& options) {
  return scattered(rows<ScatterRows>().mul, x, indices, updates, dimensions, options);
}
Array scatter_min(const ArrayLike& x, const ArrayLike& indices, const ArrayLike& updates,
                  const ScatterDimensions& dimensions, const ScatterOptions& options) {
  return scattered(rows<ScatterRows>().min, x, indices, updates, dimensions, options);
}
Array scatter_max(const ArrayLike& x, const ArrayLike& indices, const ArrayLike& updates,
                  const ScatterDimensions& dimensions, const ScatterOptions& options) {
  return scattered(rows<ScatterRows>().max, x, indices, updates, dimensions, options);
}
}  // namespace lax
}  // namespace anew
