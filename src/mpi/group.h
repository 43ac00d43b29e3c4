// A group of ranks and how they talk: messages between pairs of them, and the agreement that precedes every collective.
// Invariant: whatever a collective will do follows from its description; ranks that describe another one find out in
// the agreement, all of them, before any array is sent.
#pragma once
#include <anew/mpi.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace anew::mpi {

// One piece of memory on its way to or from another rank; large ones go in several messages.
struct Parcel {
  int rank;
  std::byte* data;
  std::size_t bytes;
};

struct Group {
  std::string name;  // in the text of Programs: "world", "world/0:1" (first split, color 1)
  int rank = 0, size = 1;

  // Throws an Error on all ranks unless all of them are about to do this.
  void agree(std::string_view description) const;
  // The numbers of all ranks, in their order.
  std::vector<std::uint64_t> gather(std::uint64_t mine) const;
  // Sends and receives all of these; returns when all of it has arrived.
  void exchange(std::span<const Parcel> out, std::span<const Parcel> in) const;
};

// Throws where the session has ended.
void check_alive(const Comm& comm, std::string_view op, const Location& at);
// That of this name in a session; null where there is none.
std::shared_ptr<const Group> find_group(const std::string& name);

std::uint64_t hash_bytes(std::span<const std::byte> bytes);  // the same in every process

// Whether a thread of its own may carry out collectives.
bool has_background();
// A link that is slower than the real one: what an exchange takes at least. For tests of what is done meanwhile.
struct Link {
  double seconds = 0, seconds_per_byte = 0;
};
Link set_link(Link link);  // gives the former

// Inside session.cpp: groups of the one session.
std::shared_ptr<const Group> split_group(const Group& group, int color);

}  // namespace anew::mpi
