// Draws with parameters, by JAX's algorithms: the same keys are split in the same way, so that draws agree with its up
// to the rounding of logarithms and powers.
#include <anew/flat.h>
#include <anew/lax.h>
#include <anew/linalg.h>
#include <anew/nn.h>
#include <anew/numpy.h>
#include <anew/random.h>
#include <anew/special.h>
#include <fmt/format.h>

#include <limits>

#include "composed/random_bits.h"
#include "ops/promote.h"

namespace anew::random {
namespace {

void need_float(std::string_view op, DType dtype, const Location& at) {
  if (!is_float(dtype)) fail(op, at, fmt::format("needs a floating type, got {}", name_of(dtype)));
}

// Parameters of one type, broadcast to the shape of the draw.
struct Drawn {
  Shape shape;
  Arrays parameters;
};
Drawn drawn(std::string_view op, const ArrayLike& key, std::initializer_list<const ArrayLike*> xs,
            const OptionalShape& shape, DType dtype) {
  need_float(op, dtype, key.at);
  checked_key(op, key);
  Drawn out;
  for (const ArrayLike* x : xs) {
    check_operand(x->value, line_or(key.at));
    out.parameters.push_back(coerce(x->value, dtype, key.at));
  }
  const Shape own = broadcast_shapes(op, out.parameters, key.at);
  out.shape = shape ? *shape : own;
  Arrays with = out.parameters;
  bool fits = own.ndim() <= out.shape.ndim();
  for (int i = 1; fits && i <= own.ndim(); ++i) fits = own[-i] == 1 || own[-i] == out.shape[-i];
  if (!fits)
    fail(op, key.at, fmt::format("parameters of shape {} do not fit the shape {}", own.str(), out.shape.str()));
  PinLine pin(key.at, op);
  for (Array& p : out.parameters) p = broadcast_to(p, out.shape);
  return out;
}

// Marsaglia and Tsang, one number: x normal until v = (1 + c x)^3 is positive and the test accepts it.
Arrays one_gamma(const Array& key, const Array& alpha, bool log_space) {
  const DType d = type_of(alpha).dtype;
  Array large = alpha >= 1, a = where(large, alpha, alpha + 1);
  Array shift = a - literal(d, 1.0 / 3), c = literal(d, 1.0 / 3) / sqrt(shift);
  std::array<Array, 2> keys = split(key);
  auto again = [&](std::span<const Array> s) {  // key, X, V, U
    return (s[3] >= 1 - literal(d, 0.0331) * (s[1] * s[1])) &
           (log(s[3]) >= s[1] * 0.5 + shift * ((1 - s[2]) + log(s[2])));
  };
  auto attempt = [&](std::span<const Array> s) {
    std::array<Array, 3> three = split<3>(s[0]);
    Arrays found = flat::while_loop([](std::span<const Array> t) { return t[2] <= 0; },
                                    [&](std::span<const Array> t) {
                                      std::array<Array, 2> two = split(t[0]);
                                      Array x = normal(two[1], {}, d);
                                      return Arrays{two[0], x, 1 + x * c};
                                    },
                                    {three[1], literal(d, 0), literal(d, -1)});
    return Arrays{three[0], found[1] * found[1], found[2] * found[2] * found[2], uniform(three[2], {}, d)};
  };
  Arrays end = flat::while_loop(again, attempt, {keys[0], literal(d, 0), literal(d, 1), literal(d, 2)});
  const Array& v = end[2];
  if (log_space) {
    Array e = -exponential(keys[1], {}, d);
    return {log(shift) + log(v) + where(large | (e == 0), 0, e * (1 / alpha))};
  }
  return {shift * v * where(large, 1, power(1 - uniform(keys[1], {}, d), 1 / alpha))};
}
// key and a flat list of parameters.
Array gammas(const Array& key, const Array& a, bool log_space, const Location& at) {
  FlatFunction f = [log_space](std::span<const Array> x) {
    const std::int64_t n = type_of(x[1]).shape[0];
    FlatFunction one = [log_space](std::span<const Array> s) { return one_gamma(s[0], s[1], log_space); };
    return flat::vmap(one, Arrays{split(x[0], Shape{n}), x[1]}, {.in = {0, 0}});
  };
  flat::JvpRule rule = [log_space, at](std::span<const Array> x, std::span<const Array> t) {
    Array y = gammas(x[0], x[1], log_space, at), sample = log_space ? exp(y) : y;
    if (log_space) sample = maximum(sample, std::numeric_limits<float>::min());
    Array slope = lax::random_gamma_grad(x[1], stop_gradient(sample));
    return std::pair(Arrays{y}, Arrays{t[1] * (log_space ? slope / sample : slope)});
  };
  return flat::custom_jvp(f, rule, Arrays{key, a}, {}, at)[0];
}
Array gamma_draw(std::string_view op, const ArrayLike& key, const ArrayLike& a, const OptionalShape& shape, DType dtype,
                 bool log_space) {
  Drawn d = drawn(op, key, {&a}, shape, dtype);
  PinLine pin(key.at, op);
  if (d.shape.size() == 0) return zeros(d.shape, dtype);
  const DType exact = size_of(dtype) < 4 ? f32 : dtype;
  Array y = gammas(checked_key(op, key), ravel(astype(d.parameters[0], exact)), log_space, key.at);
  return astype(reshape(y, d.shape), dtype);
}

// A shape with more axes behind it.
Shape longer(std::string_view op, Shape shape, const Shape& more, const Location& at) {
  return with_line(op, line_or(at), [&] {
    for (std::int64_t n : more) shape.push_back(n);
    return shape;
  });
}

}  // namespace

Array gamma(const ArrayLike& key, const ArrayLike& a, const OptionalShape& shape, DType dtype) {
  return gamma_draw("random.gamma", key, a, shape, dtype, false);
}
Array loggamma(const ArrayLike& key, const ArrayLike& a, const OptionalShape& shape, DType dtype) {
  return gamma_draw("random.loggamma", key, a, shape, dtype, true);
}
Array beta(const ArrayLike& key, const ArrayLike& a, const ArrayLike& b, const OptionalShape& shape, DType dtype) {
  Drawn d = drawn("random.beta", key, {&a, &b}, shape, dtype);
  PinLine pin(key.at);
  std::array<Array, 2> keys = split(key);
  Array u = loggamma(keys[0], d.parameters[0], d.shape, dtype), v = loggamma(keys[1], d.parameters[1], d.shape, dtype);
  Array top = maximum(u, v), p = exp(u - top), q = exp(v - top);
  return p / (p + q);
}
Array dirichlet(const ArrayLike& key, const ArrayLike& alpha, const OptionalShape& shape, DType dtype) {
  constexpr std::string_view op = "random.dirichlet";
  need_float(op, dtype, key.at);
  check_operand(alpha.value, line_or(key.at));
  const Type type = type_of(alpha.value);
  if (type.shape.ndim() == 0) fail(op, key.at, fmt::format("alpha is a vector, got {}", type.str()));
  Shape whole = type.shape;
  if (shape) {
    whole = longer(op, *shape, Shape{type.shape[-1]}, key.at);
  }
  PinLine pin(key.at);
  return nn::softmax(loggamma(key, alpha, whole, dtype), -1);
}
Array chisquare(const ArrayLike& key, const ArrayLike& df, const OptionalShape& shape, DType dtype) {
  Drawn d = drawn("random.chisquare", key, {&df}, shape, dtype);
  PinLine pin(key.at);
  return exp(loggamma(key, d.parameters[0] / 2, d.shape, dtype)) * 2;
}
Array t(const ArrayLike& key, const ArrayLike& df, const OptionalShape& shape, DType dtype) {
  Drawn d = drawn("random.t", key, {&df}, shape, dtype);
  PinLine pin(key.at);
  std::array<Array, 2> keys = split(key);
  Array half = d.parameters[0] / 2;
  return normal(keys[0], d.shape, dtype) * sqrt(half / gamma(keys[1], half, d.shape, dtype));
}
Array f(const ArrayLike& key, const ArrayLike& dfnum, const ArrayLike& dfden, const OptionalShape& shape, DType dtype) {
  Drawn d = drawn("random.f", key, {&dfnum, &dfden}, shape, dtype);
  PinLine pin(key.at);
  std::array<Array, 2> keys = split(key);
  Array above = chisquare(keys[1], d.parameters[0], d.shape, dtype) / d.parameters[0];
  return above / (chisquare(keys[0], d.parameters[1], d.shape, dtype) / d.parameters[1]);
}

Array pareto(const ArrayLike& key, const ArrayLike& b, const OptionalShape& shape, DType dtype) {
  Drawn d = drawn("random.pareto", key, {&b}, shape, dtype);
  PinLine pin(key.at);
  return exp(exponential(key, d.shape, dtype) / d.parameters[0]);
}
Array lognormal(const ArrayLike& key, const ArrayLike& sigma, const OptionalShape& shape, DType dtype) {
  Drawn d = drawn("random.lognormal", key, {&sigma}, shape, dtype);
  PinLine pin(key.at);
  return exp(normal(key, d.shape, dtype) * d.parameters[0]);
}
Array rayleigh(const ArrayLike& key, const ArrayLike& scale, const OptionalShape& shape, DType dtype) {
  Drawn d = drawn("random.rayleigh", key, {&scale}, shape, dtype);
  PinLine pin(key.at);
  return d.parameters[0] * sqrt(log(uniform(key, d.shape, dtype)) * -2);
}
Array wald(const ArrayLike& key, const ArrayLike& mean, const OptionalShape& shape, DType dtype) {
  Drawn d = drawn("random.wald", key, {&mean}, shape, dtype);
  PinLine pin(key.at);
  std::array<Array, 2> keys = split(key);
  Array v = normal(keys[0], d.shape, dtype), z = uniform(keys[1], d.shape, dtype), y = v * v, m = d.parameters[0];
  Array x = m + m * m * y / 2 - m / 2 * sqrt(4 * m * y + m * m * (y * y));
  return where(z <= m / (m + x), x, m * m / x);
}
Array weibull_min(const ArrayLike& key, const ArrayLike& scale, const ArrayLike& concentration,
                  const OptionalShape& shape, DType dtype) {
  Drawn d = drawn("random.weibull_min", key, {&scale, &concentration}, shape, dtype);
  PinLine pin(key.at);
  return power(-log1p(-uniform(key, d.shape, dtype)), 1 / d.parameters[1]) * d.parameters[0];
}
Array triangular(const ArrayLike& key, const ArrayLike& left, const ArrayLike& mode, const ArrayLike& right,
                 const OptionalShape& shape, DType dtype) {
  Drawn d = drawn("random.triangular", key, {&left, &mode, &right}, shape, dtype);
  PinLine pin(key.at);
  const Array &a = d.parameters[0], &m = d.parameters[1], &b = d.parameters[2];
  Array u = uniform(key, d.shape, dtype), first = u < (m - a) / (b - a);
  return where(first, a + sqrt(where(first, u, 0.5) * (b - a) * (m - a)),
               b - sqrt((1 - where(first, 0.5, u)) * (b - a) * (b - m)));
}
Array maxwell(const ArrayLike& key, const Shape& shape, DType dtype) {
  PinLine pin(key.at);
  Shape three = shape;
  three.push_back(3);
  return norm(normal(key, three, dtype), -1);
}
Array double_sided_maxwell(const ArrayLike& key, const ArrayLike& loc, const ArrayLike& scale, const Shape& shape,
                           DType dtype) {
  need_float("random.double_sided_maxwell", dtype, key.at);
  for (const ArrayLike* x : {&loc, &scale}) check_operand(x->value, line_or(key.at));
  PinLine pin(key.at);
  Array m = coerce(loc.value, dtype, key.at), s = coerce(scale.value, dtype, key.at);
  const Array both[] = {m, s};
  const Shape own = broadcast_shapes("random.double_sided_maxwell", both, key.at);
  // As JAX: parameters have axes of their own behind the shape.
  const Shape whole = longer("random.double_sided_maxwell", shape.ndim() == 0 ? own : shape, own, key.at);
  std::array<Array, 2> keys = split(key);
  return astype(rademacher(keys[1], whole), dtype) * maxwell(keys[0], whole, dtype) * s + m;
}
Array generalized_normal(const ArrayLike& key, double p, const Shape& shape, DType dtype) {
  need_float("random.generalized_normal", dtype, key.at);
  PinLine pin(key.at);
  std::array<Array, 2> keys = split(key);
  Array g = gamma(keys[0], literal(dtype, 1 / p), shape, dtype);
  return astype(rademacher(keys[1], shape), dtype) * power(g, literal(dtype, 1 / p));
}
Array ball(const ArrayLike& key, std::int64_t d, double p, const Shape& shape, DType dtype) {
  need_float("random.ball", dtype, key.at);
  if (d < 0) fail("random.ball", key.at, fmt::format("points of {} coordinates", d));
  PinLine pin(key.at);
  std::array<Array, 2> keys = split(key);
  const Shape whole = longer("random.ball", shape, Shape{d}, key.at);
  Array g = generalized_normal(keys[0], p, whole, dtype), e = exponential(keys[1], shape, dtype);
  Array length = power(sum(power(abs(g), literal(dtype, p)), -1) + e, literal(dtype, 1 / p));
  return g / expand_dims(length, -1);
}
Array orthogonal(const ArrayLike& key, std::int64_t n, const Shape& shape, DType dtype, std::optional<std::int64_t> m) {
  need_float("random.orthogonal", dtype, key.at);
  const std::int64_t columns = m.value_or(n);
  if (n < 0 || columns < 0) fail("random.orthogonal", key.at, fmt::format("of {} rows and {} columns", n, columns));
  PinLine pin(key.at);
  const Shape whole = longer("random.orthogonal", shape, Shape{std::max(n, columns), std::min(n, columns)}, key.at);
  auto [q, r] = linalg::qr(normal(key, whole, dtype));
  const int axes = whole.ndim();
  Array signs = sign(diagonal(moveaxis(r, {axes - 2, axes - 1}, {0, 1})));
  Array tall = q * expand_dims(signs, -2);
  return n < columns ? swapaxes(tall, -2, -1) : tall;
}
Array multivariate_normal(const ArrayLike& key, const ArrayLike& mean, const ArrayLike& cov, const OptionalShape& shape,
                          DType dtype) {
  constexpr std::string_view op = "random.multivariate_normal";
  need_float(op, dtype, key.at);
  for (const ArrayLike* x : {&mean, &cov}) check_operand(x->value, line_or(key.at));
  const Type m = type_of(mean.value), c = type_of(cov.value);
  if (m.shape.ndim() < 1 || c.shape.ndim() < 2 || c.shape[-1] != m.shape[-1] || c.shape[-2] != m.shape[-1])
    fail(op, key.at,
         fmt::format("needs a mean [..., n] and a covariance [..., n, n], got {} and {}", m.str(), c.str()));
  PinLine pin(key.at);
  Shape lead_m = m.shape, lead_c = c.shape;
  lead_m.erase(lead_m.ndim() - 1);
  lead_c.erase(lead_c.ndim() - 1);
  lead_c.erase(lead_c.ndim() - 1);
  const Shape lead = shape ? *shape : anew::broadcast_shapes({lead_m, lead_c}, key.at);
  const Shape whole = longer(op, lead, Shape{m.shape[-1]}, key.at);
  Array factor = linalg::cholesky(coerce(cov.value, dtype, key.at));
  Array z = normal(key, whole, dtype);
  return coerce(mean.value, dtype, key.at) + squeeze(matmul(factor, expand_dims(z, -1)), -1);
}
Array geometric(const ArrayLike& key, const ArrayLike& p, const OptionalShape& shape, DType dtype) {
  check_operand(p.value, line_or(key.at));
  if (!is_integer(dtype))
    fail("random.geometric", key.at, fmt::format("needs an integer type, got {}", name_of(dtype)));
  const DType real = floating(type_of(p.value).dtype);
  Drawn d = drawn("random.geometric", key, {&p}, shape, is_weak(p.value) ? default_float() : real);
  PinLine pin(key.at);
  Array u = uniform(key, d.shape, type_of(d.parameters[0]).dtype);
  u = where(u == 0, 1, u);
  return astype(floor(log(u) / log1p(-d.parameters[0])) + 1, dtype);
}

// Below 10 Knuth's products, in the logarithm; from there on Hoermann's rejection. Each element goes on until all are
// done.
Array poisson(const ArrayLike& key, const ArrayLike& lam, const OptionalShape& shape, DType dtype) {
  constexpr std::string_view op = "random.poisson";
  if (!is_integer(dtype)) fail(op, key.at, fmt::format("needs an integer type, got {}", name_of(dtype)));
  Drawn d = drawn(op, key, {&lam}, shape, f32);
  Array k0 = checked_key(op, key);
  PinLine pin(key.at);
  const Shape whole = d.shape;
  const Array rate = d.parameters[0], small = isnan(rate) | (rate < 10);
  const Array low = where(small, rate, 0), high = where(small, 1e5, rate);
  Arrays counted = flat::while_loop([&](std::span<const Array> s) { return any(s[2] > -low); },
                                    [&](std::span<const Array> s) {  // k, key, log of the product
                                      std::array<Array, 2> keys = split(s[1]);
                                      return Arrays{where(s[2] > -low, s[0] + 1, s[0]), keys[0],
                                                    s[2] + log(uniform(keys[1], whole, f32))};
                                    },
                                    {zeros(whole, i32), k0, zeros(whole, f32)});
  const Array log_rate = log(high), b = 0.931 + 2.53 * sqrt(high), a = -0.059 + 0.02483 * b;
  const Array inverse = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  Arrays accepted = flat::while_loop(
      [&](std::span<const Array> s) { return any(~s[1]); },
      [&](std::span<const Array> s) {  // k, accepted, key
        std::array<Array, 3> keys = split<3>(s[2]);
        Array u = uniform(keys[1], whole, f32) - 0.5, v = uniform(keys[2], whole, f32), away = 0.5 - abs(u);
        Array k = floor((2 * a / away + b) * u + high + 0.43);
        Array level = log(v * inverse / (a / (away * away) + b)), density = -high + k * log_rate - lgamma(k + 1);
        Array outside = (k < 0) | ((away < 0.013) & (v > away));
        Array accept = ((away >= 0.07) & (v <= v_r)) | (~outside & (level <= density));
        return Arrays{where(accept, k, s[0]), s[1] | accept, keys[0]};
      },
      {full(whole, -1, f32), full(whole, false), k0});
  Array y = where(small, astype(counted[0] - 1, dtype), astype(accepted[0], dtype));
  return where(rate == 0, 0, y);
}

Array PRNGKey(const ArrayLike& seed) { return key(seed); }
Array key_data(const ArrayLike& key) { return checked_key("random.key_data", key); }
Array wrap_key_data(const ArrayLike& words) { return checked_key("random.wrap_key_data", words); }
Array clone(const ArrayLike& key) { return checked_key("random.clone", key); }

}  // namespace anew::random
