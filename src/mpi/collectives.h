// What the rows of collectives run: arrays of all ranks in memory, dense and row-major. Sums join the ranks in one tree
// that the number of ranks gives: neighbours, then neighbouring pairs, and so on; elements of stored types are joined
// in the type they are computed in, and rounded once. So the bits do not depend on how messages travel.
#pragma once
#include <cstddef>
#include <vector>

#include "mpi/group.h"

namespace anew::mpi {

enum class Joins : std::uint8_t { sum, max, min };

// Scratch that each needs, in bytes, by the number of elements of this rank's x.
std::size_t reduce_scratch(const Group& g, std::int64_t elements, DType dtype);
std::size_t scatter_scratch(const Group& g, std::int64_t elements, DType dtype);

// y = join of all x. x and y may be the same memory.
void all_reduce(const Group& g, Joins how, const std::byte* x, std::byte* y, std::int64_t elements, DType dtype,
                std::byte* scratch);
// y = this rank's of size() parts of the sum.
void reduce_scatter(const Group& g, const std::byte* x, std::byte* y, std::int64_t elements, DType dtype,
                    std::byte* scratch);
// y: x of all ranks, `bytes` each. x of this rank lies there already, in its place.
void all_gather(const Group& g, std::byte* y, std::size_t bytes);
// Part r of x goes to rank r, what comes from there is part r of y.
void all_to_all(const Group& g, const std::byte* x, std::byte* y, std::size_t bytes);
// x of the root is y of all. y of the root is there already.
void broadcast(const Group& g, std::byte* y, std::size_t bytes, int root);

}  // namespace anew::mpi
