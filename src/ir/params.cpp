// Conversion of params to and from the dynamic form that printer and parser know. Kinds are strict: an integer is no
// float and a word no dtype, so that what is read prints as it was written.
#include "ir/params.h"

#include <limits>
#include <typeinfo>

#include "ir/program.h"

namespace anew::ir {
namespace {

template <class T>
bool take(const ParamValue& p, T& v) {
  auto* x = std::get_if<T>(&p.v);
  if (x) v = *x;
  return x;
}

}  // namespace

ParamValue::ParamValue() = default;
ParamValue::ParamValue(bool v) : v(v) {}
ParamValue::ParamValue(std::int64_t v) : v(v) {}
ParamValue::ParamValue(double v) : v(v) {}
ParamValue::ParamValue(std::string v) : v(std::move(v)) {}
ParamValue::ParamValue(DType v) : v(v) {}
ParamValue::ParamValue(ProgramRef v) : v(std::move(v)) {}
ParamValue::ParamValue(ParamFunction v) : v(std::move(v)) {}
ParamValue::ParamValue(ParamList v) : v(std::move(v)) {}
ParamValue::ParamValue(ParamCall v) : v(std::move(v)) {}
ParamValue::ParamValue(const ParamValue&) = default;
ParamValue::ParamValue(ParamValue&&) noexcept = default;
ParamValue& ParamValue::operator=(const ParamValue&) = default;
ParamValue& ParamValue::operator=(ParamValue&&) noexcept = default;
ParamValue::~ParamValue() = default;

Params::~Params() = default;

void Params::not_a(const std::type_info& wanted) const {
  throw InternalError(std::string("params are ") + typeid(*this).name() + ", not " + wanted.name());
}

bool Params::equals(const Params& other) const {
  if (this == &other) return true;
  if (typeid(*this) != typeid(other)) return false;
  FieldRef a[max_fields], b[max_fields];
  const std::size_t n = describe(a);
  other.describe(b);
  for (std::size_t i = 0; i < n; ++i)
    if (!a[i].kind->equal(a[i].value, b[i].value)) return false;
  return true;
}

std::size_t Params::hash() const {
  FieldRef fields[max_fields];
  const std::size_t n = describe(fields);
  std::size_t h = 3;
  for (std::size_t i = 0; i < n; ++i) hash_combine(h, fields[i].kind->hash(fields[i].value));
  return h;
}

NamedParams Params::list() const {
  FieldRef fields[max_fields], defaults[max_fields];
  const std::shared_ptr<Params> other = fresh();
  const std::size_t n = describe(fields);
  other->describe(defaults);
  NamedParams out;
  for (std::size_t i = 0; i < n; ++i) {
    const FieldRef& f = fields[i];
    if (!f.optional || !f.kind->equal(f.value, defaults[i].value)) out.emplace_back(f.name, f.kind->write(f.value));
  }
  return out;
}

std::vector<ProgramRef> Params::programs() const {
  FieldRef fields[max_fields];
  const std::size_t n = describe(fields);
  std::vector<ProgramRef> out;
  auto collect = [&](const ProgramRef& p) {
    if (p) out.push_back(p);
  };
  for (std::size_t i = 0; i < n; ++i) {
    const FieldRef& f = fields[i];
    if (f.kind->programs == FieldKind::Programs::one) collect(*static_cast<const ProgramRef*>(f.value));
    if (f.kind->programs == FieldKind::Programs::list)
      for (const ProgramRef& p : *static_cast<const std::vector<ProgramRef>*>(f.value)) collect(p);
  }
  return out;
}

// The fields written to are those of a copy that nobody else has seen.
ParamsRef Params::with_programs(const std::vector<ProgramRef>& programs) const {
  const std::shared_ptr<Params> p = copy();
  FieldRef fields[max_fields];
  const std::size_t n = p->describe(fields);
  std::size_t next = 0;
  auto replace = [&](ProgramRef& q) {
    if (q) q = programs.at(next++);
  };
  for (std::size_t i = 0; i < n; ++i) {
    void* value = const_cast<void*>(fields[i].value);
    if (fields[i].kind->programs == FieldKind::Programs::one) replace(*static_cast<ProgramRef*>(value));
    if (fields[i].kind->programs == FieldKind::Programs::list)
      for (ProgramRef& q : *static_cast<std::vector<ProgramRef>*>(value)) replace(q);
  }
  return p;
}

ParamsRef Params::read(std::shared_ptr<Params> into, const NamedParams& given) {
  FieldRef fields[max_fields];
  const std::size_t n = into->describe(fields);
  std::size_t found = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const FieldRef& f = fields[i];
    auto named = [&](const auto& g) { return g.first == f.name; };
    const auto it = std::find_if(given.begin(), given.end(), named);
    if (it == given.end() ? !f.optional : !f.kind->read(it->second, const_cast<void*>(f.value))) return nullptr;
    found += it != given.end();
  }
  return found == given.size() ? ParamsRef(std::move(into)) : nullptr;
}

const ParamsRef& no_params() {
  static const auto& none = *new ParamsRef(std::make_shared<NoParams>());
  return none;
}

ParamValue to_param(const Shape& v) {
  ParamList list;
  for (std::int64_t d : v) list.items.push_back(to_param(d));
  return list;
}

bool from_param(const ParamValue& p, bool& v) { return take(p, v); }
bool from_param(const ParamValue& p, std::int64_t& v) { return take(p, v); }
bool from_param(const ParamValue& p, double& v) { return take(p, v); }
bool from_param(const ParamValue& p, std::string& v) { return take(p, v); }
bool from_param(const ParamValue& p, DType& v) { return take(p, v); }

bool from_param(const ParamValue& p, int& v) {
  std::int64_t wide = 0;
  if (!take(p, wide) || wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) return false;
  v = static_cast<int>(wide);
  return true;
}

// An absent program prints as None.
bool from_param(const ParamValue& p, ProgramRef& v) {
  if (std::holds_alternative<std::monostate>(p.v)) return v.reset(), true;
  return take(p, v);
}

bool from_param(const ParamValue& p, Shape& v) {
  std::vector<std::int64_t> dims;
  if (!from_param(p, dims) || dims.size() > static_cast<std::size_t>(Shape::max_ndim)) return false;
  v = Shape(dims);
  return true;
}

template struct FieldOf<bool>;
template struct FieldOf<int>;
template struct FieldOf<std::int64_t>;
template struct FieldOf<double>;
template struct FieldOf<std::string>;
template struct FieldOf<DType>;
template struct FieldOf<Shape>;
template struct FieldOf<ProgramRef>;
template struct FieldOf<std::vector<int>>;
template struct FieldOf<std::vector<ProgramRef>>;
template struct FieldOf<std::optional<Shape>>;

}  // namespace anew::ir

template class std::vector<anew::ir::ParamValue>;
template class std::vector<std::pair<std::string_view, anew::ir::ParamValue>>;
