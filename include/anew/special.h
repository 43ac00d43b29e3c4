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

// ---- error function
Array erf(const ArrayLike& x);
Array erfc(const ArrayLike& x);
Array erfinv(const ArrayLike& x);
Array ndtr(const ArrayLike& x);  // the normal distribution function

// ---- logistic function and entropies
Array expit(const ArrayLike& x);  // 1 / (1 + exp(-x))
Array logit(const ArrayLike& p);  // log(p / (1 - p))
Array xlogy(const ArrayLike& x, const ArrayLike& y);
Array xlog1py(const ArrayLike& x, const ArrayLike& y);
Array logsumexp(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array bessel_i0e(const ArrayLike& x);                    // exp(-|x|) I0(x), I0 the modified Bessel function
Array entr(const ArrayLike& x);                          // -x log(x), 0 at 0, -inf below
Array rel_entr(const ArrayLike& x, const ArrayLike& y);  // x log(x / y), 0 at x = 0 <= y, inf outside the domain
Array kl_div(const ArrayLike& x, const ArrayLike& y);    // rel_entr(x, y) - x + y

}  // namespace anew::special
