// Numbers: what C++ numbers are until they meet an array.
#include <algorithm>
#include <cstring>
#include <utility>

#include "trace/remember.h"

namespace anew {
namespace {

constinit thread_local NumbersRead* numbers_read = nullptr;

}  // namespace

NumbersRead::NumbersRead() : start_(next_sequence()), outer_(std::exchange(numbers_read, this)) {}
NumbersRead::~NumbersRead() { numbers_read = outer_; }
void NumbersRead::note(const Array& number) {
  for (NumbersRead* r = numbers_read; r && !made_since(r->start_, number); r = r->outer_) r->from_outside_ = true;
}

ConvertScalar convert_scalar = nullptr;

bool is_weak(const Array& x) { return x.value() && x.value()->weak; }
bool is_known_number(const Array& x) { return is_weak(x) && x.value()->literal; }

Array exact(const Array& x) {
  if (!is_weak(x)) return x;
  const Value& v = *x.value();
  if (!v.literal) return v.exact;
  const DType d = wide(v.type.dtype);
  return make_literal(is_float(d) ? ir::Literal::of(d, v.number) : ir::Literal::of(d, v.integer));
}

Array as_number(const Array& x, DType shown) {
  const Value& v = *x.value();
  if (v.weak || v.type.shape.ndim() != 0 || v.type.dtype != wide(shown) || shown == bool_) return x;
  if (v.concrete()) {
    ir::Literal l{v.type.dtype, 0};
    std::memcpy(&l.bits, v.data(), sizeof l.bits);
    return is_float(l.dtype) ? Array(l.as_double()) : Array(l.as_integer());
  }
  auto number = std::make_shared<Value>(v);
  number->weak = true;
  number->type.dtype = shown;
  number->exact = x;
  return Array(std::shared_ptr<const Value>(std::move(number)));
}

Array strong(const Array& x, const Location& at) {
  if (!is_weak(x)) return x;
  const Value& v = *x.value();
  if (v.literal) return make_literal(literal_of(x));
  return v.type.dtype == v.exact.value()->type.dtype ? v.exact : convert_scalar(v.exact, v.type.dtype, at);
}

Form form_of(const Array& x) {
  if (!x.value()) return {};
  return {x.value()->type, is_weak(x) && x.value()->type.dtype != bool_};
}

Forms forms_of(std::span<const Array> x, const Location& at) {
  Forms forms;
  for (const Array& a : x) {
    check_operand(a, at);
    forms.push_back(form_of(a));
  }
  return forms;
}

Arrays exact(std::span<const Array> x) {
  Arrays out;
  for (const Array& a : x) out.push_back(exact(a));
  return out;
}

Arrays as_formed(Arrays x, std::span<const Form> forms) {
  for (std::size_t i = 0; i < forms.size(); ++i)
    if (forms[i].number) x[i] = as_number(x[i], forms[i].type.dtype);
  return x;
}

Arrays bind_numbers(Trace* trace, const Request& r) {
  bool numbers = r.primitive.facts.elementwise, some = false;
  DType integers = default_int();
  for (const Array& x : r.inputs) {
    const Value& v = *x.value();
    bool counts = v.weak && v.type.dtype != bool_;
    some = some || counts;
    numbers = numbers && v.type.shape.ndim() == 0 && (counts || v.type.dtype == bool_);
    if (counts && v.type.dtype == i64) integers = i64;
  }
  numbers = numbers && some;
  if (!trace && !std::all_of(r.inputs.begin(), r.inputs.end(), [](const Array& x) { return x.value()->concrete(); }))
    return evaluate_now(r);  // which says so, with the types they show
  Arrays in;
  for (const Array& x : r.inputs) in.push_back(numbers ? exact(x) : strong(x, r.at));
  Request q{r.primitive, r.params, in, r.at};
  if (!numbers) return trace ? trace->process(q) : evaluate_now(q);
  Arrays out = trace ? trace->process(q) : evaluate_now(q);
  for (Array& y : out) {
    DType d = type_of(y).dtype;
    if (d != bool_) y = as_number(y, is_float(d) ? default_float() : integers);
  }
  return out;
}

}  // namespace anew
