// See join.h. Every function is a template over (operation, type, rounding), vectorised over lanes or columns.
#include "loops/join.h"

#include <fmt/format.h>

#include <limits>

#include "loops/block.h"

namespace anew::loops {
namespace {

struct Sum {
  template <class V>
  static V apply(V a, V x) { return a + x; }
  template <class T>
  static constexpr T identity() { return T{0}; }
};
struct Product {
  template <class V>
  static V apply(V a, V x) { return a * x; }
  template <class T>
  static constexpr T identity() { return T{1}; }
};
struct Max {
  template <class V>
  static V apply(V a, V x) { return select((x > a) | (x != x), x, a); }
  template <class T>
  static constexpr T identity() {
    return std::floating_point<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  }
};
struct Min {
  template <class V>
  static V apply(V a, V x) { return select((x < a) | (x != x), x, a); }
  template <class T>
  static constexpr T identity() {
    return std::floating_point<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  }
};
struct And {
  template <class V>
  static V apply(V a, V x) { return a & x; }
  template <class T>
  static constexpr T identity() { return static_cast<T>(~T{0}); }
};
struct Or {
  template <class V>
  static V apply(V a, V x) { return a | x; }
  template <class T>
  static constexpr T identity() { return T{0}; }
};

template <class F, class T, DType stored>
struct Join {
  using S = Stored<T>;
  static constexpr int width = lanes, vectors = 32 / lanes;

  static Vec<T> apply(Vec<T> a, Vec<T> x) {
    const Vec<T> r = F::apply(a, x);
    if constexpr (stored == bf16 || stored == f16) return rounded(stored, r);
    else return r;
  }
  // One element, by the same instructions.
  static void apply_some(S* a, const S* x, std::int64_t n) {
    store_some<T>(a, apply(load_some<T>(a, n), load_some<T>(x, n)), n);
  }

  [[gnu::flatten]] static void accumulate(void* lanes_, const void* x_, std::int64_t n, bool first) {
    auto* lane = static_cast<S*>(lanes_);
    auto* x = static_cast<const S*>(x_);
    std::int64_t i = 0;
    if (first) {
      i = std::min<std::int64_t>(n, 32);
      std::copy_n(x, i, lane);
    }
    if (i + 32 <= n) {
      Vec<T> a[vectors];
      for (int v = 0; v < vectors; ++v) a[v] = load<T>(lane + v * width);
      for (; i + 32 <= n; i += 32)
        for (int v = 0; v < vectors; ++v) a[v] = apply(a[v], load<T>(x + i + v * width));
      for (int v = 0; v < vectors; ++v) store<T>(lane + v * width, a[v]);
    }
    for (int v = 0; i < n; ++v, i += width) apply_some(lane + v * width, x + i, std::min<std::int64_t>(width, n - i));
  }

  [[gnu::flatten]] static void join(void* lanes_, std::int64_t present) {
    auto* lane = static_cast<S*>(lanes_);
    if (present == 32) {
      const Vec<T> low = apply(load<T>(lane), load<T>(lane + 16)), high = apply(load<T>(lane + 8), load<T>(lane + 24));
      store<T>(lane, apply(low, high));
      present = 8;
    }
    for (std::int64_t half = 16; half > 0; half /= 2) {
      if (present <= half) continue;
      for (std::int64_t l = 0; l < present - half; l += width)
        apply_some(lane + l, lane + l + half, std::min<std::int64_t>(width, present - half - l));
      present = half;
    }
  }

  [[gnu::flatten]] static void rows(void* out_, const void* x_, std::int64_t n, std::int64_t count, std::int64_t stride) {
    auto* out = static_cast<S*>(out_);
    auto* x = static_cast<const S*>(x_);
    for (std::int64_t k = 0; k < count; ++k) {
      S lane[32];
      accumulate(lane, x + k * stride, n, true);
      join(lane, std::min<std::int64_t>(n, 32));
      out[k] = lane[0];
    }
  }

  template <int count>
  static void chain_vectors(S* acc, const S* x, std::int64_t stride, std::int64_t rows, bool first) {
    Vec<T> a[count];
    for (int v = 0; v < count; ++v) a[v] = load<T>((first ? x : acc) + v * width);
    for (std::int64_t r = first; r < rows; ++r)
      for (int v = 0; v < count; ++v) a[v] = apply(a[v], load<T>(x + r * stride + v * width));
    for (int v = 0; v < count; ++v) store<T>(acc + v * width, a[v]);
  }
  [[gnu::flatten]] static void chain(void* acc_, const void* x_, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                                     bool first) {
    auto* acc = static_cast<S*>(acc_);
    auto* x = static_cast<const S*>(x_);
    std::int64_t c = 0;
    for (; c + 4 * width <= columns; c += 4 * width) chain_vectors<4>(acc + c, x + c, stride, rows, first);
    for (; c + width <= columns; c += width) chain_vectors<1>(acc + c, x + c, stride, rows, first);
    if (c == columns) return;
    const std::int64_t n = columns - c;
    Vec<T> a = load_some<T>((first ? x : acc) + c, n);
    for (std::int64_t r = first; r < rows; ++r) a = apply(a, load_some<T>(x + r * stride + c, n));
    store_some<T>(acc + c, a, n);
  }

  static void identity(void* out, std::int64_t n) {
    if constexpr (std::is_same_v<T, bool>) std::fill_n(static_cast<S*>(out), n, static_cast<S>(std::is_same_v<F, And>));
    else std::fill_n(static_cast<S*>(out), n, F::template identity<T>());
  }

  static constexpr Joiner functions{accumulate, join, rows, chain, identity};
};

template <class F>
const Joiner* of_type(DType dtype) {
  if (dtype == bf16) return &Join<F, float, bf16>::functions;
  if (dtype == f16) return &Join<F, float, f16>::functions;
  return with_type(dtype, []<class T>() -> const Joiner* {
    if constexpr (std::is_same_v<T, bool>) return nullptr;
    else return &Join<F, T, f32>::functions;
  });
}
template <class F>
const Joiner* of_bits(DType dtype) {
  return with_type(dtype, []<class T>() -> const Joiner* {
    if constexpr (std::floating_point<T>) return nullptr;
    else return &Join<F, T, f32>::functions;
  });
}

template <class T, bool largest>
struct Search {
  using S = Stored<T>;
  static bool better(S x, S best) {
    if (x != x) return best == best;
    return largest ? x > best : x < best;
  }
  static void along(void* best_, std::int64_t* index, const void* x_, std::int64_t n, std::int64_t r, bool first) {
    auto* x = static_cast<const S*>(x_);
    auto& best = *static_cast<S*>(best_);
    S b = first ? x[0] : best;
    std::int64_t at = first ? r : *index;
    for (std::int64_t i = first; i < n; ++i)
      if (better(x[i], b)) b = x[i], at = r + i;
    best = b;
    *index = at;
  }
  static void across(void* best_, std::int64_t* index, const void* x_, std::int64_t n, std::int64_t r, bool first) {
    auto* x = static_cast<const S*>(x_);
    auto* best = static_cast<S*>(best_);
    for (std::int64_t c = 0; c < n; ++c) {
      const bool wins = first || better(x[c], best[c]);
      best[c] = wins ? x[c] : best[c];
      index[c] = wins ? r : index[c];
    }
  }
  static void merge(void* best_, std::int64_t* index, const void* x_, const std::int64_t* from, std::int64_t n, bool first) {
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

const Joiner& joiner(Combine combine, DType dtype) {
  const Joiner* found = nullptr;
  const bool logical = dtype == bool_;
  switch (combine) {
    case Combine::sum: found = of_type<Sum>(dtype); break;
    case Combine::product: found = of_type<Product>(dtype); break;
    case Combine::max: found = logical ? of_bits<Or>(dtype) : of_type<Max>(dtype); break;
    case Combine::min: found = logical ? of_bits<And>(dtype) : of_type<Min>(dtype); break;
    case Combine::and_: found = of_bits<And>(dtype); break;
    case Combine::or_: found = of_bits<Or>(dtype); break;
    default: break;
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
