// See random_values.h.
#include "calls/random_values.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace anew::calls {
namespace {

constexpr auto most = std::numeric_limits<std::int64_t>::max(), least = std::numeric_limits<std::int64_t>::min();
constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
T made(Random& r) {
  return make(r, Tag<T>{});
}

}  // namespace

std::int64_t Random::size() {
  if (chance(70)) return below(5);
  return one_of<std::int64_t>({-1, -2, 7, 100, most, least, most - 1, least + 1, std::int64_t{1} << 31,
                               std::int64_t{1} << 32, (std::int64_t{1} << 31) - 1, -(std::int64_t{1} << 31),
                               std::int64_t{1} << 62, -most});
}

Shape Random::shape() {
  const int kind = below(100);
  std::vector<std::int64_t> dims;
  if (kind < 8) {
    dims.assign(static_cast<std::size_t>(1 + below(3)), 1 + below(3));  // the same everywhere
  } else if (kind < 11) {
    dims.assign(16, 1);
  } else {
    for (int n = below(4); n > 0; --n) dims.push_back(below(5));
  }
  return Shape(dims);
}

Array Random::strong(const Shape& shape, DType dtype) {
  std::vector<double> v(static_cast<std::size_t>(shape.size()));
  const int kind = below(4);
  for (double& x : v) {
    x = kind == 0 ? below(4) : kind == 1 ? below(2001) / 1000.0 - 1 : below(11) - 4;
    if (kind == 3 && chance(30))
      x = is_float(dtype) ? one_of({nan, inf, -inf, -0.0, 1e300, 1e-40, 1e-320, 1e10})
                          : one_of({2147483647.0, 0.0, 65536.0});
  }
  if (is_integer(dtype) && !is_signed(dtype))
    for (double& x : v) x = std::abs(x);
  return astype(anew::array(v, shape), dtype);
}

Array Random::array() {
  const int kind = below(100);
  if (kind < 4) return {};
  if (kind < 10) return one_of({0.0, 1.0, -1.0, 0.5, nan, inf, -inf, 1e300, -0.0, 1e18});
  if (kind < 16) return one_of<std::int64_t>({0, 1, 2, -1, 3, most, least, 2147483647, -2147483648});
  if (kind < 18) return chance(50);
  if (kind < 26) return strong({2}, u32);  // a key
  if (kind < 40) return strong({3, 3}, one_of({f32, f64}));
  const DType dtype = chance(45) ? f32 : any_dtype();
  Array x = strong(shape(), dtype);
  return chance(10) ? x.T() : x;
}

bool make(Random& r, Tag<bool>) { return r.chance(50); }
int make(Random& r, Tag<int>) {
  if (r.chance(75)) return r.below(7) - 3;
  return r.one_of({std::numeric_limits<int>::max(), std::numeric_limits<int>::min(), 16, -17, 100, -100, no_axis});
}
std::int64_t make(Random& r, Tag<std::int64_t>) { return r.size(); }
double make(Random& r, Tag<double>) {
  return r.one_of({0.0, 1.0, 0.5, -1.0, 2.0, 1e-5, nan, inf, -inf, 1e300, -0.0, 1e18});
}
std::string make(Random& r, Tag<std::string>) {
  return r.one_of<const char*>(
      {"",         "SAME",        "VALID",   "SAME_LOWER",
       "full",     "same",        "valid",   "left",
       "right",    "fill",        "clip",    "wrap",
       "drop",     "edge",        "reflect", "symmetric",
       "constant", "ij,jk->ik",   "ii->i",   "...i->i",
       "ij,ij",    "i,j->",       "->",      "a",
       "NHWC",     "HWIO",        "fro",     "nuc",
       "{} {}",    "{",           "}}",      "x: {}",
       "\xff\x01", "pinned_host", "device",  "{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }"});
}
DType make(Random& r, Tag<DType>) { return r.any_dtype(); }
Shape make(Random& r, Tag<Shape>) {
  if (r.chance(60)) return r.shape();
  std::vector<std::int64_t> dims;
  for (int n = r.chance(10) ? 16 : r.below(4); n > 0; --n) dims.push_back(r.size());
  return Shape(dims);
}
Array make(Random& r, Tag<Array>) { return r.array(); }
ArrayLike make(Random& r, Tag<ArrayLike>) { return r.array(); }
ArrayList make(Random& r, Tag<ArrayList>) {
  if (r.chance(50)) {
    const Array x = r.array();
    return std::vector<Array>(static_cast<std::size_t>(1 + r.below(3)), x);
  }
  return made<std::vector<Array>>(r);
}
Axes make(Random& r, Tag<Axes>) {
  if (r.chance(25)) return {};
  if (r.chance(50)) return made<int>(r);
  return made<std::vector<int>>(r);
}
Bound make(Random& r, Tag<Bound>) {
  if (r.chance(30)) return none;
  return r.chance(60) ? std::int64_t{r.below(9) - 4} : r.size();
}
Index make(Random& r, Tag<Index>) {
  Index out({});
  for (int n = r.chance(4) ? 20 : r.below(4); n > 0; --n) switch (r.below(6)) {
      case 0: out.items.emplace_back(r.size()); break;
      case 1: out.items.emplace_back(Slice{made<Bound>(r), made<Bound>(r), made<Bound>(r)}); break;
      case 2: out.items.emplace_back(ellipsis); break;
      case 3: out.items.emplace_back(newaxis); break;
      default: out.items.emplace_back(r.strong(r.shape(), r.one_of({i32, i32, i64, u32, i8, u64, bool_, f32})));
    }
  return out;
}
AtRef make(Random& r, Tag<AtRef>) { return {r.array(), made<Index>(r)}; }
Starts make(Random& r, Tag<Starts>) {
  if (r.chance(30)) return r.array();
  return made<std::vector<Array>>(r);
}
PadMode make(Random& r, Tag<PadMode>) { return made<std::string>(r); }
ConvPadding make(Random& r, Tag<ConvPadding>) {
  if (r.chance(60)) return r.one_of<const char*>({"SAME", "VALID", "SAME_LOWER", "", "same"});
  return made<ConvPadding::Pairs>(r);
}
ConvOptions make(Random& r, Tag<ConvOptions>) {
  ConvOptions o;
  if (r.chance(30)) o.lhs_dilation = made<Shape>(r);
  if (r.chance(30)) o.rhs_dilation = made<Shape>(r);
  if (r.chance(20)) o.dimension_numbers = {made<std::string>(r), made<std::string>(r), made<std::string>(r)};
  if (r.chance(20)) o.feature_group_count = r.size();
  if (r.chance(20)) o.batch_group_count = r.size();
  if (r.chance(20)) o.preferred_element_type = made<DType>(r);
  return o;
}
ConvTransposeOptions make(Random& r, Tag<ConvTransposeOptions>) {
  ConvTransposeOptions o;
  if (r.chance(30)) o.rhs_dilation = made<Shape>(r);
  if (r.chance(20)) o.dimension_numbers = {made<std::string>(r), made<std::string>(r), made<std::string>(r)};
  o.transpose_kernel = r.chance(30);
  return o;
}
Subscripts make(Random& r, Tag<Subscripts>) {
  return r.one_of<const char*>({"ij,jk->ik", "ii->i", "ij->ji", "i,i->", "i->", "->", "", "...i,...i->...",
                                "ij,jk,kl->il", "i->ii", "ijk", "i,j", "ij->k", "..", "a b", "\xff", "ab,ba",
                                "...->...", "A,A->A"});
}
ShapeDtype make(Random& r, Tag<ShapeDtype>) { return {made<Shape>(r), made<DType>(r)}; }
Location make(Random&, Tag<Location>) { return Location::current(); }
Policy make(Random& r, Tag<Policy>) {
  using namespace checkpoint_policies;
  switch (r.below(5)) {
    case 0: return everything_saveable;
    case 1: return nothing_saveable;
    case 2: return dots_saveable;
    case 3: return not_(everything_saveable);
    default: return Policy([](const PolicyQuery& q) { return q.primitive == "sin"; });
  }
}
checkpoint_policies::PolicyOperand make(Random& r, Tag<checkpoint_policies::PolicyOperand>) { return made<Policy>(r); }
Program make(Random& r, Tag<Program>) {
  if (r.chance(20)) return {};
  return make_program([](Array x, Array y) { return sin(x) * y; })(ones(3), ones(3));
}
lax::DotDimensions make(Random& r, Tag<lax::DotDimensions>) {
  using V = std::vector<int>;
  if (r.chance(30)) return {{r.below(2)}, {r.below(2)}, {}, {}};
  return {made<V>(r), made<V>(r), r.chance(50) ? V{} : made<V>(r), r.chance(50) ? V{} : made<V>(r)};
}
lax::GatherDimensions make(Random& r, Tag<lax::GatherDimensions>) {
  using V = std::vector<int>;
  if (r.chance(40)) return {{r.below(2)}, {0}, {0}, {}, {}};
  return {made<V>(r), made<V>(r), made<V>(r), r.chance(60) ? V{} : made<V>(r), r.chance(60) ? V{} : made<V>(r)};
}
lax::ScatterDimensions make(Random& r, Tag<lax::ScatterDimensions>) {
  using V = std::vector<int>;
  if (r.chance(40)) return {{r.below(2)}, {0}, {0}, {}, {}};
  return {made<V>(r), made<V>(r), made<V>(r), r.chance(60) ? V{} : made<V>(r), r.chance(60) ? V{} : made<V>(r)};
}
lax::IndexMode make(Random& r, Tag<lax::IndexMode>) {
  return r.one_of({lax::IndexMode::clip, lax::IndexMode::fill_or_drop, lax::IndexMode::promise_in_bounds});
}
lax::ScatterOptions make(Random& r, Tag<lax::ScatterOptions>) { return {made<lax::IndexMode>(r), r.chance(30)}; }
lax::Rounding make(Random& r, Tag<lax::Rounding>) {
  return r.one_of({lax::Rounding::to_nearest_even, lax::Rounding::away_from_zero});
}
lax::WindowOptions make(Random& r, Tag<lax::WindowOptions>) {
  return {r.chance(60) ? Shape{} : made<Shape>(r), r.chance(60) ? Shape{} : made<Shape>(r)};
}
lax::TriangularOptions make(Random& r, Tag<lax::TriangularOptions>) {
  return {r.chance(50), r.chance(50), r.chance(50), r.chance(50)};
}
lax::Padding make(Random& r, Tag<lax::Padding>) {
  const std::int64_t a = r.size(), b = r.size();
  return {a, b, r.size()};
}
linalg::NormOrder make(Random& r, Tag<linalg::NormOrder>) {
  if (r.chance(20)) return {};
  if (r.chance(20)) return r.one_of<const char*>({"fro", "nuc", "", "x"});
  return made<double>(r);
}
nn::AttentionOptions make(Random& r, Tag<nn::AttentionOptions>) {
  return {r.chance(70) ? Array() : r.array(), r.chance(70) ? Array() : r.array(), made<std::optional<double>>(r),
          r.chance(50)};
}
stats::KdeOptions make(Random& r, Tag<stats::KdeOptions>) {
  return {r.one_of<std::string>({"scott", "silverman", ""}), r.chance(70) ? Array() : r.array(),
          r.chance(70) ? Array() : r.array()};
}
random::ChoiceOptions make(Random& r, Tag<random::ChoiceOptions>) {
  return {r.chance(50), made<std::optional<Array>>(r), made<int>(r)};
}
checkpoint_policies::OffloadNames make(Random& r, Tag<checkpoint_policies::OffloadNames>) {
  using V = std::vector<std::string>;
  return {made<V>(r), made<V>(r), made<std::string>(r), made<std::string>(r)};
}
ScanOptions make(Random& r, Tag<ScanOptions>) {
  return {made<std::optional<std::int64_t>>(r), r.chance(50), r.chance(70) ? 1 : made<int>(r),
          r.chance(70) ? std::optional<int>{} : made<int>(r)};
}
LoopOptions make(Random& r, Tag<LoopOptions>) { return {made<std::optional<int>>(r)}; }
MapOptions make(Random& r, Tag<MapOptions>) { return {made<std::optional<int>>(r)}; }
CustomOptions make(Random& r, Tag<CustomOptions>) { return {r.chance(50)}; }
AssociativeScanOptions make(Random& r, Tag<AssociativeScanOptions>) { return {r.chance(50), made<int>(r)}; }
CheckGradsOptions make(Random& r, Tag<CheckGradsOptions>) {
  CheckGradsOptions o;
  o.order = r.one_of({0, 1, 2, -1});
  o.modes = r.one_of<const char*>({"fwd", "rev", "fwd,rev", "", "x"});
  o.atol = made<std::optional<double>>(r);
  o.rtol = made<std::optional<double>>(r);
  o.step = made<std::optional<double>>(r);
  return o;
}
BudgetPoint make(Random& r, Tag<BudgetPoint>) {
  return {static_cast<std::size_t>(r.size()), made<double>(r), made<double>(r)};
}
JitOptions make(Random& r, Tag<JitOptions>) {
  JitOptions o;
  if (r.chance(5)) o.memory_budget = static_cast<std::size_t>(r.size());
  if (r.chance(30)) o.threads = made<int>(r);
  if (r.chance(5)) o.donate = made<std::vector<int>>(r);
  if (r.chance(20)) o.stop.emplace();
  return o;
}
flat::BatchAxes make(Random& r, Tag<flat::BatchAxes>) {
  using V = std::vector<int>;
  return {made<V>(r), r.chance(50) ? V{0} : made<V>(r), made<std::optional<std::int64_t>>(r),
          made<std::optional<int>>(r)};
}
flat::CallInfo make(Random& r, Tag<flat::CallInfo>) { return {Location::current(), made<std::vector<std::string>>(r)}; }
flat::JitCache make(Random&, Tag<flat::JitCache>) { return {}; }

FlatFunction make(Random& r, Tag<FlatFunction>) {
  using Span = std::span<const Array>;
  switch (r.below(9)) {
    case 0: return {};
    case 1: return [](Span) { return Arrays{}; };
    case 2: return [](Span) { return Arrays{Array()}; };
    case 3: return [](Span) { return Arrays{Array(2.0)}; };
    case 4: return [](Span x) { return Arrays(x.begin(), x.end()); };
    case 5:
    case 6:
      return [](Span x) {
        Array s = 0.0;
        for (const Array& a : x) s = s + sum(sin(a));
        return Arrays{s};
      };
    default:
      return [](Span x) {
        Arrays y;
        for (const Array& a : x) y.push_back(is_float(a.dtype()) ? sin(a) * 2 : a);
        return y;
      };
  }
}
flat::Combine make(Random& r, Tag<flat::Combine>) {
  using Span = std::span<const Array>;
  const int kind = r.below(4);
  if (kind == 0) return {};
  return [kind](Span a, Span b) {
    Arrays y;
    for (std::size_t i = 0; i < a.size() && kind > 1; ++i) y.push_back(a[i] + b[i]);
    return y;
  };
}
flat::ScanBody make(Random& r, Tag<flat::ScanBody>) {
  using Span = std::span<const Array>;
  const int kind = r.below(5);
  if (kind == 0) return {};
  return [kind](Span c, Span x) {
    flat::ScanResult out{Arrays(c.begin(), c.end()), Arrays(x.begin(), x.end())};
    if (kind == 1) out.carry.emplace_back(1.0);
    if (kind > 2)
      for (Array& a : out.carry) a = is_float(a.dtype()) ? sin(a) : a;
    return out;
  };
}
// Conditions that hold would loop for ever: these do not.
flat::LoopCondition make(Random& r, Tag<flat::LoopCondition>) {
  const int kind = r.below(5);
  if (kind == 0) return {};
  return [kind](std::span<const Array> c) -> Array {
    if (kind == 1) return {};
    if (kind == 2) return 1.0;
    if (kind == 3 && !c.empty()) return c[0] < c[0];
    return array(false);
  };
}
flat::JvpRule make(Random& r, Tag<flat::JvpRule>) {
  using Span = std::span<const Array>;
  const int kind = r.below(4);
  if (kind == 0) return {};
  return [kind](Span x, Span t) {
    if (kind == 1) return std::pair<Arrays, Arrays>();
    return std::pair(Arrays(x.begin(), x.end()), Arrays(t.begin(), t.end()));
  };
}
flat::VjpRules make(Random& r, Tag<flat::VjpRules>) {
  using Span = std::span<const Array>;
  flat::VjpRules rules;
  if (r.chance(90))
    rules.forward = [](Span x) { return std::pair(Arrays(x.begin(), x.end()), Arrays(x.begin(), x.end())); };
  if (r.chance(90)) rules.backward = [](Span, Span ct) { return Arrays(ct.begin(), ct.end()); };
  return rules;
}

// ---- as text

std::string text(bool x) { return x ? "true" : "false"; }
std::string text(int x) { return fmt::format("{}", x); }
std::string text(std::int64_t x) { return fmt::format("{}", x); }
std::string text(double x) { return fmt::format("{}", x); }
std::string text(const std::string& x) { return '"' + x + '"'; }
std::string text(DType x) { return std::string(name_of(x)); }
std::string text(const Shape& x) {
  std::string out;
  for (std::int64_t d : x) out += fmt::format("{}{}", out.empty() ? "" : ", ", d);
  return "Shape{" + out + "}";
}
std::string text(const Array& x) {
  if (!x.value()) return "Array()";
  const ShapeDtype t = x.type();
  std::string out;
  try {
    for (double v : x.to_vector()) {
      if (out.size() > 300) break;
      out += fmt::format("{}{}", out.empty() ? "" : ", ", v);
    }
  } catch (const Error&) {
    return "Array(" + t.str() + ")";
  }
  return fmt::format("array({{{}}}, {}, {})", out, text(t.shape), text(t.dtype));
}
std::string text(const ArrayLike& x) { return text(x.value); }
std::string text(const ArrayList& x) { return text(x.values); }
std::string text(const Axes& x) { return x.all() ? "{}" : "Axes(" + text(x.list()) + ")"; }
std::string text(const Index& x) {
  auto bound = [](const Bound& b) { return b.value ? text(*b.value) : std::string("none"); };
  std::string out;
  for (const IndexItem& i : x.items) {
    using Kind = IndexItem::Kind;
    out += out.empty() ? "" : ", ";
    if (i.kind == Kind::integer) out += text(i.i);
    if (i.kind == Kind::range)
      out += "slice(" + bound(i.s.start) + ", " + bound(i.s.stop) + ", " + bound(i.s.step) + ")";
    if (i.kind == Kind::rest) out += "ellipsis";
    if (i.kind == Kind::insert) out += "newaxis";
    if (i.kind == Kind::array) out += text(i.a);
  }
  return "{" + out + "}";
}
std::string text(const AtRef& x) { return text(x.base) + ".at(" + text(x.index) + ")"; }
std::string text(const Starts& x) { return x.whole.value() ? text(x.whole) : text(x.list); }
std::string text(const PadMode& x) { return "PadMode(" + text(x.text) + ")"; }
std::string text(const ConvPadding& x) { return x.name().empty() ? text(x.pairs()) : text(x.name()); }
std::string text(const Subscripts& x) { return text(std::string(x.text)); }
std::string text(const ShapeDtype& x) { return "ShapeDtype{" + text(x.shape) + ", " + text(x.dtype) + "}"; }
std::string text(const Program& x) { return "parse_program(R\"(" + x.str() + ")\")"; }
std::string text(const lax::DotDimensions& x) {
  return "{" + text(x.lhs_contracting) + ", " + text(x.rhs_contracting) + ", " + text(x.lhs_batch) + ", " +
         text(x.rhs_batch) + "}";
}
std::string text(const lax::GatherDimensions& x) {
  return "{" + text(x.offset_dims) + ", " + text(x.collapsed_slice_dims) + ", " + text(x.start_index_map) + ", " +
         text(x.operand_batching_dims) + ", " + text(x.start_indices_batching_dims) + "}";
}
std::string text(const lax::ScatterDimensions& x) {
  return "{" + text(x.update_window_dims) + ", " + text(x.inserted_window_dims) + ", " +
         text(x.scatter_dims_to_operand_dims) + ", " + text(x.operand_batching_dims) + ", " +
         text(x.scatter_indices_batching_dims) + "}";
}
std::string text(const lax::Padding& x) {
  return "{" + text(std::get<0>(x)) + ", " + text(std::get<1>(x)) + ", " + text(std::get<2>(x)) + "}";
}
std::string text(const linalg::NormOrder& x) { return x.number() ? text(*x.number()) : text(x.name()); }
std::string text(const ScanOptions& x) {
  return "{" + text(x.length) + ", " + text(x.reverse) + ", " + text(x.unroll) + ", " + text(x.checkpoints) + "}";
}
std::string text(const flat::BatchAxes& x) {
  return "{" + text(x.in) + ", " + text(x.out) + ", " + text(x.size) + ", " + text(x.chunk) + "}";
}
std::string text(const ConvOptions& x) {
  const ConvDimensions& d = x.dimension_numbers;
  return "{" + text(x.lhs_dilation) + ", " + text(x.rhs_dilation) + ", {" + text(d.lhs) + ", " + text(d.rhs) + ", " +
         text(d.out) + "}, " + text(x.feature_group_count) + ", " + text(x.batch_group_count) + ", " +
         text(x.preferred_element_type) + "}";
}

}  // namespace anew::calls
