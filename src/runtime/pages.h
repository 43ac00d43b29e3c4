// Memory as the system gives it: large blocks at 2 MB boundaries that ask for huge pages, and what the address
// sanitizer is told about memory that we keep without using it.
#pragma once
#include <cstddef>

namespace anew {

constexpr std::size_t huge_page = std::size_t{2} << 20;

// `bytes` is a multiple of huge_page; nullptr if the system has none left.
std::byte* map_pages(std::size_t bytes);
void unmap_pages(std::byte* data, std::size_t bytes);

// Memory that nobody may touch until it is unpoisoned; without the sanitizer these do nothing.
void poison(const std::byte* data, std::size_t bytes);
void unpoison(const std::byte* data, std::size_t bytes);

}  // namespace anew
