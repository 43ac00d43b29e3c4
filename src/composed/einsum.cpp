// einsum: operands are contracted pair by pair, each pair by one dot_general, in the order of the fewest products (of
// equal ones, from the left). A label lives as long as the output or another operand has it. Axes of "..." get labels
// of their own, counted from the right.
#include <anew/ops.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>

#include "ops/axes.h"
#include "ops/promote.h"

namespace anew {
namespace {

using Labels = std::vector<int>;                // characters, or `dots` + position from the right
constexpr int dots = 1000, ellipsis_mark = -1;  // the mark stands for "..." until its length is known

bool has(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }
int place(const Labels& labels, int label) {
  return static_cast<int>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

struct Term {
  Array x;
  Labels labels;
};

class Einsum {
 public:
  Einsum(const Subscripts& s, std::vector<Array> xs) : text_(s.text), at_(s.at) { parse(std::move(xs)); }

  Array run() {
    PinLine pin(at_);
    for (Term& t : terms_) drop_ones(t);
    for (std::size_t i = 0; i < terms_.size(); ++i) simplify(terms_[i], i);
    std::vector<Labels> labels;
    for (const Term& t : terms_) labels.push_back(t.labels);
    for (auto [i, j] : best_order(labels).pairs) {
      Term b = std::move(terms_[j]);
      terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(j));
      Term a = std::move(terms_[i]);
      terms_[i].labels.clear();
      terms_[i] = product(a, b);
    }
    const Term& all = terms_[0];
    std::vector<int> order;
    for (int label : output_) order.push_back(place(all.labels, label));
    return transpose(all.x, order);
  }

 private:
  struct Order {
    double products = 0;
    std::vector<std::pair<std::size_t, std::size_t>> pairs;  // the first is replaced by the result, the second goes
  };
  // All orders of a few operands are tried; of many, always the cheapest pair first.
  Order best_order(const std::vector<Labels>& terms) const {
    constexpr std::size_t few = 5;
    Order best;
    if (terms.size() < 2) return best;
    best.products = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < terms.size(); ++i)
      for (std::size_t j = i + 1; j < terms.size(); ++j) {
        Order order{products(terms[i], terms[j]), {{i, j}}};
        if (order.products >= best.products) continue;
        if (terms.size() <= few) append(order, best_order(paired(terms, i, j)));
        if (order.products < best.products) best = std::move(order);
      }
    if (terms.size() > few) append(best, best_order(paired(terms, best.pairs[0].first, best.pairs[0].second)));
    return best;
  }
  static void append(Order& order, const Order& after) {
    order.products += after.products;
    order.pairs.insert(order.pairs.end(), after.pairs.begin(), after.pairs.end());
  }
  double products(const Labels& a, const Labels& b) const {
    double n = 1;
    for (int label : a) n *= static_cast<double>(sizes_.at(label));
    for (int label : b)
      if (!has(a, label)) n *= static_cast<double>(sizes_.at(label));
    return n;
  }
  std::vector<Labels> paired(std::vector<Labels> terms, std::size_t i, std::size_t j) const {
    Labels all = joined(terms[i], terms[j]);
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(j));
    terms[i].clear();
    Labels kept;
    for (int label : all)
      if (needed(label, terms) && !has(kept, label)) kept.push_back(label);
    terms[i] = kept;
    return terms;
  }
  bool needed(int label, const std::vector<Labels>& others) const {
    return has(output_, label) ||
           std::any_of(others.begin(), others.end(), [&](const Labels& l) { return has(l, label); });
  }

  [[noreturn]] void fail(const std::string& what) const {
    anew::fail("einsum", at_, fmt::format("\"{}\": {}", text_, what));
  }

  Labels read(std::string_view part) const {
    Labels out;
    for (std::size_t i = 0; i < part.size(); ++i) {
      char c = part[i];
      if (c == ' ') continue;
      if (part.substr(i, 3) == "...") {
        if (has(out, ellipsis_mark)) fail("two \"...\" in one operand");
        out.push_back(ellipsis_mark);
        i += 2;
      } else if (std::isalpha(static_cast<unsigned char>(c))) {
        out.push_back(c);
      } else {
        fail(fmt::format("unexpected '{}'", c));
      }
    }
    return out;
  }

  void parse(std::vector<Array> xs) {
    if (xs.empty()) fail("no operands");
    for (const Array& x : xs) check_operand(x, line_or(at_));
    std::size_t arrow = text_.find("->");
    std::string_view inputs = text_.substr(0, arrow);
    std::vector<Labels> parts;
    for (std::size_t begin = 0;;) {
      std::size_t end = inputs.find(',', begin);
      parts.push_back(read(inputs.substr(begin, end - begin)));
      if (end == std::string_view::npos) break;
      begin = end + 1;
    }
    if (parts.size() != xs.size()) fail(fmt::format("{} operands are described, {} given", parts.size(), xs.size()));
    DType d = common_dtype(xs);
    for (std::size_t i = 0; i < xs.size(); ++i) add(coerce(xs[i], d, at_), parts[i], i);
    if (arrow == std::string_view::npos) infer_output();
    else read_output(text_.substr(arrow + 2));
  }

  // Replaces "..." by labels, and checks sizes.
  void add(const Array& x, const Labels& given, std::size_t number) {
    const Type type = type_of(x);
    int named = static_cast<int>(given.size()) - has(given, ellipsis_mark), rest = type.shape.ndim() - named;
    if (rest < 0 || (rest > 0 && !has(given, ellipsis_mark)))
      fail(fmt::format("operand {} has {} labels for {}", number, named, type.str()));
    Term t{x, {}};
    for (int label : given) {
      if (label != ellipsis_mark) t.labels.push_back(label);
      else
        for (int k = rest; k-- > 0;) t.labels.push_back(dots + k);
    }
    if (has(given, ellipsis_mark)) broadcast_ = std::max(broadcast_, rest);
    for (int i = 0; i < type.shape.ndim(); ++i) {
      int label = t.labels[static_cast<std::size_t>(i)];
      auto [it, fresh] = sizes_.emplace(label, type.shape[i]);
      if (!fresh && it->second != type.shape[i] && it->second != 1 && type.shape[i] != 1)
        fail(fmt::format("label '{}' has sizes {} and {}", name(label), it->second, type.shape[i]));
      if (it->second == 1) it->second = type.shape[i];
    }
    terms_.push_back(std::move(t));
  }

  std::string name(int label) const { return label >= dots ? "..." : std::string(1, static_cast<char>(label)); }

  void infer_output() {
    for (int k = broadcast_; k-- > 0;) output_.push_back(dots + k);
    std::map<int, int> seen;
    for (const Term& t : terms_)
      for (int label : t.labels) ++seen[label];
    for (auto [label, times] : seen)
      if (label < dots && times == 1) output_.push_back(label);
  }

  void read_output(std::string_view part) {
    for (int label : read(part)) {
      if (label == ellipsis_mark) {
        for (int k = broadcast_; k-- > 0;) output_.push_back(dots + k);
        continue;
      }
      if (has(output_, label)) fail(fmt::format("label '{}' is twice in the output", name(label)));
      if (!sizes_.count(label)) fail(fmt::format("label '{}' of the output is in no operand", name(label)));
      output_.push_back(label);
    }
  }

  bool needed_after(int label, std::size_t number) const {
    if (has(output_, label)) return true;
    for (std::size_t i = number + 1; i < terms_.size(); ++i)
      if (has(terms_[i].labels, label)) return true;
    return false;
  }

  // An axis of size 1 that others have larger is broadcast: its operand does not depend on the label.
  void drop_ones(Term& t) {
    std::vector<int> ones;
    for (std::size_t i = 0; i < t.labels.size(); ++i)
      if (type_of(t.x).shape[static_cast<int>(i)] == 1 && sizes_.at(t.labels[i]) != 1)
        ones.push_back(static_cast<int>(i));
    if (ones.empty()) return;
    t.x = squeeze(t.x, ones);
    for (std::size_t k = ones.size(); k-- > 0;) t.labels.erase(t.labels.begin() + ones[k]);
  }

  // Takes diagonals, and sums over labels that nobody else has.
  void simplify(Term& t, std::size_t number) {
    for (std::size_t i = 0; i < t.labels.size(); ++i) take_diagonal(t, i);
    std::vector<int> alone;
    for (std::size_t i = 0; i < t.labels.size(); ++i)
      if (!has(earlier_, t.labels[i]) && !needed_after(t.labels[i], number)) alone.push_back(static_cast<int>(i));
    earlier_.insert(earlier_.end(), t.labels.begin(), t.labels.end());
    if (alone.empty()) return;
    t.x = sum(t.x, alone);
    for (std::size_t k = alone.size(); k-- > 0;) t.labels.erase(t.labels.begin() + alone[k]);
  }

  // Later axes with the label of axis i are joined to it: elements off the diagonal are zeroed and summed away.
  static void take_diagonal(Term& t, std::size_t i) {
    for (std::size_t j = t.labels.size(); j-- > i + 1;) {
      if (t.labels[j] != t.labels[i]) continue;
      const Shape shape = type_of(t.x).shape;
      Array on = lax::iota(shape, static_cast<int>(i)) == lax::iota(shape, static_cast<int>(j));
      t.x = sum(where(on, t.x, zero_like(t.x)), static_cast<int>(j));
      t.labels.erase(t.labels.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }

  // Of two that are no longer among the terms.
  Term product(const Term& a, const Term& b) const {
    std::vector<Labels> others;
    for (const Term& t : terms_) others.push_back(t.labels);
    lax::DotDimensions d;
    Labels batch, free_a, free_b;
    for (int label : a.labels) {
      if (!has(b.labels, label)) {
        free_a.push_back(label);
      } else if (needed(label, others)) {
        batch.push_back(label);
        d.lhs_batch.push_back(place(a.labels, label));
        d.rhs_batch.push_back(place(b.labels, label));
      } else {
        d.lhs_contracting.push_back(place(a.labels, label));
        d.rhs_contracting.push_back(place(b.labels, label));
      }
    }
    for (int label : b.labels)
      if (!has(a.labels, label)) free_b.push_back(label);
    if (d.lhs_contracting.empty() && free_b.empty() && (b.labels.empty() || free_a.empty())) {  // elementwise
      std::vector<int> order;
      if (!b.labels.empty())
        for (int label : a.labels) order.push_back(place(b.labels, label));
      return {a.x * transpose(b.x, order), a.labels};
    }
    if (a.labels.empty()) return {a.x * b.x, b.labels};
    return {lax::dot_general(a.x, b.x, d), joined(joined(batch, free_a), free_b)};
  }

  std::string_view text_;
  Location at_;
  std::vector<Term> terms_;
  std::map<int, std::int64_t> sizes_;
  Labels output_, earlier_;
  int broadcast_ = 0;
};

}  // namespace

Array einsum_of(const Subscripts& subscripts, std::vector<Array> xs) { return Einsum(subscripts, std::move(xs)).run(); }

}  // namespace anew
