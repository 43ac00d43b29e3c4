// Special functions, with the names of SciPy and of JAX's scipy.special. All are elementwise: operands broadcast and
// promote, integers become floats, derivatives exist to any order. lgamma, digamma, erf and erf_inv are in
// <anew/ops.h>.
#pragma once
#include <anew/array.h>

namespace anew::special {

// ---- the gamma function and what derives from it
Array gammaln(const ArrayLike& x);  // log |gamma(x)|
Array gamma(const ArrayLike& x);
Array gammasgn(const ArrayLike& x);          // the sign of gamma(x); nan at negative integers
Array digamma(const ArrayLike& x);           // the derivative of gammaln; nan at 0, -1, -2, ...
Array polygamma(int n, const ArrayLike& x);  // the n-th derivative of digamma
Array factorial(const ArrayLike& n);         // gamma(n + 1), and 0 for negative n
Array beta(const ArrayLike& a, const ArrayLike& b);
Array betaln(const ArrayLike& a, const ArrayLike& b);  // log |beta(a, b)|

Array loggamma(const ArrayLike& x);                  // log |gamma(x)|
Array multigammaln(const ArrayLike& a, int d);       // of matrices of d rows
Array poch(const ArrayLike& a, const ArrayLike& m);  // gamma(a + m) / gamma(a)
Array comb(const ArrayLike& n, const ArrayLike& k);  // n over k
// the part of gamma(a) below x: the gamma distribution function
Array gammainc(const ArrayLike& a, const ArrayLike& x);
Array gammaincc(const ArrayLike& a, const ArrayLike& x);                    // the part above x
Array betainc(const ArrayLike& a, const ArrayLike& b, const ArrayLike& x);  // the beta distribution function
Array zeta(const ArrayLike& x, const ArrayLike& q = 1.0);                   // the sum of (q + k)^-x, k = 0, 1, ...

// ---- integrals and the confluent hypergeometric function
Array exp1(const ArrayLike& x);                    // the integral of exp(-t) / t from x on
Array expi(const ArrayLike& x);                    // the principal value of that of exp(t) / t up to x
Array expn(int n, const ArrayLike& x);             // the integral of exp(-x t) / t^n from 1 on
Array spence(const ArrayLike& x);                  // the dilogarithm of 1 - x
Array dawsn(const ArrayLike& x);                   // exp(-x^2) times the integral of exp(t^2) from 0 to x
std::pair<Array, Array> sici(const ArrayLike& x);  // the integrals of sin(t) / t from 0 to x, of cos(t) / t up to x
std::pair<Array, Array> fresnel(
    const ArrayLike& x);  // the integrals of sin(pi t^2 / 2) and cos(pi t^2 / 2) from 0 to x
Array hyp1f1(const ArrayLike& a, const ArrayLike& b, const ArrayLike& x);
Array boxcox(const ArrayLike& x, const ArrayLike& lambda);    // (x^lambda - 1) / lambda, log(x) for lambda = 0
Array boxcox1p(const ArrayLike& x, const ArrayLike& lambda);  // boxcox(1 + x, lambda)

// ---- error function
Array erfcx(const ArrayLike& x);     // exp(x^2) erfc(x)
Array log_ndtr(const ArrayLike& x);  // the logarithm of ndtr
Array ndtri(const ArrayLike& p);     // the inverse of ndtr
Array erf(const ArrayLike& x);
Array erfc(const ArrayLike& x);
Array erfinv(const ArrayLike& x);
Array ndtr(const ArrayLike& x);  // the normal distribution function

// ---- the modified Bessel functions of orders 0 and 1, and times exp(-|x|)
Array i0(const ArrayLike& x);
Array i0e(const ArrayLike& x);
Array i1(const ArrayLike& x);
Array i1e(const ArrayLike& x);
Array bessel_i0e(const ArrayLike& x);  // i0e
Array bessel_i1e(const ArrayLike& x);  // i1e
// The Bessel functions of orders 0 to v, along a new first axis; |x| less than n_iter by 25 or so.
Array bessel_jn(const ArrayLike& x, int v, int n_iter = 50);

// ---- logistic function and entropies
Array expit(const ArrayLike& x);  // 1 / (1 + exp(-x))
Array logit(const ArrayLike& p);  // log(p / (1 - p))
Array xlogy(const ArrayLike& x, const ArrayLike& y);
Array xlog1py(const ArrayLike& x, const ArrayLike& y);
Array logsumexp(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array entr(const ArrayLike& x);                          // -x log(x), 0 at 0, -inf below
Array rel_entr(const ArrayLike& x, const ArrayLike& y);  // x log(x / y), 0 at x = 0 <= y, inf outside the domain
Array kl_div(const ArrayLike& x, const ArrayLike& y);    // rel_entr(x, y) - x + y

}  // namespace anew::special
