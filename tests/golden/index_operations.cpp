// The recorded operations of gather, scatter, take, dynamic slices, sort, top_k, cumulative operations and windows.
#include <anew/indexing.h>

#include <regex>

#include "golden/operation.h"

namespace anew::golden {
namespace {

// "x1, :, 1" with inputs in it: x1, or x1[:, None].
struct Parsed {
  Index index{};
  std::size_t used = 0;  // inputs, the first included
};
Parsed parse_with_inputs(X x, const std::string& text) {
  static const std::regex input(R"(^x(\d+)(\[(.*)\])?$)");
  Parsed p;
  p.used = 1;
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) parts.emplace_back();
    else if (c != ' ' || depth > 0) parts.back() += c;
  }
  for (const std::string& part : parts) {
    std::smatch m;
    if (!std::regex_match(part, m, input)) {
      const Index plain = parse_index(part);
      p.index.items.insert(p.index.items.end(), plain.items.begin(), plain.items.end());
      continue;
    }
    const auto number = static_cast<std::size_t>(std::stoul(m[1]));
    const Array& a = x.at(number);
    p.index.items.emplace_back(m[2].matched ? a[parse_index(m[3])] : a);
    p.used = std::max(p.used, number + 1);
  }
  return p;
}

Operation scatter(Array (AtRef::*update)(const ArrayLike&, std::string_view) const) {
  return one([update](X x, P p) {
    const Parsed at = parse_with_inputs(x, p.text("index"));
    return (x.at(0).at(at.index).*update)(x.at(at.used), "drop");
  });
}

Operation running(Array (*f)(const ArrayLike&, std::optional<int>, bool)) {
  return one([f](X x, P p) { return f(x.at(0), p.axis(), p.flag("reverse")); });
}

Array take_of(X x, P p) { return take(x.at(0), x.at(1), p.axis(), p.text("mode", "fill")); }

Array window_of(X x, P p) {
  const std::string op = p.text("op");
  auto reduce = op == "sum" ? lax::reduce_window_sum : op == "max" ? lax::reduce_window_max : lax::reduce_window_min;
  const Shape window = p.shape("window_dimensions"), strides = p.shape("window_strides");
  lax::WindowOptions options;
  if (p.has("base_dilation")) options.base_dilation = p.shape("base_dilation");
  if (p.has("window_dilation")) options.window_dilation = p.shape("window_dilation");
  if (p.is_text("padding")) return reduce(x.at(0), window, strides, p.text("padding"), options);
  return reduce(x.at(0), window, strides, p.raw("padding").get<ConvPadding::Pairs>(), options);
}

// The order is stable in any case.
Array argsort_of(X x, P p) {
  p.flag("stable", true);
  return argsort(x.at(0), p.axis().value_or(-1), p.flag("descending"));
}

}  // namespace

Operations index_operations() {
  return {
      {"gather", one([](X x, P p) { return x.at(0)[parse_with_inputs(x, p.text("index")).index]; })},
      {"scatter_set", scatter(&AtRef::set)},
      {"scatter_add", scatter(&AtRef::add)},
      {"scatter_mul", scatter(&AtRef::multiply)},
      {"scatter_min", scatter(&AtRef::min)},
      {"scatter_max", scatter(&AtRef::max)},
      {"take", one(take_of)},
      {"take_along_axis", one([](X x, P p) { return take_along_axis(x.at(0), x.at(1), p.axis()); })},
      {"dynamic_slice", one([](X x, P p) { return dynamic_slice(x.at(0), x.at(1), p.shape("slice_sizes")); })},
      {"dynamic_update_slice", one([](X x, P) { return dynamic_update_slice(x.at(0), x.at(1), x.at(2)); })},
      {"segment_sum", one([](X x, P p) { return segment_sum(x.at(0), x.at(1), p.integer("num_segments")); })},
      {"sort", one([](X x, P p) { return sort(x.at(0), p.axis().value_or(-1), p.flag("descending")); })},
      {"argsort", one(argsort_of)},
      {"sort_multi",
       [](X x, P p) {
         return lax::sort(x, p.axis("dimension").value_or(-1), static_cast<int>(p.integer("num_keys", 1)));
       }},
      {"top_k",
       [](X x, P p) {
         auto [values, indices] = top_k(x.at(0), p.integer("k"));
         return Arrays{values, indices};
       }},
      {"searchsorted", one([](X x, P p) { return searchsorted(x.at(0), x.at(1), p.text("side", "left")); })},
      {"median", one([](X x, P p) { return median(x.at(0), p.axes(), p.keepdims()); })},
      {"cumsum", running(cumsum)},
      {"cumprod", running(cumprod)},
      {"cummax", running(cummax)},
      {"cummin", running(cummin)},
      {"cumlogsumexp", running(cumlogsumexp)},
      {"reduce_window", one(window_of)},
  };
}

}  // namespace anew::golden
