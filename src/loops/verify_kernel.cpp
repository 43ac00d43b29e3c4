// The verifier: what every kernel must satisfy before it is run or compiled. It is written from kernel.h alone, knows
// nothing of the interpreter, and names the offending node, access or store in its message.
#include <fmt/format.h>

#include <algorithm>

#include "base/dtype.h"
#include "loops/kernel.h"

namespace anew::loops {
namespace {

// What a message is about. Its text is made where it is needed: kernels are sound.
struct Subject {
  const char* word;
  std::size_t number;
  std::string str() const { return fmt::format("{} {}", word, number); }
};

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : k_(kernel) {}

  void check() {
    if (k_.extents.size() > Shape::max_ndim) fail(fmt::format("{} loop variables", k_.extents.size()));
    if (k_.reduced.size() != k_.extents.size())
      fail(fmt::format("{} loop variables, {} marks of reduction", k_.extents.size(), k_.reduced.size()));
    for (std::size_t v = 0; v < k_.extents.size(); ++v)
      if (k_.extents[v] < 0) fail(fmt::format("i{} has extent {}", v, k_.extents[v]));
    for (std::size_t a = 0; a < k_.accesses.size(); ++a) check(k_.accesses[a], {"access", a});
    for (std::size_t n = 0; n < k_.nodes.size(); ++n) check(n);
    check_stores();
  }

 private:
  [[noreturn]] void fail(const std::string& text) const {
    throw InternalError(fmt::format("[kernel] {}\n{}", text, k_.str()));
  }

  bool empty() const { return std::find(k_.extents.begin(), k_.extents.end(), 0) != k_.extents.end(); }

  // First and last value, where the nest is not empty.
  std::pair<__int128, __int128> range(const Affine& f) const {
    __int128 low = f.constant, high = f.constant;
    for (std::size_t v = 0; v < k_.extents.size(); ++v) {
      const __int128 reach = static_cast<__int128>(f.coefficients[v]) * (k_.extents[v] - 1);
      (reach < 0 ? low : high) += reach;
    }
    return {low, high};
  }

  void check(const Access& access, Subject what) const {
    if (access.operand < 0 || static_cast<std::size_t>(access.operand) >= k_.operands.size())
      fail(fmt::format("{} names operand #{} of {}", what.str(), access.operand, k_.operands.size()));
    const Shape& shape = k_.operands[access.operand].shape;
    if (static_cast<int>(access.index.size()) != shape.ndim())
      fail(fmt::format("{} has {} indices, operand #{} has shape {}", what.str(), access.index.size(), access.operand,
                       shape.str()));
    for (int d = 0; d < shape.ndim(); ++d) {
      const Affine& f = access.index[d];
      if (f.coefficients.size() != k_.extents.size())
        fail(fmt::format("{} has {} coefficients in dimension {}, the nest has {} variables", what.str(),
                         f.coefficients.size(), d, k_.extents.size()));
      if (empty()) continue;
      const auto [low, high] = range(f);
      if (low < 0 || high >= shape[d])
        fail(fmt::format("{} leaves operand #{} of shape {}: dimension {} reaches [{}, {}]", what.str(), access.operand,
                         shape.str(), d, static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)));
    }
  }

  DType type(std::int32_t n) const { return k_.nodes[n].dtype; }

  // Of an operation whose operands have the dtype of its result: how many they are, and whether it takes this dtype.
  struct Regular {
    int operands = 0;
    bool takes = false;
    const char* otherwise = "";
  };
  static Regular regular(Op op, DType d) {
    switch (op) {
      case Op::add:
      case Op::sub:
      case Op::mul:
      case Op::div:
      case Op::rem: return {2, d != bool_, "no arithmetic on bool"};
      case Op::neg:
      case Op::abs: return {1, d != bool_, "no arithmetic on bool"};
      case Op::scale: return {2, is_float(d), "floats only"};
      case Op::fma: return {3, is_float(d), "floats only"};
      case Op::sqrt:
      case Op::floor:
      case Op::ceil:
      case Op::round_even:
      case Op::trunc: return {1, is_float(d), "floats only"};
      case Op::and_:
      case Op::or_:
      case Op::xor_: return {2, !is_float(d), "bool or integers only"};
      case Op::not_: return {1, !is_float(d), "bool or integers only"};
      case Op::shl:
      case Op::shr_arith:
      case Op::shr_logical: return {2, is_integer(d), "integers only"};
      case Op::popcount: return {1, is_integer(d), "integers only"};
      default: throw InternalError("[loops] an operation that verification does not know");
    }
  }

  void check(std::size_t at) const {
    const Node& n = k_.nodes[at];
    auto require = [&](bool condition, const char* text) {
      if (!condition) fail(fmt::format("%{} ({} {}): {}", at, name_of(n.op), name_of(n.dtype), text));
    };
    const int given = (n.a >= 0) + (n.b >= 0) + (n.c >= 0);
    auto operands = [&](int count) {
      require(given == count && (count < 1 || n.a >= 0) && (count < 2 || n.b >= 0), "wrong number of operands");
      for (std::int32_t x : {n.a, n.b, n.c})
        require(x < static_cast<std::int64_t>(at), "reads a node that does not precede it");
    };
    auto same = [&](int count, bool takes, const char* otherwise) {
      operands(count);
      for (std::int32_t x : {n.a, n.b, n.c}) require(x < 0 || type(x) == n.dtype, "operands of another type");
      require(takes, otherwise);
    };
    switch (n.op) {
      case Op::load:
        operands(0);
        require(n.imm < k_.accesses.size(), "no such access");
        require(k_.operands[k_.accesses[n.imm].operand].dtype == n.dtype, "operand of another type");
        break;
      case Op::index:
        operands(0);
        require(n.imm < k_.extents.size(), "no such loop variable");
        require(is_integer(n.dtype), "an index is an integer");
        require(!is_stored(n.dtype), "an index has 4 or 8 bytes");
        break;
      case Op::constant: operands(0); break;
      case Op::eq:
      case Op::ne:
      case Op::lt:
      case Op::le:
      case Op::gt:
      case Op::ge:
        operands(2);
        require(n.dtype == bool_, "a comparison is bool");
        require(type(n.a) == type(n.b), "operands of different types");
        break;
      case Op::select:
        operands(3);
        require(type(n.a) == bool_, "the condition is not bool");
        require(type(n.b) == n.dtype && type(n.c) == n.dtype, "operands of another type");
        break;
      case Op::bitcast:
        operands(1);
        require(size_of(type(n.a)) == size_of(n.dtype) && size_of(n.dtype) >= 4,
                "types of 4 or 8 bytes, equally large");
        break;
      case Op::convert: operands(1); break;
      case Op::call:
        require(n.imm < math_count, "no such function");
        same(arity(static_cast<Math>(n.imm)), is_float(n.dtype), "floats only");
        break;
      default: {
        const Regular r = regular(n.op, n.dtype);
        same(r.operands, r.takes, r.otherwise);
      }
    }
  }

  void check_stores() const {
    const bool reduces = k_.combine != Combine::none;
    const bool finds_index = finds_position(k_.combine);
    if (k_.stores.empty()) fail("no store");
    if (reduces && k_.stores.size() != 1) fail(fmt::format("a reduction has one store, not {}", k_.stores.size()));
    std::int64_t joined = 1;
    for (std::size_t v = 0; v < k_.extents.size(); ++v) {
      if (!k_.reduced[v]) continue;
      if (!reduces) fail(fmt::format("i{} is reduced, but nothing says how", v));
      joined *= k_.extents[v];
    }
    if (finds_index && joined == 0) fail(fmt::format("{} of no elements", name_of(k_.combine)));
    for (std::size_t s = 0; s < k_.stores.size(); ++s) {
      const Store& store = k_.stores[s];
      const Subject what{"store", s};
      if (store.node < 0 || static_cast<std::size_t>(store.node) >= k_.nodes.size())
        fail(fmt::format("{} of node %{}", what.str(), store.node));
      check(store.to, what);
      const std::size_t operand = store.to.operand;
      for (std::size_t t = 0; t < s; ++t)
        if (!apart(k_.stores[t].to, store.to))
          fail(fmt::format("{} and store {} may write one element of operand #{}", what.str(), t, operand));
      check_injective(store.to, what);
      const DType from = type(store.node), to = k_.operands[operand].dtype;
      const bool narrows = is_float(to) && is_stored(to) && from == computed_type(to);
      if (finds_index ? !is_integer(to) : from != to && !narrows)
        fail(fmt::format("{} puts {} into operand #{} of {}", what.str(), name_of(from), operand, name_of(to)));
      if (reduces) check_combine(from);
    }
  }

  // Other operands, or other places of one along a dimension.
  bool apart(const Access& a, const Access& b) const {
    if (a.operand != b.operand) return true;
    for (std::size_t d = 0; d < a.index.size(); ++d) {
      const auto [low_a, high_a] = range(a.index[d]);
      const auto [low_b, high_b] = range(b.index[d]);
      if (high_a < low_b || high_b < low_a) return true;
    }
    return false;
  }

  void check_combine(DType dtype) const {
    const Joins joins = line_of(k_.combine).joins;
    if (joins == Joins::bits ? is_float(dtype) : dtype == bool_ && joins == Joins::numbers)
      fail(fmt::format("{} of {}", name_of(k_.combine), name_of(dtype)));
  }

  // Two iterations must not write one element. Enough for the maps that exist: a dimension moved by several variables
  // is a number with them as digits, and every variable of the result that runs moves something.
  void check_injective(const Access& access, Subject what) const {
    std::vector<bool> moves(k_.extents.size());
    for (std::size_t d = 0; d < access.index.size(); ++d) {
      std::vector<std::pair<std::int64_t, std::size_t>> digits;  // weight, variable
      for (std::size_t v = 0; v < k_.extents.size(); ++v) {
        const std::int64_t c = access.index[d].coefficients[v];
        if (c == 0) continue;
        if (k_.reduced[v]) fail(fmt::format("{} depends on i{}, which is reduced", what.str(), v));
        moves[v] = true;
        if (k_.extents[v] > 1) digits.emplace_back(c < 0 ? -c : c, v);
      }
      std::sort(digits.begin(), digits.end());
      std::int64_t reach = 0;
      for (auto [weight, v] : digits) {
        if (weight <= reach && !empty())
          fail(fmt::format("{} may write an element of dimension {} twice, by i{}", what.str(), d, v));
        reach += weight * (k_.extents[v] - 1);
      }
    }
    for (std::size_t v = 0; v < k_.extents.size(); ++v)
      if (!moves[v] && !k_.reduced[v] && k_.extents[v] > 1 && !empty())
        fail(fmt::format("{} does not depend on i{}, so writes an element twice", what.str(), v));
  }

  const Kernel& k_;
};

}  // namespace

void verify(const Kernel& kernel) { Verifier(kernel).check(); }

}  // namespace anew::loops
