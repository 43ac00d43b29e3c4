// What tests share: reproducible numbers, bit equality, short forms of residual lists, captured warnings, exact error
// texts.
#pragma once
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/bits.h"

namespace anew::test {

// 0.5 * sin(k + 0), 0.5 * sin(k + 1), ...
inline Array fill(const Shape& shape, double k, DType dtype = f32) {
  std::vector<double> v(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = 0.5 * std::sin(k + static_cast<double>(i));
  return astype(array(v, shape), dtype);
}

// "f32[5] sin", "f32[4] argument x", "f32[5] named a", "f32[1] constant".
inline std::vector<std::string> brief(const std::vector<Residual>& residuals) {
  std::vector<std::string> out;
  for (const Residual& r : residuals) {
    using Kind = Residual::Kind;
    std::string what = r.kind == Kind::argument   ? "argument " + r.path
                       : r.kind == Kind::named    ? "named " + r.name
                       : r.kind == Kind::constant ? "constant"
                                                  : r.primitive;
    out.push_back(r.type.str() + " " + what);
  }
  return out;
}

// Collects warnings for the length of a scope.
class Warnings {
 public:
  Warnings() {
    saved_ = set_warning_handler([this](const Warning& w) { list.push_back(w); });
  }
  ~Warnings() { set_warning_handler(saved_); }
  Warnings(const Warnings&) = delete;
  std::vector<std::string> texts() const {
    std::vector<std::string> out;
    for (const Warning& w : list) out.push_back(w.text);
    return out;
  }
  std::vector<Warning> list;

 private:
  WarningHandler saved_;
};

// The text of the Error that f throws, without its place; fails the test if there is none or its place is not this
// file.
template <class F>
std::string error_of(F f, const char* file, int* line = nullptr) {
  try {
    f();
  } catch (const Error& e) {
    std::string text = e.what();
    EXPECT_EQ(e.file(), file) << text;
    if (line) *line = e.line();
    if (auto at = text.find("; at "); at != std::string::npos) {
      auto end = text.find("; hint: ", at);
      text = text.substr(0, at) + (end == std::string::npos ? "" : text.substr(end));
    }
    return text;
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}
#define ERROR_OF(...) ::anew::test::error_of([&] { __VA_ARGS__; }, __FILE__)

}  // namespace anew::test
