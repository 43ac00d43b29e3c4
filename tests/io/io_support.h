// What tests of files share: bytes of files, arrays of every dtype.
#pragma once
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "base/dtype.h"
#include "support/files.h"

namespace anew::io_test {

using test::Folder;

inline std::string read_bytes(const std::string& name) {
  std::ifstream in(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write_bytes(const std::string& name, const std::string& bytes) {
  std::ofstream(name, std::ios::binary) << bytes;
}

// 24 numbers of a dtype, among them negative ones where there are some.
inline Array sample(DType d, const Shape& shape = {2, 3, 4}) {
  Array x = arange(24) - (is_float(d) || is_signed_integer(d) ? 5 : 0);
  if (is_float(d)) return reshape((x * 0.37).astype(d), shape);
  return reshape((d == bool_ ? x % 3 == 0 : x).astype(d), shape);
}
inline std::string bytes_of(const Array& x) {
  std::string out(x.nbytes(), '\0');
  Array y = x;
  visit(x.dtype(), [&]<class T>(std::type_identity<T>) { std::memcpy(out.data(), y.data<T>().data(), out.size()); });
  return out;
}
inline void expect_same(const Array& got, const Array& want) {
  EXPECT_EQ(got.type().str(), want.type().str());
  EXPECT_EQ(bytes_of(got), bytes_of(want));
}

// The text of the Error that f throws.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_GT(e.line(), 0) << e.what();
    return e.what();
  }
  return "no error";
}
#define EXPECT_ERROR(statement, part)                                                  \
  EXPECT_NE(anew::io_test::error_of([&] { statement; }).find(part), std::string::npos) \
      << anew::io_test::error_of([&] { statement; })

}  // namespace anew::io_test
