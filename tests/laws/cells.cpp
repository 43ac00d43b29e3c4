// Enumeration of cells and the comparison that most laws share.
#include "laws/cells.h"

#include <fmt/format.h>

namespace anew::test {

namespace {
ir::Type widened(ir::Type t) {
  if (t.dtype == f32) t.dtype = f64;
  return t;
}
}  // namespace

Arrays Cell::inputs(bool wide, std::uint64_t example) const {
  Random random(row->name, static_cast<std::uint64_t>(index) + 1000 * example);
  Arrays out;
  for (const ir::SampleInput& in : sample.inputs) {
    Array x = random.array(wide ? widened(in.type) : in.type, in.lo, in.hi);
    if (in.diagonal != 0) {
      const std::int64_t columns = x.shape()[-1];
      x = x + eye(x.shape()[-2], columns, 0, x.dtype()) * (arange(1, columns + 1, 1, x.dtype()) * in.diagonal);
    }
    out.push_back(x);
  }
  return out;
}

bool Cell::can_be_wide() const {
  Types types;
  for (const ir::SampleInput& in : sample.inputs) types.push_back(widened(in.type));
  try {
    row->infer({*sample.params, types, Location::current()});
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

bool Cell::mentions(std::string_view primitive) const {
  if (!row->higher_order()) return false;
  Types types;
  for (const ir::SampleInput& in : sample.inputs) types.push_back(in.type);
  return SmallProgram{function(), types}.mentions(primitive);
}
bool SmallProgram::mentions(std::string_view primitive) const {
  Arrays x;
  for (const ir::Type& t : types) x.push_back(zeros(t.shape, t.dtype));
  return flat::make_program(f, x).count(primitive) > 0;
}
bool SmallProgram::within_bytes() const {
  Arrays x;
  for (const ir::Type& t : types) x.push_back(zeros(t.shape, t.dtype));
  return flat::make_program(f, x).str().find("memory=") != std::string::npos;
}

std::string Cell::text() const {
  std::string types;
  for (const ir::SampleInput& in : sample.inputs) types += " " + in.type.str();
  return fmt::format("{}[{}]{} (sample {})", row->name, ir::str(*sample.params), types, index);
}

std::vector<const LawInfo*>& laws() {
  static std::vector<const LawInfo*> all;
  return all;
}
LawInfo::LawInfo(std::string n, std::function<std::string(const Cell&)> s) : name(std::move(n)), skip(std::move(s)) {
  laws().push_back(this);
}

std::string skip_narrow(const Cell& c) {
  return c.can_be_wide() ? "" : "its parameters fix f32; the samples in f64 are cells of their own";
}
std::string skip_no_forward(const Cell& c) {
  return c.has_forward() ? "" : "forward mode of a custom_vjp is not defined";
}
std::string skip_not_differentiable(const Cell& c) {
  if (c.row->jvp.target<NoDerivative>()) return "it has no derivative";
  Types in;
  for (const ir::SampleInput& i : c.sample.inputs) in.push_back(i.type);
  Types out = c.row->infer({*c.sample.params, in, Location::current()});
  auto floats = [](const Types& types) {
    return std::any_of(types.begin(), types.end(), [](const ir::Type& t) { return is_float(t.dtype); });
  };
  if (!floats(in)) return "no operand is a floating-point number";
  return floats(out) ? "" : "no result is a floating-point number";
}

std::vector<Cell> cells(const ir::Primitive& row) {
  std::vector<Cell> out;
  auto samples = row.samples ? row.samples() : row.run ? nested_samples(row) : std::vector<ir::Sample>{};
  for (ir::Sample& s : samples) out.push_back({&row, std::move(s), static_cast<int>(out.size())});
  return out;
}

Arrays derivatives(const FlatFunction& f, const Arrays& x, std::uint64_t seed, bool forward) {
  Random random(seed);
  Arrays t = random_like(random, x), y = f(x), out = y;
  auto append = [&](const Arrays& more) { out.insert(out.end(), more.begin(), more.end()); };
  Arrays ct = random_like(random, y);
  if (forward) append(flat::jvp(f, x, t).second);
  append(flat::linearize(f, x).second.pullback(ct));
  auto gradient = [&](std::span<const Array> in) { return flat::linearize(f, in).second.pullback(ct); };
  append(flat::jvp(gradient, x, t).second);
  return out;
}

Arrays reverse_over_reverse(const FlatFunction& f, const Arrays& x, std::uint64_t seed) {
  Random random(seed);
  Arrays t = random_like(random, x), ct = random_like(random, f(x));
  return flat::linearize([&](std::span<const Array> in) { return flat::linearize(f, in).second.pullback(ct); }, x)
      .second.pullback(t);
}

void expect_same(const Arrays& got, const Arrays& want, std::string_view what, Zeros zeros) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].type().str(), want[i].type().str()) << what << ", result " << i;
    if (same_bits(got[i], want[i])) continue;
    auto a = numbers(got[i]), b = numbers(want[i]);
    for (std::size_t k = 0; k < a.size(); ++k)
      if (std::memcmp(&a[k], &b[k], sizeof a[k]) && !(a[k] != a[k] && b[k] != b[k]) &&
          !(zeros == Zeros::alike && a[k] == 0 && b[k] == 0)) {
        ADD_FAILURE() << what << ": result " << i << " of " << got.size() << " differs, first at element " << k << ": "
                      << a[k] << " and " << b[k];
        break;
      }
  }
}

}  // namespace anew::test
