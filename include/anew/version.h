// The version: of these headers, for the preprocessor, and of the library that was loaded.
#pragma once

#define ANEW_VERSION 100  // 10000 * major + 100 * minor + patch

namespace anew {

// Of the library, such as "0.1.0": a shared one may be another than that of the headers a program was compiled with.
const char* version();

}  // namespace anew
