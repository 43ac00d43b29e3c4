// Slices whose start is computed: dynamic_slice and dynamic_update_slice. A start is clamped so that the slice is
// inside. Both move elements only; each is the other's transpose. With starts that differ by example they are gather
// and scatter.
#include <fmt/format.h>

#include "ops/batch.h"
#include "ops/elementwise.h"
#include "ops/gather.h"
#include "ops/promote.h"
#include "ops/rows.h"

namespace anew {
namespace {

struct SliceSizes : ir::ParamsOf<SliceSizes> {
  explicit SliceSizes(Shape s = {}) : slice_sizes(s) {}
  Shape slice_sizes;
  static auto fields() { return std::tuple{ir::field("slice_sizes", &SliceSizes::slice_sizes)}; }
};

// Operands from `first` on: one scalar integer per axis of x, with room for a slice of these sizes.
void check_slice(std::string_view op, const ir::InferArgs& a, std::size_t first, const Shape& sizes) {
  const Type& x = a.in[0];
  const auto n = static_cast<std::size_t>(x.shape.ndim());
  if (a.in.size() != n + first) fail(op, a.at, fmt::format("{} starts for {}", a.in.size() - first, x.str()));
  for (const Type& start : a.in.subspan(first)) {
    require_integers(op, "starts", start, a.at);
    if (start.shape.ndim() != 0) fail(op, a.at, fmt::format("a start must be a scalar, got {}", start.str()));
  }
  bool fits = sizes.ndim() == x.shape.ndim();
  for (int i = 0; fits && i < sizes.ndim(); ++i) fits = sizes[i] >= 0 && sizes[i] <= x.shape[i];
  if (!fits) fail(op, a.at, fmt::format("a slice of shape {} does not fit {}", sizes.str(), x.str()));
}

// Where the slice begins in memory.
std::int64_t start_offset(const ir::Memory& x, std::span<const ir::Memory> starts, const Shape& sizes) {
  std::int64_t offset = 0;
  for (int i = 0; i < sizes.ndim(); ++i) {
    const ir::Memory& s = starts[static_cast<std::size_t>(i)];
    offset +=
        x.strides[i] * std::clamp<std::int64_t>(read_integer(s.data, s.type.dtype, 0), 0, x.type.shape[i] - sizes[i]);
  }
  return offset;
}

std::byte* moved(const ir::Memory& x, std::int64_t offset) {
  return x.data + offset * static_cast<std::int64_t>(size_of(x.type.dtype));
}

Arrays starts_of(std::span<const Array> x, std::size_t first) {
  return Arrays(x.begin() + static_cast<std::ptrdiff_t>(first), x.end());
}
// [examples, axes] of starts that may differ by example.
Array stacked_starts(const ir::BatchArgs& a, std::size_t first) {
  Arrays columns;
  DType d = i32;
  for (std::size_t i = first; i < a.x.size(); ++i)
    if (type_of(a.x[i]).dtype != i32) d = i64;
  for (std::size_t i = first; i < a.x.size(); ++i)
    columns.push_back(astype(a.mapped[i] ? a.x[i] : repeat_in_front(a.x[i], a.size), d));
  return stack(columns, 1);
}
bool starts_mapped(const ir::BatchArgs& a, std::size_t first) {
  for (std::size_t i = first; i < a.x.size(); ++i)
    if (a.mapped[i]) return true;
  return false;
}

Array bind_slice(const Array& x, const Arrays& starts, const Shape& sizes, const Location& at);
Array bind_update(const Array& x, const Array& update, const Arrays& starts, const Location& at);

ir::Batched batch_slice(const ir::BatchArgs& a) {
  const Shape& sizes = a.params->as<SliceSizes>().slice_sizes;
  const int n = sizes.ndim();
  if (!starts_mapped(a, 1)) {
    Arrays starts = starts_of(a.x, 1);
    starts.insert(starts.begin(), literal_integer(i32, 0));
    return ir::Batched{{bind_slice(a.x[0], starts, with_front(a.size, sizes), a.at)}};
  }
  Array starts = stacked_starts(a, 1);
  lax::GatherDimensions d{axis_range(1, n + 1), {}, axis_range(0, n)};
  if (!a.mapped[0]) return ir::Batched{{lax::gather(a.x[0], starts, d, sizes, lax::IndexMode::clip)}};
  d.start_index_map = axis_range(1, n + 1);
  d.operand_batching_dims = d.start_indices_batching_dims = {0};
  return ir::Batched{{lax::gather(a.x[0], starts, d, with_front(1, sizes), lax::IndexMode::clip)}};
}

Primitive dynamic_slicing() {
  Primitive p;
  p.name = "dynamic_slice";
  p.parse = &SliceSizes::parse;
  p.infer = [](const ir::InferArgs& a) {
    if (a.in.empty()) fail("dynamic_slice", a.at, "of nothing");
    const Shape& sizes = a.params.as<SliceSizes>().slice_sizes;
    check_slice("dynamic_slice", a, 1, sizes);
    return Types{{sizes, a.in[0].dtype}};
  };
  p.lower = [](const ir::Params& params, std::span<const Type>, std::span<const Type>) {
    return ir::Lowered{{},
                       [sizes = params.as<SliceSizes>().slice_sizes](std::span<const ir::Memory> in,
                                                                     std::span<const ir::Memory> out, std::byte*) {
                         std::byte* from = moved(in[0], start_offset(in[0], in.subspan(1), sizes));
                         copy_array(strided(out[0]), {from, in[0].type.dtype, sizes, in[0].strides});
                       }};
  };
  p.jvp = [](const ir::JvpArgs& a) {
    return Arrays{bind_slice(a.t[0], starts_of(a.x, 1), a.params->as<SliceSizes>().slice_sizes, Location::current())};
  };
  p.transpose = [](const ir::TransposeArgs& a) {
    Arrays out(a.in.size());
    out[0] = bind_update(zeros_of(a.in[0]), a.ct[0], starts_of(a.x, 1), Location::current());
    return out;
  };
  p.batch = batch_slice;
  p.facts.linear_in = {0};
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (DType d : {f32, f64}) {
      auto add = [&](const Shape& x, const Shape& sizes) {
        ir::Sample s{make_params(SliceSizes(sizes)), {{{x, d}}}};
        for (int i = 0; i < x.ndim(); ++i) s.inputs.push_back({{Shape{}, i == 0 ? i32 : i64}, -2, 7});
        out.push_back(s);
      };
      add({}, {});
      add({6}, {3});
      add({6}, {6});
      add({4, 5}, {2, 2});
      add({4, 5}, {1, 5});
      add({4, 5}, {0, 2});
      add({0, 3}, {0, 1});
    }
    return out;
  };
  return p;
}

ir::Batched batch_update(const ir::BatchArgs& a) {
  Array x = a.mapped[0] ? a.x[0] : repeat_in_front(a.x[0], a.size);
  Array update = a.mapped[1] ? a.x[1] : repeat_in_front(a.x[1], a.size);
  if (!starts_mapped(a, 2)) {
    Arrays starts = starts_of(a.x, 2);
    starts.insert(starts.begin(), literal_integer(i32, 0));
    return ir::Batched{{bind_update(x, update, starts, a.at)}};
  }
  const int n = type_of(x).shape.ndim() - 1;
  lax::ScatterDimensions d{axis_range(1, n + 1), {}, axis_range(1, n + 1), {0}, {0}};
  return ir::Batched{{lax::scatter(x, stacked_starts(a, 2), update, d, {lax::IndexMode::clip, true})}};
}

Primitive updating() {
  Primitive p;
  p.name = "dynamic_update_slice";
  p.infer = [](const ir::InferArgs& a) {
    if (a.in.size() < 2) fail("dynamic_update_slice", a.at, "needs an array and an update");
    if (a.in[0].dtype != a.in[1].dtype)
      fail("dynamic_update_slice", a.at, fmt::format("types differ: {} and update {}", a.in[0].str(), a.in[1].str()));
    check_slice("dynamic_update_slice", a, 2, a.in[1].shape);
    return Types{a.in[0]};
  };
  p.lower = [](const ir::Params&, std::span<const Type>, std::span<const Type>) {
    auto call = [](std::span<const ir::Memory> in, std::span<const ir::Memory> out, std::byte*) {
      if (in[0].data != out[0].data) copy_array(strided(out[0]), strided(in[0]));
      std::byte* to = moved(out[0], start_offset(out[0], in.subspan(2), in[1].type.shape));
      copy_array({to, in[1].type.dtype, in[1].type.shape, out[0].strides}, strided(in[1]));
    };
    return ir::Lowered{.kernels = {}, .call = call, .in_place = 0};
  };
  p.jvp = [](const ir::JvpArgs& a) {
    Array t = a.t[0].value() ? a.t[0] : zeros_of(type_of(a.x[0]));
    Array u = a.t[1].value() ? a.t[1] : zeros_of(type_of(a.x[1]));
    return Arrays{bind_update(t, u, starts_of(a.x, 2), Location::current())};
  };
  p.transpose = [](const ir::TransposeArgs& a) {
    Arrays out(a.in.size()), starts = starts_of(a.x, 2);
    if (a.linear[0]) out[0] = bind_update(a.ct[0], zeros_of(a.in[1]), starts, Location::current());
    if (a.linear[1]) out[1] = bind_slice(a.ct[0], starts, a.in[1].shape, Location::current());
    return out;
  };
  p.batch = batch_update;
  p.facts.linear_in = {0, 1};
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (DType d : {f32, f64}) {
      auto add = [&](const Shape& x, const Shape& update) {
        ir::Sample s{ir::no_params(), {{{x, d}}, {{update, d}}}};
        for (int i = 0; i < x.ndim(); ++i) s.inputs.push_back({{Shape{}, i32}, -2, 7});
        out.push_back(s);
      };
      add({}, {});
      add({6}, {2});
      add({3, 4}, {2, 2});
      add({3, 4}, {1, 4});
      add({3, 4}, {0, 4});
      add({0, 2}, {0, 1});
    }
    return out;
  };
  return p;
}

struct DynamicSliceRows : Family {
  const Primitive& slice = row(dynamic_slicing());
  const Primitive& update = row(updating());
};
Array bind_slice(const Array& x, const Arrays& starts, const Shape& sizes, const Location& at) {
  Arrays in{x};
  in.insert(in.end(), starts.begin(), starts.end());
  return anew::bind(rows<DynamicSliceRows>().slice, make_params(SliceSizes(sizes)), in, at)[0];
}
Array bind_update(const Array& x, const Array& update, const Arrays& starts, const Location& at) {
  Arrays in{x, update};
  in.insert(in.end(), starts.begin(), starts.end());
  return anew::bind(rows<DynamicSliceRows>().update, ir::no_params(), in, at)[0];
}

// One start per axis; a negative one counts from the end.
Arrays checked_starts(std::string_view op, const Starts& given, const Type& x, const Location& at) {
  Arrays starts = given.list;
  if (given.whole.value()) {
    check_operand(given.whole, line_or(at));
    const Type t = type_of(given.whole);
    if (t.shape.ndim() > 1) fail(op, at, fmt::format("starts must be a list or a vector, got {}", t.str()));
    starts = t.shape.ndim() == 0 ? Arrays{given.whole} : unstack(ArrayLike(given.whole, at));
  }
  if (static_cast<int>(starts.size()) != x.shape.ndim())
    fail(op, at, fmt::format("{} starts for {}", starts.size(), x.str()));
  for (int i = 0; i < x.shape.ndim(); ++i) {
    Array& s = starts[static_cast<std::size_t>(i)];
    check_operand(s, line_or(at));
    require_integers(op, "starts", type_of(s), at);
    const std::int64_t n = x.shape[i];
    if (is_known_number(s)) {
      const std::int64_t k = s.value()->integer;
      s = literal_integer(i32, std::clamp<std::int64_t>(k < 0 ? k + n : k, 0, n));
    } else {
      s = counted_from_end(index_operand(op, s, at), n);
    }
  }
  return starts;
}

}  // namespace

std::span<const Primitive* const> dynamic_slice_rows() { return rows<DynamicSliceRows>().list(); }

Array dynamic_slice(const ArrayLike& x, const Starts& start, const Shape& sizes) {
  check_operand(x.value, line_or(x.at));
  PinLine pin(x.at);
  Array a = strong(x.value, x.at);
  return bind_slice(a, checked_starts("dynamic_slice", start, type_of(a), x.at), sizes, x.at);
}

Array dynamic_update_slice(const ArrayLike& x, const ArrayLike& update, const Starts& start) {
  check_operand(x.value, line_or(x.at));
  PinLine pin(x.at);
  Array a = strong(x.value, x.at);
  Array u = coerce(update.value, type_of(a).dtype, x.at);
  return bind_update(a, u, checked_starts("dynamic_update_slice", start, type_of(a), x.at), x.at);
}

}  // namespace anew
