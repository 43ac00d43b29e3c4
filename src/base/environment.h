// Environment variables, all of them, and the log that one of them asks for. Settings that have one are read when their
// owner first asks; what ANEW_LOG says may change while the process runs.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace anew::environment {

bool verifies();              // ANEW_VERIFY, whatever its value: check Programs, plans and machine code
bool enables_x64();           // ANEW_ENABLE_X64, neither empty nor 0
bool flushes_subnormals();    // the same of ANEW_FLUSH_SUBNORMALS
bool is_on(const char*);      // the same of ANEW_DEBUG_NANS, ANEW_DEBUG_INFS, ANEW_DEBUG_RANKS, ANEW_DISABLE_JIT
bool interprets();            // ANEW_BACKEND=interpreter: no machine code
std::string threads();        // ANEW_THREADS, empty where it is not set
std::int64_t second_cache();  // ANEW_L2: KiB of a core's second cache, in bytes; 0 where it is not set
std::string code_cache();     // ANEW_CODE_CACHE: a folder
std::string spill();          // ANEW_SPILL: a folder for what is offloaded; empty where it is not set

// Whether ANEW_LOG, words with commas between them, has this one: passes, programs, residuals, collectives.
bool logged(std::string_view word);
// To stderr, at once, so that texts of several threads do not mix.
void log(const std::string& text);

}  // namespace anew::environment
