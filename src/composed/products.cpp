// NumPy's products, all of them one dot_general.
#include <anew/ops.h>
#include <fmt/format.h>

#include "ops/axes.h"
#include "ops/promote.h"

namespace anew {
namespace {

std::pair<Array, Array> promoted(const ArrayLike& a, const ArrayLike& b) {
  check_operand(a.value, line_or(a.at));
  check_operand(b.value, line_or(a.at));
  std::array<Array, 2> both{a.value, b.value};
  DType d = common_dtype(both);
  return {coerce(a.value, d, a.at), coerce(b.value, d, a.at)};
}

// dot_general, with mismatches reported as those of the function that the user called.
Array contract(std::string_view op, const Array& a, const Array& b, const lax::DotDimensions& d, const Location& at) {
  const Type x = type_of(a), y = type_of(b);
  for (std::size_t i = 0; i < d.lhs_contracting.size(); ++i) {
    int l = d.lhs_contracting[i], r = d.rhs_contracting[i];
    if (x.shape[l] != y.shape[r])
      fail(op, at,
           fmt::format("contracting dimensions differ: {} axis {} has {}, {} axis {} has {}", x.str(), l, x.shape[l],
                       y.str(), r, y.shape[r]));
  }
  return lax::dot_general(ArrayLike(a, at), b, d);
}

int ndim(const Array& x) { return type_of(x).shape.ndim(); }

}  // namespace

Array dot(const ArrayLike& x, const ArrayLike& y) {
  auto [a, b] = promoted(x, y);
  if (ndim(a) == 0 || ndim(b) == 0) return ArrayLike(a, x.at) * b;
  return contract("dot", a, b, {{ndim(a) - 1}, {ndim(b) == 1 ? 0 : ndim(b) - 2}}, x.at);
}

Array matmul(const ArrayLike& x, const ArrayLike& y) {
  auto [a, b] = promoted(x, y);
  const Type ta = type_of(a), tb = type_of(b);
  if (ndim(a) == 0 || ndim(b) == 0)
    fail("matmul", x.at, fmt::format("needs arrays of at least one axis, got {} and {}", ta.str(), tb.str()),
         "multiply by a scalar with *");
  if (ndim(b) <= 2) return contract("matmul", a, b, {{ndim(a) - 1}, {ndim(b) == 1 ? 0 : ndim(b) - 2}}, x.at);
  if (ta.shape[-1] != tb.shape[-2])  // before axes are dropped, so that the message counts as the user does
    fail("matmul", x.at,
         fmt::format("contracting dimensions differ: {} axis {} has {}, {} axis {} has {}", ta.str(), ndim(a) - 1,
                     ta.shape[-1], tb.str(), ndim(b) - 2, tb.shape[-2]));
  // A batch axis that both have is a batch axis of the product; one that only one has, or that is 1 in the other, goes
  // through it as a free axis. `out` says where each axis of the product belongs.
  PinLine pin(x.at);
  int rows = ndim(a) == 1 ? 0 : 1, batch_a = ndim(a) - 1 - rows, batch_b = ndim(b) - 2,
      batch = std::max(batch_a, batch_b);
  std::vector<int> drop_a, drop_b;
  lax::DotDimensions d;
  std::vector<int> out_batch, out_a, out_b;
  for (int i = 0; i < batch; ++i) {
    int ia = i - (batch - batch_a), ib = i - (batch - batch_b);
    std::int64_t na = ia < 0 ? 1 : ta.shape[ia], nb = ib < 0 ? 1 : tb.shape[ib];
    if (na != nb && na != 1 && nb != 1)
      fail("matmul", x.at, fmt::format("batch dimensions do not broadcast: {} and {}", ta.str(), tb.str()));
    int at_a = ia - static_cast<int>(drop_a.size()), at_b = ib - static_cast<int>(drop_b.size());
    if (ia >= 0 && ib >= 0 && na == nb) {
      d.lhs_batch.push_back(at_a);
      d.rhs_batch.push_back(at_b);
      out_batch.push_back(i);
    } else if (ia >= 0 && (ib < 0 || nb == 1)) {
      out_a.push_back(i);
      if (ib >= 0) drop_b.push_back(ib);
    } else {
      out_b.push_back(i);
      if (ia >= 0) drop_a.push_back(ia);
    }
  }
  if (!drop_a.empty()) a = squeeze(a, drop_a);
  if (!drop_b.empty()) b = squeeze(b, drop_b);
  if (rows) out_a.push_back(batch);
  out_b.push_back(batch + rows);
  d.lhs_contracting = {ndim(a) - 1};
  d.rhs_contracting = {ndim(b) - 2};
  return transpose(contract("matmul", a, b, d, x.at), sorting(joined(joined(out_batch, out_a), out_b)));
}

Array vdot(const ArrayLike& x, const ArrayLike& y) {
  PinLine pin(x.at);
  return dot(ravel(x), ravel(y));
}

Array inner(const ArrayLike& x, const ArrayLike& y) {
  auto [a, b] = promoted(x, y);
  if (ndim(a) == 0 || ndim(b) == 0) return ArrayLike(a, x.at) * b;
  return contract("inner", a, b, {{ndim(a) - 1}, {ndim(b) - 1}}, x.at);
}

Array outer(const ArrayLike& x, const ArrayLike& y) {
  auto [a, b] = promoted(x, y);
  PinLine pin(x.at);
  return expand_dims(ravel(a), 1) * expand_dims(ravel(b), 0);
}

Array kron(const ArrayLike& x, const ArrayLike& y) {
  auto [a, b] = promoted(x, y);
  PinLine pin(x.at);
  Shape sa = type_of(a).shape, sb = type_of(b).shape, out;
  while (sa.ndim() < sb.ndim()) sa.insert(0, 1);
  while (sb.ndim() < sa.ndim()) sb.insert(0, 1);
  Shape apart_a, apart_b;
  for (int i = 0; i < sa.ndim(); ++i) {
    apart_a.push_back(sa[i]), apart_a.push_back(1);
    apart_b.push_back(1), apart_b.push_back(sb[i]);
    out.push_back(sa[i] * sb[i]);
  }
  return reshape(reshape(a, apart_a) * reshape(b, apart_b), out);
}

Array cross(const ArrayLike& x, const ArrayLike& y) {
  auto [a, b] = promoted(x, y);
  for (const Array& v : {a, b})
    if (ndim(v) == 0 || type_of(v).shape[-1] != 3)
      fail("cross", x.at,
           fmt::format("needs vectors of 3 along the last axis, got {} and {}", type_of(a).str(), type_of(b).str()));
  PinLine pin(x.at);
  auto left = [](const Array& v) { return roll(v, -1, -1); };
  auto right = [](const Array& v) { return roll(v, 1, -1); };
  return left(a) * right(b) - right(a) * left(b);
}

Array tensordot(const ArrayLike& x, const ArrayLike& y, const std::vector<int>& a_axes,
                const std::vector<int>& b_axes) {
  auto [a, b] = promoted(x, y);
  if (a_axes.size() != b_axes.size())
    fail("tensordot", x.at, fmt::format("{} axes against {}", a_axes.size(), b_axes.size()));
  lax::DotDimensions d;
  for (int i : a_axes) d.lhs_contracting.push_back(checked_axis("tensordot", i, ndim(a), type_of(a), x.at));
  for (int i : b_axes) d.rhs_contracting.push_back(checked_axis("tensordot", i, ndim(b), type_of(b), x.at));
  return contract("tensordot", a, b, d, x.at);
}

Array tensordot(const ArrayLike& x, const ArrayLike& y, int axes) {
  auto [a, b] = promoted(x, y);
  if (axes < 0 || axes > ndim(a) || axes > ndim(b))
    fail("tensordot", x.at, fmt::format("{} axes of {} and {}", axes, type_of(a).str(), type_of(b).str()));
  return contract("tensordot", a, b, {axis_range(ndim(a) - axes, ndim(a)), axis_range(0, axes)}, x.at);
}

}  // namespace anew
