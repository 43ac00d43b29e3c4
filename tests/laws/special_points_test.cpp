// At special points (zeros of both signs, ones, integers, poles, ends of domains, the smallest and the largest numbers,
// infinities, nan) elementwise functions and their derivatives up to the third are what tests/data/goldens/
// special_points.json says: limits, and JAX's numbers where there is none. Every way to take a derivative is tried:
// forward and reverse in all orders, operands in all orders. Deliberate differences are the table "Special points" of
// docs/conformance.md, read from there.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "laws/cells.h"
#include "laws/functions.h"

namespace anew::test {
namespace {

using Json = nlohmann::json;

double number(const Json& j) { return j.is_string() ? std::stod(j.get<std::string>()) : j.get<double>(); }

const Json& recorded() {
  static const Json file = Json::parse(std::ifstream(ANEW_TESTS_DIR "/data/goldens/special_points.json"));
  return file;
}

// One derivative more, by operand k of an elementwise function.
using Function = std::function<Array(std::span<const Array>)>;
Function derivative(const Function& f, std::size_t k, bool forward) {
  return [=](std::span<const Array> x) {
    auto of_operand = [&](std::span<const Array> z) {
      Arrays in(x.begin(), x.end());
      in[k] = z[0];
      return Arrays{f(in)};
    };
    const Arrays ones{ones_like(x[k])}, at{x[k]};
    return forward ? flat::jvp(of_operand, at, ones).second[0]
                   : flat::linearize(of_operand, at).second.pullback(ones)[0];
  };
}

struct Way {
  std::string text;
  Function f;
};
// All ways to take a derivative of this order ("12": once by the first operand, twice by the second).
std::vector<Way> ways(const Function& f, const std::string& order) {
  if (order.find_first_not_of('0') == std::string::npos) return {{"value", f}};
  std::vector<Way> all;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (order[k] == '0') continue;
    std::string inner = order;
    --inner[k];
    for (const Way& w : ways(f, inner))
      for (bool forward : {true, false})
        all.push_back({fmt::format("{}, {} by {}", w.text, forward ? "fwd" : "rev", k), derivative(w.f, k, forward)});
  }
  return all;
}

// A row of docs/conformance.md: | `functions` | orders | points | what we give | why |, lists separated by commas
// outside of parentheses, * for all; a coordinate of a point is a number, *, or a bound: <0, >1e20.
struct Exception {
  std::string text;
  std::vector<std::string> functions, orders, points;
  int used = 0;
};
std::vector<std::string> parts(const std::string& text, char separator) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == separator && depth == 0) out.emplace_back();
    else if (c != '`' && (c != ' ' || !out.back().empty())) out.back() += c;
  }
  for (std::string& s : out) s.erase(s.find_last_not_of(' ') + 1);
  return out;
}
std::vector<Exception> exceptions() {
  std::ifstream file(ANEW_TESTS_DIR "/../docs/conformance.md");
  std::vector<Exception> out;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) inside = line == "## Special points";
    if (!inside || !line.starts_with("| `")) continue;
    const std::vector<std::string> cells = parts(line, '|');
    EXPECT_EQ(cells.size(), 7U) << line;
    out.push_back({line, parts(cells[1], ','), parts(cells[2], ','), parts(cells[3], ',')});
  }
  EXPECT_FALSE(out.empty());
  return out;
}
bool matches(const std::string& pattern, double v) {
  if (pattern == "*") return true;
  const double bound = std::stod(pattern[0] == '<' || pattern[0] == '>' ? pattern.substr(1) : pattern);
  if (pattern[0] == '<') return v < bound;
  if (pattern[0] == '>') return v > bound;
  return v == bound || (std::isnan(v) && std::isnan(bound));
}
bool matches(const Exception& e, const std::string& function, const std::string& order, const std::vector<double>& at) {
  auto has = [](const std::vector<std::string>& list, const std::string& s) {
    return std::find(list.begin(), list.end(), s) != list.end() || list[0] == "*";
  };
  if (!has(e.functions, function) || !has(e.orders, order)) return false;
  for (const std::string& p : e.points) {
    if (p == "*") return true;
    std::vector<std::string> coordinates = parts(p[0] == '(' ? p.substr(1, p.size() - 2) : p, ',');
    bool all = coordinates.size() == at.size();
    for (std::size_t k = 0; all && k < at.size(); ++k) all = matches(coordinates[k], at[k]);
    if (all) return true;
  }
  return false;
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= 1e-9 * std::abs(b) + 4e-15;
}

struct Count {
  int all = 0, limits = 0, as_jax = 0, excepted = 0;
};

void check(const ElementwiseFunction& e, const Json& part, std::vector<Exception>& excepted, Count& count) {
  std::vector<std::vector<double>> points;
  for (const Json& p : part["points"]) {
    points.emplace_back();
    for (const Json& v : p) points.back().push_back(number(v));
  }
  Arrays x;
  for (std::size_t k = 0; k < points[0].size(); ++k) {
    std::vector<double> column;
    for (const auto& p : points) column.push_back(p[k]);
    x.push_back(array(column));
  }
  const std::string& name = e.same_as.empty() ? e.name : e.same_as;
  ASSERT_TRUE(part["functions"].contains(name)) << name << " is not in special_points.json";
  for (const auto& [order, row] : part["functions"][name].items()) {
    const std::vector<Way> all = ways(e.f, order);
    std::vector<std::vector<double>> got;
    for (const Way& w : all) got.push_back(w.f(x).to_vector<double>());
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Json& limit = row["limit"][i];
      const bool none = limit == "none";
      const auto other = row["jax"].find(std::to_string(i));
      const bool jax_alone = none && other == row["jax"].end();  // JAX's orders disagree: ours must agree
      std::string wrong;
      for (std::size_t w = 0; w < all.size(); ++w) {
        const double v = got[w][i];
        const bool is_limit = !none && same(v, number(limit));
        const bool is_jax = (other != row["jax"].end() && same(v, number(*other))) || jax_alone;
        if (!is_limit && !is_jax) wrong += fmt::format("\n    {}: {}", all[w].text, v);
        else if (!same(v, got[0][i]))
          wrong += fmt::format("\n    {}: {}, but {}: {}", all[w].text, v, all[0].text, got[0][i]);
        count.all++, count.limits += is_limit, count.as_jax += !is_limit && is_jax;
      }
      if (wrong.empty()) continue;
      bool known = false;
      for (Exception& x : excepted)
        if (!known && matches(x, name, order, points[i])) known = true, ++x.used, ++count.excepted;
      if (known) continue;
      ADD_FAILURE() << name << ", derivative " << order << " at (" << fmt::format("{}", fmt::join(points[i], ", "))
                    << "): the limit is " << (none ? "none" : fmt::format("{}", number(limit))) << ", JAX gives "
                    << (other == row["jax"].end() ? (none ? "several" : "the same") : other->dump()) << wrong;
    }
  }
}

TEST(SpecialPoints, AreLimitsOrAsInJax) {
  std::vector<Exception> excepted = exceptions();
  Count count;
  for (const ElementwiseFunction& e : elementwise_functions())
    if (e.same_as.empty()) check(e, recorded()[e.arity == 1 ? "unary" : "binary"], excepted, count);
  for (const Exception& x : excepted) EXPECT_GT(x.used, 0) << "excuses nothing: " << x.text;
  std::cout << fmt::format(
      "[ points   ] {} derivatives: {} limits, {} as in JAX or only agreeing, {} points excepted\n", count.all,
      count.limits, count.as_jax, count.excepted);
}

}  // namespace
}  // namespace anew::test
