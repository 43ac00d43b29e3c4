// What is noted of values that debug_nans and debug_infs look for.
#include "trace/watch.h"

#include <anew/debugging.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>

#include "base/dtype.h"
#include "base/per_thread.h"

namespace anew::watch {
namespace {

enum class Sought { nan, inf };

bool seeks(Sought s) { return s == Sought::nan ? debug_nans_enabled() : debug_infs_enabled(); }

// Who made such a value.
struct Maker {
  std::string text, hint;
  Location at;
};
// Memory with such values. It is held: its address would be that of other values later.
struct Note {
  BufferRef memory;
  Sought sought;
  std::shared_ptr<const Maker> maker;
  std::uint64_t number;
};
struct Notes {
  std::vector<Note> all;
  std::uint64_t last = 0;  // number
  int evaluations = 0;     // that run, one inside the other
};
Notes& notes() { return PerThread<Notes>::get(); }

// Of a value of a transformation: what it wraps.
const Value& behind(const Array& x) {
  const Value* v = x.value();
  while (v->trace && v->first.value()) v = v->first.value();
  return *v;
}

// The elements of a value, in row-major order.
class Elements {
 public:
  explicit Elements(const Value& v) : dense_(contiguous(Array(std::make_shared<const Value>(v)))), type_(v.type) {}
  double operator[](std::int64_t i) const {
    return visit(type_.dtype, [&]<class T>(std::type_identity<T>) {
      const std::byte* data = dense_.value()->data() + static_cast<std::size_t>(i) * sizeof(T);
      return convert_number<double>(read_element<T>(data));
    });
  }
  // The first one from `i` on that is sought.
  std::optional<std::int64_t> find(Sought sought, std::int64_t i = 0) const {
    if (!is_float(type_.dtype)) return {};
    return visit(type_.dtype, [&]<class T>(std::type_identity<T>) -> std::optional<std::int64_t> {
      const std::byte* data = dense_.value()->data();
      for (const std::int64_t n = type_.shape.size(); i < n; ++i) {
        const auto x = convert_number<double>(read_element<T>(data + static_cast<std::size_t>(i) * sizeof(T)));
        if (is(x, sought)) return i;
      }
      return {};
    });
  }
  bool has(std::int64_t i, Sought sought) const {
    return is_float(type_.dtype) && is((*this)[type_.shape.ndim() == 0 ? 0 : i], sought);
  }

 private:
  static bool is(double x, Sought sought) { return sought == Sought::nan ? std::isnan(x) : std::isinf(x); }
  Array dense_;
  Type type_;
};

// An element of y that is sought, where no operand has one: elsewhere in the operands, or in them at all.
std::optional<std::int64_t> fresh(const Request& r, const Value& y, Sought sought) {
  const Elements out(y);
  std::optional<std::int64_t> at = out.find(sought);
  if (!at) return at;
  std::vector<Elements> in;
  for (const Array& x : r.inputs) in.emplace_back(*x.value());
  if (!r.primitive.facts.elementwise) {
    for (const Elements& x : in)
      if (x.find(sought)) return {};
    return at;
  }
  auto given = [&](std::int64_t i) {
    return std::any_of(in.begin(), in.end(), [&](const Elements& x) { return x.has(i, sought); });
  };
  while (at && given(*at)) at = out.find(sought, *at + 1);
  return at;
}

// Whether what is sought in an operand is in the result too: not where another operand was taken (where). Rows of a
// stack share its memory and its note, but may have none of it.
bool goes_on(const Request& r, const Value& x, const Value& y, Sought sought) {
  const Elements in(x), out(y);
  if (!r.primitive.facts.elementwise) return in.find(sought).has_value();
  for (std::optional<std::int64_t> at = out.find(sought); at; at = out.find(sought, *at + 1))
    if (in.has(*at, sought)) return true;
  return false;
}

const Note* note_of(const Value& v, Sought sought) {
  for (const Note& n : notes().all)
    if (v.buffer && n.memory == v.buffer && n.sought == sought) return &n;
  return nullptr;
}

void add(const BufferRef& memory, Sought sought, std::shared_ptr<const Maker> maker) {
  constexpr std::size_t many = 256;
  Notes& n = notes();
  if (n.all.size() >= many) std::erase_if(n.all, [](const Note& note) { return note.memory->unique(); });
  n.all.push_back({memory, sought, std::move(maker), ++n.last});
}

[[noreturn]] void fail(const Maker& m) { throw Error(m.text, m.at, m.hint); }

std::string index_of(std::int64_t i, const Shape& shape) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(shape.ndim()));
  for (std::size_t d = at.size(); d-- > 0; i /= shape[static_cast<int>(d)]) at[d] = i % shape[static_cast<int>(d)];
  return fmt::format("[{}]", fmt::join(at, ","));
}

std::shared_ptr<const Maker> maker_of(const Request& r, const Value& y, std::int64_t i, Sought sought) {
  auto m = std::make_shared<Maker>();
  const bool nan = sought == Sought::nan, scalar = y.type.shape.ndim() == 0;
  m->at = r.at;
  m->text = fmt::format("[{}] made {}", r.primitive.name, nan ? "a NaN" : "an infinity");
  if (const Primitive* rule = current_rule()) m->text += fmt::format(", for the derivative of {}", rule->name);
  m->text += fmt::format(", of operands without one: its result {}", y.type.str());
  if (!scalar) m->text += fmt::format(" has it at {}", index_of(i, y.type.shape));
  if (r.primitive.facts.elementwise) {
    std::vector<std::string> values;
    for (const Array& x : r.inputs) {
      const Value& v = *x.value();
      const double element = Elements(v)[v.type.shape.ndim() == 0 ? 0 : i];
      const bool narrow = is_float(v.type.dtype) && v.type.dtype != f64;
      values.push_back(narrow ? fmt::format("{}", static_cast<float>(element)) : fmt::format("{}", element));
    }
    m->text += fmt::format(", where the operand{} {}", values.size() > 1 ? "s are" : " is", fmt::join(values, " and "));
  }
  std::string scopes = ir::scopes(current_mark().region);
  if (scopes.empty()) scopes = named_scopes();
  if (!scopes.empty()) m->text += fmt::format("; in {}", scopes);
  if (const std::string turns = Turn::str(); !turns.empty()) m->text += fmt::format("; in {}", turns);
  m->hint = nan ? "debug_nans is on; where a NaN is meant, turn it off: DebugNans scope(false)"
                : "debug_infs is on; where an infinity is meant, turn it off: DebugInfs scope(false)";
  return m;
}

// Forgets what was noted since.
void forget(std::uint64_t since) {
  std::erase_if(notes().all, [&](const Note& n) { return n.number >= since; });
}

}  // namespace

bool on() { return debug_nans_enabled() || debug_infs_enabled(); }
bool evaluating() { return on() && notes().evaluations > 0; }

bool any(std::span<const Array> x) {
  for (Sought s : {Sought::nan, Sought::inf})
    if (seeks(s) &&
        std::any_of(x.begin(), x.end(), [&](const Array& a) { return Elements(behind(a)).find(s).has_value(); }))
      return true;
  return false;
}

void made(const Request& r, std::span<const Array> out) {
  // What only shows an operand, or runs other rows, makes nothing; what has no operands is as its params say.
  if (r.inputs.empty() || r.primitive.view || r.primitive.run) return;
  for (Sought sought : {Sought::nan, Sought::inf}) {
    if (!seeks(sought)) continue;
    for (const Array& y : out) {
      const Value& v = *y.value();
      if (!is_float(v.type.dtype) || !Elements(v).find(sought)) continue;
      std::shared_ptr<const Maker> maker;
      for (const Array& x : r.inputs)
        if (const Note* n = note_of(*x.value(), sought); !maker && n && goes_on(r, *x.value(), v, sought))
          maker = n->maker;
      const std::optional<std::int64_t> at = maker ? std::nullopt : fresh(r, v, sought);
      if (at) maker = maker_of(r, v, *at, sought);
      if (!maker) continue;
      if (notes().evaluations == 0 && !pinned_line) fail(*maker);
      add(v.buffer, sought, std::move(maker));
    }
  }
}

void copied(const Array& to, const Array& from) {
  if (!on()) return;
  for (Sought s : {Sought::nan, Sought::inf})
    if (const Note* n = note_of(*from.value(), s); n && !note_of(*to.value(), s))
      add(to.value()->buffer, s, std::shared_ptr<const Maker>(n->maker));
}

Evaluation::Evaluation() : since_(begin()) {
  if (since_) ++notes().evaluations;
}
Evaluation::~Evaluation() {
  if (since_ && --notes().evaluations == 0 && !pinned_line) forget(since_);
}
void Evaluation::results(std::span<const Array> out) {
  if (!since_ || notes().evaluations > 1 || pinned_line) return;
  for (const Array& y : out)
    for (Sought s : {Sought::nan, Sought::inf})
      if (const Note* n = note_of(behind(y), s)) fail(Maker(*n->maker));
}

std::uint64_t begin() { return on() ? notes().last + 1 : 0; }
void end(std::uint64_t since) {
  Notes& n = notes();
  if (!since || n.evaluations > 0) return;
  std::shared_ptr<const Maker> alive;
  for (const Note& note : n.all)
    if (!alive && note.number >= since && !note.memory->unique()) alive = note.maker;
  forget(since);
  if (alive && std::uncaught_exceptions() == 0) fail(*alive);
}

namespace {
constinit thread_local const Turn* innermost = nullptr;
}
Turn::Turn(std::string_view loop, std::int64_t step, const Location& at)
    : outer_(innermost), loop_(loop), step_(step), at_(at) {
  innermost = this;
}
Turn::~Turn() { innermost = outer_; }
std::string Turn::str() {
  std::string out;
  for (const Turn* t = innermost; t; t = t->outer_)
    out += fmt::format("{}step {} of {} at {}", out.empty() ? "" : ", ", t->step_, t->loop_, source_line(t->at_).str());
  return out;
}

}  // namespace anew::watch
