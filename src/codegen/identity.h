// What code that is kept belongs to. Code is used again only where the same sources, compiled the same way, the same
// LLVM and the same processor would make it from the same kernels; a digest over all of these stands for that.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace anew::codegen {

using Digest = std::array<std::uint8_t, 32>;

// SHA-256 over build, machine, LLVM, key and contents.
Digest digest_of(std::string_view key, std::span<const std::byte> contents);

}  // namespace anew::codegen
