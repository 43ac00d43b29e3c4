// The math functions in 200 bits, by MPFR: what f64 results are measured with. One object per thread.
#pragma once
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "loops/kernel.h"

namespace anew::ulp {

class Reference {
 public:
  Reference() { mpfr_inits2(200, x_, y_, r_, t_, u_, static_cast<mpfr_ptr>(nullptr)); }
  ~Reference() { mpfr_clears(x_, y_, r_, t_, u_, static_cast<mpfr_ptr>(nullptr)); }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  double rounded(loops::Math m, double x, double y) {
    evaluate(m, x, y);
    return mpfr_get_d(r_, MPFR_RNDN);
  }

  // The distance of `got` in units of the last place of the true value.
  double error(loops::Math m, double got, double x, double y) {
    const double want = rounded(m, x, y);
    if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : INFINITY;
    if (want == got && (std::isinf(want) || want == 0)) return std::signbit(want) == std::signbit(got) ? 0 : INFINITY;
    if (std::isinf(got) || std::isinf(want)) {
      // The largest number is one unit below 2^1024.
      mpfr_set_d(t_, std::copysign(0x1p1023, std::isinf(got) ? got : want), MPFR_RNDN);
      mpfr_mul_ui(t_, t_, 2, MPFR_RNDN);
      if (std::isinf(got)) mpfr_sub(t_, t_, r_, MPFR_RNDN);
      else mpfr_sub_d(t_, t_, got, MPFR_RNDN);
      mpfr_mul_2si(t_, t_, -971, MPFR_RNDN);
      return std::fabs(mpfr_get_d(t_, MPFR_RNDN));
    }
    const mpfr_exp_t exponent = mpfr_zero_p(r_) ? -2000 : mpfr_get_exp(r_);
    mpfr_sub_d(t_, r_, got, MPFR_RNDN);
    mpfr_mul_2si(t_, t_, -std::max<long>(exponent - 53, -1074), MPFR_RNDN);
    return std::fabs(mpfr_get_d(t_, MPFR_RNDN));
  }

 private:
  void evaluate(loops::Math m, double x, double y) {
    using loops::Math;
    constexpr auto nearest = MPFR_RNDN;
    mpfr_set_d(x_, x, nearest);
    mpfr_set_d(y_, y, nearest);
    int sign = 0;
    switch (m) {
      case Math::exp: mpfr_exp(r_, x_, nearest); break;
      case Math::exp2: mpfr_exp2(r_, x_, nearest); break;
      case Math::expm1: mpfr_expm1(r_, x_, nearest); break;
      case Math::log: mpfr_log(r_, x_, nearest); break;
      case Math::log2: mpfr_log2(r_, x_, nearest); break;
      case Math::log10: mpfr_log10(r_, x_, nearest); break;
      case Math::log1p: mpfr_log1p(r_, x_, nearest); break;
      case Math::sin: mpfr_sin(r_, x_, nearest); break;
      case Math::cos: mpfr_cos(r_, x_, nearest); break;
      case Math::tan: mpfr_tan(r_, x_, nearest); break;
      case Math::asin: mpfr_asin(r_, x_, nearest); break;
      case Math::acos: mpfr_acos(r_, x_, nearest); break;
      case Math::atan: mpfr_atan(r_, x_, nearest); break;
      case Math::sinh: mpfr_sinh(r_, x_, nearest); break;
      case Math::cosh: mpfr_cosh(r_, x_, nearest); break;
      case Math::tanh: mpfr_tanh(r_, x_, nearest); break;
      case Math::asinh: mpfr_asinh(r_, x_, nearest); break;
      case Math::acosh: mpfr_acosh(r_, x_, nearest); break;
      case Math::atanh: mpfr_atanh(r_, x_, nearest); break;
      case Math::logistic:
        mpfr_neg(r_, x_, nearest);
        mpfr_exp(r_, r_, nearest);
        mpfr_add_ui(r_, r_, 1, nearest);
        mpfr_ui_div(r_, 1, r_, nearest);
        break;
      case Math::erf: mpfr_erf(r_, x_, nearest); break;
      case Math::erfc: mpfr_erfc(r_, x_, nearest); break;
      case Math::cbrt: mpfr_cbrt(r_, x_, nearest); break;
      case Math::rsqrt:
        mpfr_rec_sqrt(r_, x_, nearest);
        if (x == 0) mpfr_setsign(r_, r_, std::signbit(x), nearest);  // as 1 / sqrt(-0)
        break;
      case Math::lgamma: mpfr_lgamma(r_, &sign, x_, nearest); break;
      case Math::digamma:
        mpfr_digamma(r_, x_, nearest);
        if (x == 0) mpfr_set_nan(r_);
        break;
      case Math::trigamma: trigamma(); break;
      case Math::atan2: mpfr_atan2(r_, x_, y_, nearest); break;
      case Math::pow: mpfr_pow(r_, x_, y_, nearest); break;
      case Math::hypot: mpfr_hypot(r_, x_, y_, nearest); break;
    }
  }

  // x >= 0: thirty terms of the series, the rest by Euler and Maclaurin.
  void trigamma() {
    constexpr auto nearest = MPFR_RNDN;
    static constexpr std::int64_t bernoulli[][2] = {{1, 6},       {-1, 30},       {1, 42},       {-1, 30},
                                                    {5, 66},      {-691, 2730},   {7, 6},        {-3617, 510},
                                                    {43867, 798}, {-174611, 330}, {854513, 138}, {-236364091, 2730},
                                                    {8553103, 6}};
    if (!mpfr_number_p(x_)) return mpfr_set_nan(r_);  // as its definition by zeta has it at infinity
    mpfr_set_zero(r_, 1);
    for (int k = 0; k < 30; ++k) {
      mpfr_sqr(t_, x_, nearest);
      mpfr_ui_div(t_, 1, t_, nearest);
      mpfr_add(r_, r_, t_, nearest);
      mpfr_add_ui(x_, x_, 1, nearest);
    }
    mpfr_ui_div(u_, 1, x_, nearest);  // 1/x + 1/(2 x^2) + sum of B_2j / x^(2j + 1)
    mpfr_add(r_, r_, u_, nearest);
    mpfr_sqr(t_, u_, nearest);
    mpfr_div_ui(x_, t_, 2, nearest);
    mpfr_add(r_, r_, x_, nearest);
    for (const auto& b : bernoulli) {
      mpfr_mul(u_, u_, t_, nearest);
      mpfr_mul_si(x_, u_, b[0], nearest);
      mpfr_div_si(x_, x_, b[1], nearest);
      mpfr_add(r_, r_, x_, nearest);
    }
  }

  mpfr_t x_, y_, r_, t_, u_;
};

}  // namespace anew::ulp
