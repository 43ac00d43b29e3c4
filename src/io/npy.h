// NumPy's format .npy: a magic, a version, the length of a header, the header (a dictionary in Python's notation), and
// the elements. Written with version 1; read in versions 1 to 3.
#pragma once
#include "io/files.h"

namespace anew::io {

// What stands before the elements; its length is a multiple of 64.
std::string npy_header(const Type& type);

struct NpyHeader {
  Type type;
  bool swapped = false;        // the elements are big-endian
  bool fortran_order = false;  // the first axis is fastest
};
// `what`: the file, or an entry of it, for messages.
NpyHeader read_npy_header(const FileCall& call, const std::string& what, Bytes& bytes);
// The elements that follow. They are there: nothing is allocated otherwise.
Array read_npy_elements(const FileCall& call, const NpyHeader& header, Bytes& bytes);

}  // namespace anew::io
