// Random programs with checkpoints, scans, branches and names against what JAX made of them (tools/residual_programs):
// the same results and gradients, and never more bytes kept. ANEW_RESIDUAL_PROGRAMS names another file to check.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "fuzz/program.h"
#include "runtime/pool.h"
#include "support/check_grads.h"
#include "support/support.h"

namespace anew::fuzz {
namespace {

struct Recorded {
  std::string text;
  std::size_t kept = 0;
  std::vector<double> y, g;  // weighted sums
};

std::vector<Recorded> recorded() {
  const char* other = std::getenv("ANEW_RESIDUAL_PROGRAMS");
  std::ifstream in(other ? other : "tests/data/goldens/residuals.txt");
  std::vector<Recorded> out;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "program") {
      out.push_back({line.substr(8), 0, {}, {}});
      continue;
    }
    if (word != "kept" || out.empty()) throw std::runtime_error("what is this: " + line);
    words >> out.back().kept >> word;
    std::vector<double>* to = &out.back().y;
    while (words >> word) {
      if (word == "g") to = &out.back().g;
      else to->push_back(std::stod(word));
    }
  }
  return out;
}

std::vector<double> formula(std::int64_t n, double start) {
  std::vector<double> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::sin(start + 1.7 * static_cast<double>(i));
  return v;
}
// The sum that is recorded, and the size of what was added.
std::pair<double, double> weighted(const Array& x, double start) {
  std::vector<double> v = test::numbers(x), w = formula(x.size(), start);
  double sum = 0, size = 0;
  for (std::size_t i = 0; i < v.size(); ++i) sum += v[i] * w[i], size += std::abs(v[i] * w[i]);
  return {sum, size};
}
std::string differ(const Arrays& got, const std::vector<double>& want, std::string_view what) {
  if (got.size() != want.size()) return fmt::format("{} {}, not {}", got.size(), what, want.size());
  for (std::size_t j = 0; j < got.size(); ++j) {
    auto [sum, size] = weighted(got[j], 0.5 + static_cast<double>(j));
    double allowed = got[j].dtype() == f64 ? 1e-7 : 1e-3;
    if (!(std::abs(sum - want[j]) <= allowed * (1e-2 + size)))
      return fmt::format("{} {}: {} instead of {}", what, j, sum, want[j]);
  }
  return "";
}

TEST(ResidualPrograms, NeverMoreThanJax) {
  set_threads(1);
  std::vector<Recorded> all = recorded();
  ASSERT_GE(all.size(), std::getenv("ANEW_RESIDUAL_PROGRAMS") ? 1u : 500u);
  std::size_t ours = 0, theirs = 0;
  int more = 0, less = 0, other = 0;
  for (const Recorded& r : all) {
    Block b = parse(r.text);
    FlatFunction f = function(b);
    Arrays x, ct;
    for (std::size_t i = 0; i < b.inputs.size(); ++i) {
      const ShapeDtype& t = b.inputs[i].type;
      x.push_back(array(formula(t.shape.size(), 1 + 3 * static_cast<double>(i)), t.shape, t.dtype));
    }
    auto [y, linear] = flat::linearize(f, x);
    for (std::size_t j = 0; j < y.size(); ++j)
      ct.push_back(array(formula(y[j].size(), 2 + static_cast<double>(j)), y[j].shape(), y[j].dtype()));
    std::string wrong = differ(y, r.y, "result") + differ(linear.pullback(ct), r.g, "gradient");
    if (!wrong.empty()) ++other, ADD_FAILURE() << wrong << "\n" << print(b);
    std::size_t kept = 0;
    std::string list;
    for (const Residual& k : flat::saved_residuals(f, x))
      kept += k.bytes, list += "  " + k.text + "; " + k.reason + "\n";
    ours += kept;
    theirs += r.kept;
    less += kept < r.kept;
    if (kept > r.kept)
      ++more, ADD_FAILURE() << "keeps " << kept << " bytes, JAX " << r.kept << "\n" << list << print(b);
  }
  std::cout << fmt::format("[ programs ] {}: {} bytes kept, JAX {}; less in {}, more in {}, other results in {}\n",
                           all.size(), ours, theirs, less, more, other);
}

}  // namespace
}  // namespace anew::fuzz
