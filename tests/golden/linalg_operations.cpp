// The recorded operations of linear algebra and Fourier transforms.
#include <anew/fft.h>
#include <anew/linalg.h>
#include <anew/ops.h>

#include "golden/operation.h"

namespace anew::golden {
namespace {

Operation matrix(Array (*f)(const ArrayLike&)) {
  return [f](X x, P) { return Arrays{f(x.at(0))}; };
}

// What the files say about the form of inputs and outputs, free of signs and complex numbers.
void described(P p, std::initializer_list<const char*> keys) {
  for (const char* key : keys) p.has(key);
}

std::optional<std::int64_t> length(P p) { return p.has("n") ? std::optional(p.integer("n")) : std::nullopt; }
int axis(P p) { return p.axis().value_or(-1); }

Arrays parts(const fft::Complex& z, P p) {
  described(p, {"inputs", "outputs"});
  if (p.text("norm", "backward") != "backward") throw NotDelivered("norm of a Fourier transform");
  return {z.first, z.second};
}
using Transform = fft::Complex (*)(const ArrayLike&, const ArrayLike&, std::optional<std::int64_t>, int);
Operation transform(Transform f) {
  return [f](X x, P p) { return parts(f(x.at(0), x.at(1), length(p), axis(p)), p); };
}
fft::Lengths lengths(P p) { return p.has("s") ? fft::Lengths(p.shape("s")) : fft::Lengths(); }
Axes last_axes(P p, bool two) { return p.axes("axes", two ? Axes{-2, -1} : Axes{}); }
using ManyTransform = fft::Complex (*)(const ArrayLike&, const ArrayLike&, const fft::Lengths&, const Axes&);
Operation many(ManyTransform f, bool two) {
  return [f, two](X x, P p) { return parts(f(x.at(0), x.at(1), lengths(p), last_axes(p, two)), p); };
}
Operation real_many(bool two) {
  return [two](X x, P p) { return parts(fft::rfftn(x.at(0), lengths(p), last_axes(p, two)), p); };
}
Operation back_to_real_many(bool two) {
  return [two](X x, P p) {
    described(p, {"inputs", "outputs"});
    return Arrays{fft::irfftn(x.at(0), x.at(1), lengths(p), last_axes(p, two))};
  };
}

Arrays qr_of(X x, P p) {
  described(p, {"sign"});
  const std::string mode = p.text("mode", "reduced");
  if (mode != "reduced" && mode != "complete") throw NotDelivered("qr with mode " + mode);
  auto [q, r] = linalg::qr(x.at(0), mode == "complete");
  Array signs = sign(diagonal(r));
  return {q * signs, r * expand_dims(signs, 1)};
}
Arrays eigh_of(X x, P p) {
  described(p, {"outputs"});
  auto [w, v] = linalg::eigh(x.at(0));
  return {w, v * v};
}
Arrays triangular_of(X x, P p) {
  return {lax::triangular_solve(x.at(0), x.at(1),
                                {.left_side = p.flag("left_side"),
                                 .lower = p.flag("lower"),
                                 .transpose_a = p.flag("transpose_a"),
                                 .unit_diagonal = p.flag("unit_diagonal")})};
}
Arrays slogdet_of(X x, P) {
  auto [sign, log] = linalg::slogdet(x.at(0));
  return {sign, log};
}

}  // namespace

Operations linalg_operations() {
  return {
      {"cholesky", matrix(linalg::cholesky)},
      {"det", matrix(linalg::det)},
      {"eigvalsh", matrix(linalg::eigvalsh)},
      {"eigh", eigh_of},
      {"expm", matrix(linalg::expm)},
      {"inv", matrix(linalg::inv)},
      {"matrix_power", [](X x, P p) { return Arrays{linalg::matrix_power(x.at(0), p.integer("n"))}; }},
      {"pinv", [](X x, P) { return Arrays{linalg::pinv(x.at(0))}; }},
      {"qr", qr_of},
      {"slogdet", slogdet_of},
      {"solve", [](X x, P) { return Arrays{linalg::solve(x.at(0), x.at(1))}; }},
      {"svdvals", matrix(linalg::svdvals)},
      {"triangular_solve", triangular_of},
      {"fft", transform(fft::fft)},
      {"ifft", transform(fft::ifft)},
      {"rfft", [](X x, P p) { return parts(fft::rfft(x.at(0), length(p), axis(p)), p); }},
      {"irfft",
       [](X x, P p) {
         described(p, {"inputs", "outputs"});
         return Arrays{fft::irfft(x.at(0), x.at(1), length(p), axis(p))};
       }},
      {"fft2", many(fft::fftn, true)},
      {"ifft2", many(fft::ifftn, true)},
      {"fftn", many(fft::fftn, false)},
      {"ifftn", many(fft::ifftn, false)},
      {"rfft2", real_many(true)},
      {"rfftn", real_many(false)},
      {"irfft2", back_to_real_many(true)},
      {"irfftn", back_to_real_many(false)},
  };
}

}  // namespace anew::golden
