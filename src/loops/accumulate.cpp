// See accumulate.h. Every function is a template over (operation, type, rounding), vectorised over lanes or columns.
#include "loops/accumulate.h"

#include <fmt/format.h>

#include <limits>

#include "loops/block.h"
#include "loops/scalar.h"

namespace anew::loops {
namespace {

template <class V>
auto is_nan(V x) {
  return x != x;
}

// x joined to a.
template <Combine c, class V>
V joined(V a, [[maybe_unused]] V x) {
#define ANEW_COMBINE(name, text, joins, identity, of_bool, joined) \
  if constexpr (c == Combine::name) return joined;
  ANEW_COMBINES(ANEW_COMBINE)
#undef ANEW_COMBINE
}

// Lanes [half, 2 half) moved down to [0, half); the others do not matter.
template <class T>
Vec<T> upper(Vec<T> x, int half) {
  if constexpr (std::is_same_v<T, bool>) {
    return {upper(Vec<std::int32_t>{{x.m}}, half).p[0]};
  } else if constexpr (sizeof(T) == 4) {
    if (half == 4) return {{__builtin_shufflevector(x.p[0], x.p[0], 4, 5, 6, 7, 4, 5, 6, 7)}};
    if (half == 2) return {{__builtin_shufflevector(x.p[0], x.p[0], 2, 3, 2, 3, 6, 7, 6, 7)}};
    return {{__builtin_shufflevector(x.p[0], x.p[0], 1, 1, 3, 3, 5, 5, 7, 7)}};
  } else {
    if (half == 4) return {{x.p[1], x.p[1]}};
    if (half == 2) return {{__builtin_shufflevector(x.p[0], x.p[0], 2, 3, 2, 3), x.p[1]}};
    return {{__builtin_shufflevector(x.p[0], x.p[0], 1, 1, 3, 3), x.p[1]}};
  }
}

template <Combine by, class T, DType stored>
struct Accumulate {
  using S = Stored<T>;
  static constexpr int width = lanes;
  static_assert(4 * width == 32);  // a row's lanes are four vectors, by name: an array of them would live in memory

  static Vec<T> apply(Vec<T> a, Vec<T> x) {
    const Vec<T> r = joined<by>(a, x);
    if constexpr (is_stored(stored)) return rounded(stored, r);
    else return r;
  }
  static S apply_one(S a, S x) {
    // Comparisons see the sign of an integer; sums and bits do not.
    using U = std::conditional_t<line_of(by).joins == Joins::order, S, typename Wrapping<S>::type>;
    const S r = static_cast<S>(joined<by>(static_cast<U>(a), static_cast<U>(x)));
    if constexpr (is_stored(stored)) return rounded(stored, r);
    else return r;
  }

  [[gnu::noinline, gnu::flatten]] static void accumulate(void* lanes_, const void* x_, std::int64_t n, bool first) {
    auto* lane = static_cast<S*>(lanes_);
    auto* x = static_cast<const S*>(x_);
    std::int64_t i = 0;
    if (first) {
      i = std::min<std::int64_t>(n, 32);
      for (std::int64_t l = 0; l < i; ++l) lane[l] = x[l];
    }
    if (i + 32 <= n) {
      Vec<T> a = load<T>(lane), b = load<T>(lane + width), c = load<T>(lane + 2 * width), d = load<T>(lane + 3 * width);
      for (; i + 32 <= n; i += 32) {
        a = apply(a, load<T>(x + i));
        b = apply(b, load<T>(x + i + width));
        c = apply(c, load<T>(x + i + 2 * width));
        d = apply(d, load<T>(x + i + 3 * width));
      }
      store<T>(lane, a), store<T>(lane + width, b), store<T>(lane + 2 * width, c), store<T>(lane + 3 * width, d);
    }
    for (std::int64_t l = 0; i < n; ++l, ++i) lane[l] = apply_one(lane[l], x[i]);
  }

  [[gnu::noinline, gnu::flatten]] static void join(void* lanes_, std::int64_t present) {
    auto* lane = static_cast<S*>(lanes_);
    if (present == 32) {
      const Vec<T> low = apply(load<T>(lane), load<T>(lane + 2 * width));
      const Vec<T> high = apply(load<T>(lane + width), load<T>(lane + 3 * width));
      Vec<T> all = apply(low, high);
      all = apply(all, upper(all, 4));
      all = apply(all, upper(all, 2));
      all = apply(all, upper(all, 1));
      store_some<T>(lane, all, 1);
      return;
    }
    for (std::int64_t half = 16; half > 0; half /= 2) {
      for (std::int64_t l = 0; l + half < present; ++l) lane[l] = apply_one(lane[l], lane[l + half]);
      present = std::min(present, half);
    }
  }

  // Eight short rows at a time: a vector holds one element of each.
  static void short_rows(S* out, const S* x, std::int64_t n, std::int64_t stride) {
    Vec<T> lane[32];
    for (std::int64_t r = 0; r < n; ++r) {
      S element[width];
      for (int k = 0; k < width; ++k) element[k] = x[k * stride + r];
      lane[r] = load<T>(element);
    }
    std::int64_t present = n;
    for (std::int64_t half = 16; half > 0; half /= 2) {
      for (std::int64_t l = 0; l + half < present; ++l) lane[l] = apply(lane[l], lane[l + half]);
      present = std::min(present, half);
    }
    store<T>(out, lane[0]);
  }

  [[gnu::flatten]] static void rows(void* out_, const void* x_, std::int64_t n, std::int64_t count,
                                    std::int64_t stride) {
    auto* out = static_cast<S*>(out_);
    auto* x = static_cast<const S*>(x_);
    std::int64_t k = 0;
    if (n < 32)
      for (; k + width <= count; k += width) short_rows(out + k, x + k * stride, n, stride);
    for (; k < count; ++k) {
      S lane[32];
      accumulate(lane, x + k * stride, n, true);
      join(lane, std::min<std::int64_t>(n, 32));
      out[k] = lane[0];
    }
  }

  static void chain4(S* acc, const S* x, std::int64_t stride, std::int64_t rows, bool first) {
    const S* from = first ? x : acc;
    Vec<T> a = load<T>(from), b = load<T>(from + width), c = load<T>(from + 2 * width), d = load<T>(from + 3 * width);
    for (std::int64_t r = first; r < rows; ++r) {
      const S* row = x + r * stride;
      a = apply(a, load<T>(row));
      b = apply(b, load<T>(row + width));
      c = apply(c, load<T>(row + 2 * width));
      d = apply(d, load<T>(row + 3 * width));
    }
    store<T>(acc, a), store<T>(acc + width, b), store<T>(acc + 2 * width, c), store<T>(acc + 3 * width, d);
  }
  [[gnu::flatten]] static void chain(void* acc_, const void* x_, std::int64_t stride, std::int64_t rows,
                                     std::int64_t columns, bool first) {
    auto* acc = static_cast<S*>(acc_);
    auto* x = static_cast<const S*>(x_);
    std::int64_t c = 0;
    for (; c + 4 * width <= columns; c += 4 * width) chain4(acc + c, x + c, stride, rows, first);
    for (; c < columns; c += width) {
      const std::int64_t n = std::min<std::int64_t>(width, columns - c);
      Vec<T> a = load_some<T>((first ? x : acc) + c, n);
      for (std::int64_t r = first; r < rows; ++r) a = apply(a, load_some<T>(x + r * stride + c, n));
      store_some<T>(acc + c, a, n);
    }
  }

  static constexpr Accumulator functions{accumulate, join, rows, chain};
};

template <Combine c>
const Accumulator* of_type(DType dtype) {
  // Narrow integers may be joined as wide ones: what wraps around later wraps to the same.
  return visit(dtype, []<class T>(std::type_identity<T>) -> const Accumulator* {
    if constexpr (std::is_same_v<T, bool>) return nullptr;
    else if constexpr (std::is_class_v<T> && line_of(c).joins != Joins::order)  // the greater one is rounded already
      return &Accumulate<c, float, dtype_of_element<T>>::functions;
    else return &Accumulate<c, Computed<T>, f32>::functions;
  });
}
template <Combine c>
const Accumulator* of_bits(DType dtype) {
  return with_type(dtype, []<class T>() -> const Accumulator* {
    if constexpr (std::floating_point<T>) return nullptr;
    else return &Accumulate<c, T, f32>::functions;
  });
}

template <Combine c>
const Accumulator* of_line(DType dtype) {
  constexpr Joins joins = line_of(c).joins;
  if constexpr (joins == Joins::numbers || joins == Joins::order) return of_type<c>(dtype);
  else if constexpr (joins == Joins::bits) return of_bits<c>(dtype);
  else return nullptr;
}

template <class T, bool largest>
struct Search {
  using S = Stored<T>;
  static constexpr Combine order = combine_of(largest ? Combine::max : Combine::min, dtype_of_element<T>);
  // Of elements, or of vectors of them: a nan beats all but nans.
  template <class V>
  static auto better(V x, V best) {
    const auto beats = largest ? x > best : x < best;
    if constexpr (std::is_floating_point_v<T>) return beats | ((x != x) & (best == best));
    else return beats;
  }
  // The first of n elements that is `value`, which is one of them.
  static std::int64_t place_of(S value, const S* x, std::int64_t n) {
    const Vec<T> v = broadcast(static_cast<T>(value));
    const auto found = [&](const S* at) {
      const Vec<T> e = load<T>(at);
      if constexpr (std::is_floating_point_v<T>) return (e == v) | ((e != e) & (v != v));
      else return e == v;
    };
    std::int64_t i = 0;
    while (i + 4 * lanes <= n) {
      const S* at = x + i;
      if (any((found(at) | found(at + lanes)) | (found(at + 2 * lanes) | found(at + 3 * lanes)))) break;
      i += 4 * lanes;
    }
    while (x[i] != value && (x[i] == x[i] || value == value)) ++i;
    return i;
  }
  // The best value of all first, which vectors find; then where it is, seldom.
  [[gnu::flatten]] static void along(void* best_, std::int64_t* index, const void* x_, std::int64_t n, std::int64_t r,
                                     bool first) {
    auto* x = static_cast<const S*>(x_);
    auto& best = *static_cast<S*>(best_);
    if (n < 32) {
      S b = first ? x[0] : best;
      std::int64_t at = first ? r : *index;
      for (std::int64_t i = first; i < n; ++i) {
        const bool wins = better(x[i], b);
        b = wins ? x[i] : b;
        at = wins ? r + i : at;
      }
      best = b;
      *index = at;
      return;
    }
    S b;
    Accumulate<order, T, f32>::rows(&b, x, n, 1, 0);
    if (!first && !better(b, best)) return;
    best = b;
    *index = r + place_of(b, x, n);
  }
  // `some` vectors of columns, each n of them.
  template <int some>
  static void down(S* best, std::int64_t* index, const S* x, std::int64_t stride, std::int64_t rows, std::int64_t n,
                   std::int64_t r, bool first) {
    Vec<T> b[some];
    Vec<std::int32_t> at[some];  // the winner's row of these; -1: none
    for (int k = 0; k < some; ++k)
      b[k] = load_some<T>((first ? x : best) + k * lanes, n), at[k] = broadcast(first ? 0 : -1);
    for (std::int64_t row = first; row < rows; ++row)
      for (int k = 0; k < some; ++k) {
        const Vec<T> v = load_some<T>(x + row * stride + k * lanes, n);
        const Mask wins = better(v, b[k]);
        b[k] = select(wins, v, b[k]);
        at[k] = select(wins, broadcast(static_cast<std::int32_t>(row)), at[k]);
      }
    for (int k = 0; k < some; ++k) {
      store_some<T>(best + k * lanes, b[k], n);
      std::int64_t* to = index + k * lanes;
      auto found = Vec<std::int64_t>{{widen(at[k].p[0], 0), widen(at[k].p[0], 1)}} + broadcast(r);
      if (!first) found = select(at[k] < Vec<std::int32_t>{}, load_some<std::int64_t>(to, n), found);
      store_some<std::int64_t>(to, found, n);
    }
  }
  [[gnu::flatten]] static void across(void* best_, std::int64_t* index, const void* x_, std::int64_t stride,
                                      std::int64_t rows, std::int64_t columns, std::int64_t r, bool first) {
    auto* x = static_cast<const S*>(x_);
    auto* best = static_cast<S*>(best_);
    std::int64_t c = 0;
    for (; c + 4 * lanes <= columns; c += 4 * lanes) down<4>(best + c, index + c, x + c, stride, rows, lanes, r, first);
    for (; c < columns; c += lanes)
      down<1>(best + c, index + c, x + c, stride, rows, std::min<std::int64_t>(lanes, columns - c), r, first);
  }
  static void merge(void* best_, std::int64_t* index, const void* x_, const std::int64_t* from, std::int64_t n,
                    bool first) {
    auto* x = static_cast<const S*>(x_);
    auto* best = static_cast<S*>(best_);
    for (std::int64_t c = 0; c < n; ++c) {
      if (!first && !better(x[c], best[c])) continue;
      best[c] = x[c];
      index[c] = from[c];
    }
  }
  static constexpr Searcher functions{along, across, merge};
};

}  // namespace

const Accumulator& accumulator(Combine combine, DType dtype) {
  const Accumulator* found = nullptr;
  switch (combine_of(combine, dtype)) {
#define ANEW_COMBINE(name, text, joins, identity, of_bool, joined) \
  case Combine::name: found = of_line<Combine::name>(dtype); break;
    ANEW_COMBINES(ANEW_COMBINE)
#undef ANEW_COMBINE
  }
  if (!found) throw InternalError(fmt::format("[loops] no reduction by {} of {}", name_of(combine), name_of(dtype)));
  return *found;
}

const Searcher& searcher(Combine combine, DType dtype) {
  return *with_type(dtype, [&]<class T>() -> const Searcher* {
    return combine == Combine::argmax ? &Search<T, true>::functions : &Search<T, false>::functions;
  });
}

}  // namespace anew::loops
