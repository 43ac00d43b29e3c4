// vmap and map. Mapped in chunks, or one by one, examples go through a scan whose body maps one chunk; what does not
// fill a chunk is mapped by itself, last. A mapped example has the bits of a single one, so that chunks change no
// result.
#include <anew/ops.h>
#include <fmt/format.h>

#include "ops/batch.h"
#include "transforms/remembered.h"
#include "transforms/vmap.h"

namespace anew::flat {
namespace {

Array rows(const Array& x, std::int64_t begin, std::int64_t end) {
  Shape start, limit = type_of(x).shape;
  for (int i = 0; i < limit.ndim(); ++i) start.push_back(0);
  start[0] = begin;
  limit[0] = end;
  return lax::slice(x, start, limit);
}

// Axis 0 cut in two: [n * size, ...] as [n, size, ...], and back.
Array cut(const Array& x, std::int64_t size) {
  Shape shape = type_of(x).shape;
  shape[0] /= size;
  shape.insert(1, size);
  return reshape(x, shape);
}
Array joined(const Array& x) {
  Shape shape = type_of(x).shape;
  shape[1] *= shape[0];
  shape.erase(0);
  return reshape(x, shape);
}

// f of examples along axis 0 of what is mapped, `chunk` at a time. Results: the mapped axis in front, or, where
// `out_axes` says no_axis, what all examples share.
Arrays map_chunks(const FlatFunction& f, std::span<const Array> x, const MappedAxes& mapped, std::int64_t chunk,
                  const std::vector<int>& out_axes, const Location& at) {
  const std::int64_t whole = mapped.size / chunk * chunk;
  Arrays xs, rest(x.begin(), x.end());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (mapped.in[i] == no_axis) continue;
    PinLine line(at);
    Array front = move_axis(x[i], mapped.in[i], 0);
    xs.push_back(cut(rows(front, 0, whole), chunk));
    rest[i] = rows(front, whole, mapped.size);
  }
  auto of_chunk = [&](std::span<const Array> given, std::int64_t size) {
    MappedAxes axes{mapped.in, size};
    for (int& axis : axes.in) axis = axis == no_axis ? no_axis : 0;
    std::vector<int> out;  // filled when f has been called, so that out_axes is known
    auto g = [&](std::span<const Array> in) {
      Arrays y = f(in);
      for (std::size_t i = 0; i < y.size(); ++i)
        out.push_back(out_axis(out_axes, i, y.size(), at) == no_axis ? no_axis : 0);
      if (out.empty()) out.push_back(0);
      return y;
    };
    return call_batched(g, given, axes, out, at);
  };
  auto body = [&](std::span<const Array>, std::span<const Array> step) {
    Arrays given(x.begin(), x.end());
    std::size_t next = 0;
    for (std::size_t i = 0; i < given.size(); ++i)
      if (mapped.in[i] != no_axis) given[i] = step[next++];
    return ScanResult{{}, of_chunk(given, chunk)};
  };
  Arrays out = flat::scan(body, {}, xs, {}, {}, at).ys;
  Arrays last = whole == mapped.size ? Arrays(out.size()) : of_chunk(rest, mapped.size - whole);
  PinLine line(at);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out_axis(out_axes, i, out.size(), at) == no_axis) {
      out[i] = last[i].value() ? last[i] : out[i][0];
      continue;
    }
    out[i] = joined(out[i]);
    if (last[i].value()) out[i] = concatenate({out[i], last[i]});
  }
  return out;
}

void check_positive(std::string_view op, std::string_view option, int n, const Location& at) {
  if (n <= 0) throw Error(fmt::format("[{}] {} must be positive, got {}", op, option, n), at);
}

}  // namespace

Arrays vmap(const FlatFunction& f, std::span<const Array> x, const BatchAxes& axes, const Location& at) {
  const MappedAxes mapped = mapped_axes(x, axes, at);
  if (axes.chunk) check_positive("vmap", ".chunk", *axes.chunk, at);
  const bool numbers = std::any_of(x.begin(), x.end(), [](const Array& a) { return form_of(a).number; });
  if (remembering() && !numbers) {
    Types one = types_of(x, at);
    for (std::size_t i = 0; i < one.size(); ++i)
      if (mapped.in[i] != no_axis) one[i].shape.erase(mapped.in[i]);
    auto options = [&] {
      std::vector<std::int64_t> list{mapped.size, axes.chunk.value_or(0)};
      list.insert(list.end(), mapped.in.begin(), mapped.in.end());
      list.push_back(-1);
      list.insert(list.end(), axes.out.begin(), axes.out.end());
      return list;
    };
    auto transform = [&](const FlatFunction& g, std::span<const Array> in, std::span<const Array>) {
      return vmap(g, in, axes, at);
    };
    return remembered({"vmap", options}, f, one, x, {}, transform, at);
  }
  if (!axes.chunk || *axes.chunk >= mapped.size) return call_batched(f, x, mapped, axes.out, at);
  Arrays out = map_chunks(f, x, mapped, *axes.chunk, axes.out, at);
  PinLine line(at);
  for (std::size_t i = 0; i < out.size(); ++i) {
    int to = out_axis(axes.out, i, out.size(), at);
    if (to != no_axis) out[i] = move_front_axis(out[i], to, at);
  }
  return out;
}

Arrays map(const FlatFunction& f, std::span<const Array> xs, const MapOptions& options, const Location& at) {
  detail::check_function(f, at);
  std::int64_t size = -1;
  std::string first;
  for (const Array& x : xs) {
    check_operand(x, at);
    Type t = type_of(x);
    if (t.shape.ndim() == 0) throw Error(fmt::format("[map] {} has no leading axis to map over", t.str()), at);
    if (size >= 0 && t.shape[0] != size)
      throw Error(fmt::format("[map] leading axes have different sizes: {} and {}", first, t.str()), at);
    size = t.shape[0];
    first = t.str();
  }
  if (xs.empty()) throw Error("[map] there is no array to map over", at);
  if (options.batch_size) {
    check_positive("map", ".batch_size", *options.batch_size, at);
    return flat::vmap(f, xs, {.in = std::vector<int>(xs.size(), 0), .chunk = options.batch_size}, at);
  }
  auto body = [&](std::span<const Array>, std::span<const Array> x) { return ScanResult{{}, f(x)}; };
  return flat::scan(body, {}, Arrays(xs.begin(), xs.end()), {}, {}, at).ys;
}

}  // namespace anew::flat
