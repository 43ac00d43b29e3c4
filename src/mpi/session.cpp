// The session of a process: MPI from its start to its end, the groups of ranks, and what happens when a rank fails. The
// only file that calls MPI.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "control/extension.h"
#include "mpi/background.h"
#include "mpi/collective_rows.h"

namespace anew::mpi {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int patience = 60;  // seconds after which a rank says for what it waits

struct MpiGroup : Group {
  MPI_Comm comm = MPI_COMM_NULL;
  mutable int splits = 0;
};

struct State {
  std::mutex guard;  // MPI is called by one thread at a time
  bool started = false, ended = false;
  bool own = false;      // MPI was started here, and so is ended here
  bool threads = false;  // MPI may be called by another thread than that of main
  int exceptions = 0;    // under way when the session began
  std::map<std::string, std::shared_ptr<const MpiGroup>> groups;
  std::atomic<std::int64_t> messages = 0, bytes = 0, agreements = 0;
  std::atomic<bool> aborting = false;
  Link link;
  std::terminate_handler former = nullptr;
};
State& state() {
  static auto& s = *new State;
  return s;
}

void call(int code, std::string_view what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(fmt::format("[mpi] {} failed: {}", what, std::string_view(text, static_cast<std::size_t>(length))),
              Location());
}

// Where all ranks fail at once, the first one says why; the others are ended before they do.
[[noreturn]] void abort_all(const std::string& why) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::this_thread::sleep_for(std::chrono::milliseconds(rank == 0 ? 0 : 300 + 10 * std::min(rank, 100)));
  state().aborting = true;  // the other thread leaves MPI alone
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::fflush(stdout);
  const std::string line = fmt::format("[anew] rank {} ends all ranks: {}\n", rank, why);
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // mpiexec passes it on before it ends this process
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::_Exit(1);
}

void terminate() {
  const State& s = state();
  if (s.started && !s.ended) {
    std::string why = "std::terminate was called";
    try {
      if (std::exception_ptr e = std::current_exception()) std::rethrow_exception(e);
    } catch (const std::exception& e) {
      why = fmt::format("uncaught exception: {}", e.what());
    } catch (...) {
      why = "uncaught exception";
    }
    abort_all(why);
  }
  if (s.former) s.former();
  std::abort();
}

std::shared_ptr<const Group> add_group(MPI_Comm comm, std::string name) {
  auto g = std::make_shared<MpiGroup>();
  g->name = std::move(name);
  g->comm = comm;
  call(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  call(MPI_Comm_rank(comm, &g->rank), "MPI_Comm_rank");
  call(MPI_Comm_size(comm, &g->size), "MPI_Comm_size");
  state().groups[g->name] = g;
  return g;
}

void start(int* argc, char*** argv, const Location& at) {
  State& s = state();
  if (s.ended) throw Error("[mpi::Session] a process has one session, and that has ended", at);
  if (s.started) throw Error("[mpi::Session] there is a session already", at, "a process has one, in main");
  int had = 0, level = 0;
  MPI_Initialized(&had);
  s.own = !had;
  if (s.own) call(MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
  else call(MPI_Query_thread(&level), "MPI_Query_thread");
  s.threads = level >= MPI_THREAD_SERIALIZED;
  MPI_Comm own = MPI_COMM_NULL;  // messages of other users of MPI in this process are not ours
  call(MPI_Comm_dup(MPI_COMM_WORLD, &own), "MPI_Comm_dup");
  add_group(own, "world");
  add_rows(reducing_rows());
  add_rows(moving_rows());
  s.started = true;
  s.exceptions = std::uncaught_exceptions();
  s.former = std::set_terminate(terminate);
}

// Who wants what, ranks that want the same named together.
std::string wishes(const MpiGroup& g, std::string_view description) {
  constexpr std::size_t width = 240;
  std::vector<char> own(width, '\0'), all(width * static_cast<std::size_t>(g.size));
  std::memcpy(own.data(), description.data(), std::min(description.size(), width - 1));
  call(MPI_Allgather(own.data(), width, MPI_CHAR, all.data(), width, MPI_CHAR, g.comm), "MPI_Allgather");
  std::vector<std::pair<std::string, std::vector<int>>> said;
  for (int r = 0; r < g.size; ++r) {
    const std::string text = all.data() + static_cast<std::size_t>(r) * width;
    auto it = std::find_if(said.begin(), said.end(), [&](const auto& s) { return s.first == text; });
    if (it == said.end()) it = said.insert(said.end(), {text, {}});
    it->second.push_back(r);
  }
  std::string out;
  constexpr std::size_t most = 6;
  for (std::size_t i = 0; i < std::min(most, said.size()); ++i) {
    const std::vector<int>& ranks = said[i].second;
    std::string who = fmt::format("rank {}", ranks[0]);
    if (ranks.size() == 2) who = fmt::format("ranks {} and {}", ranks[0], ranks[1]);
    if (ranks.size() > 2) who = fmt::format("rank {} and {} others", ranks[0], ranks.size() - 1);
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", who, said[i].first);
  }
  return said.size() > most ? out + "; ..." : out;
}

const MpiGroup& mpi_group(const Group& g) { return static_cast<const MpiGroup&>(g); }

// Between two looks at what is under way. After a while a thread sleeps between them: others may want the processor,
// the program itself where this is the thread in the background; and one that only yields may be left waiting for long.
void pause(Clock::time_point since) {
  constexpr auto soon = std::chrono::microseconds(100), nap = std::chrono::microseconds(20);
  if (Clock::now() - since < soon) return std::this_thread::yield();
  std::this_thread::sleep_for(nap);
  while (Background::is_this_thread() && state().aborting) std::this_thread::sleep_for(std::chrono::seconds(1));
}

// Says once that this takes long: ranks of different groups may wait for each other.
void wait_for(MPI_Request& request, const MpiGroup& g, std::string_view description) {
  const Clock::time_point start = Clock::now();
  bool told = false;
  for (int done = 0;;) {
    call(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done) return;
    pause(start);
    if (told || Clock::now() - start < std::chrono::seconds(patience)) continue;
    told = true;
    const std::string line =
        fmt::format("[anew] rank {} of {} has waited {} s for the others: {}\n", g.rank, g.name, patience, description);
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
}

void wait_for(std::vector<MPI_Request>& requests) {
  const auto n = static_cast<int>(requests.size());
  const Clock::time_point start = Clock::now();
  for (int done = 0;;) {
    call(MPI_Testall(n, requests.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
    if (done) return;
    pause(start);
  }
}

// What ranks would wait for forever is an error of all of them.
bool all_want(const MpiGroup& g, std::string_view description) {
  const std::uint64_t h = hash_bytes(std::as_bytes(std::span(description)));
  std::uint64_t mine[2] = {h, ~h}, all[2] = {};  // bits that all have, and bits that nobody has
  MPI_Request request = MPI_REQUEST_NULL;
  call(MPI_Iallreduce(mine, all, 2, MPI_UINT64_T, MPI_BAND, g.comm, &request), "MPI_Iallreduce");
  wait_for(request, g, description);
  return all[0] == ~all[1];
}

constexpr const char* one_order = "all ranks run the same collectives on arrays of the same types, in the same order";

}  // namespace

Session::Session(const Location& at) { start(nullptr, nullptr, at); }
Session::Session(int& argc, char**& argv, const Location& at) { start(&argc, &argv, at); }

Session::~Session() {
  State& s = state();
  if (std::uncaught_exceptions() > s.exceptions) abort_all("an exception left the scope of its session");
  try {
    background().clear();
    background().stop();
    const std::lock_guard lock(s.guard);
    const MpiGroup& g = *s.groups.at("world");
    constexpr std::string_view end = "the end of the session";
    if (!all_want(g, end)) abort_all(fmt::format("ranks do not agree: {}; hint: {}", wishes(g, end), one_order));
    s.ended = true;
    std::set_terminate(s.former);
    if (s.own) MPI_Finalize();
  } catch (const std::exception& e) {
    abort_all(e.what());
  }
}

Comm world(const Location& at) {
  State& s = state();
  if (!s.started || s.ended)
    throw Error(s.ended ? "[mpi::world] the session has ended" : "[mpi::world] there is no session", at,
                "begin main with `mpi::Session session(argc, argv);` and run the program by mpirun");
  return Comm(s.groups.at("world"));
}

void check_alive(const Comm& comm, std::string_view op, const Location& at) {
  if (state().ended)
    throw Error(fmt::format("[{}] the session has ended", op), at, "let mpi::Session live as long as main");
  if (!comm.group()) throw Error(fmt::format("[{}] a communicator that was moved from", op), at);
}

std::shared_ptr<const Group> find_group(const std::string& name) {
  const State& s = state();
  auto it = s.groups.find(name);
  return s.ended || it == s.groups.end() ? nullptr : it->second;
}

std::shared_ptr<const Group> split_group(const Group& group, int color) {
  const MpiGroup& g = mpi_group(group);
  const std::lock_guard lock(state().guard);
  MPI_Comm part = MPI_COMM_NULL;
  call(MPI_Comm_split(g.comm, color, g.rank, &part), "MPI_Comm_split");
  return add_group(part, fmt::format("{}/{}:{}", g.name, g.splits++, color));
}

Traffic traffic() {
  const State& s = state();
  return {s.messages, s.bytes, s.agreements};
}

void Group::agree(std::string_view description) const {
  State& s = state();
  if (s.ended) throw Error("[mpi] the session has ended", Location(), "let mpi::Session live as long as main");
  if (size == 1) return;
  if (!Background::is_this_thread()) background().clear();
  const std::lock_guard lock(s.guard);
  const MpiGroup& g = mpi_group(*this);
  ++s.agreements;
  if (all_want(g, description)) return;
  throw Error(
      fmt::format("[{}] ranks do not agree: {}", description.substr(0, description.find(' ')), wishes(g, description)),
      Location(), one_order);
}

std::uint64_t hash_bytes(std::span<const std::byte> bytes) {  // FNV-1a
  std::uint64_t h = 14695981039346656037ull;
  for (std::byte b : bytes) h = (h ^ static_cast<std::uint64_t>(b)) * 1099511628211ull;
  return h;
}

std::vector<std::uint64_t> Group::gather(std::uint64_t mine) const {
  std::vector<std::uint64_t> all(static_cast<std::size_t>(size), mine);
  if (size == 1) return all;
  const std::lock_guard lock(state().guard);
  call(MPI_Allgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, mpi_group(*this).comm), "MPI_Allgather");
  return all;
}

void Group::exchange(std::span<const Parcel> out, std::span<const Parcel> in) const {
  constexpr std::size_t most = std::size_t{1} << 30;  // MPI counts by int
  State& s = state();
  const std::lock_guard lock(s.guard);
  const MpiGroup& g = mpi_group(*this);
  const Clock::time_point begin = Clock::now();
  std::size_t sent = 0;
  std::vector<MPI_Request> requests;
  auto each = [&](std::span<const Parcel> parcels, auto post) {
    for (const Parcel& p : parcels)
      for (std::size_t done = 0; done < p.bytes; done += most)
        post(p.data + done, static_cast<int>(std::min(most, p.bytes - done)), p.rank);
  };
  each(in, [&](std::byte* data, int bytes, int from) {
    call(MPI_Irecv(data, bytes, MPI_BYTE, from, 0, g.comm, &requests.emplace_back()), "MPI_Irecv");
  });
  each(out, [&](std::byte* data, int bytes, int to) {
    call(MPI_Isend(data, bytes, MPI_BYTE, to, 0, g.comm, &requests.emplace_back()), "MPI_Isend");
    ++s.messages;
    s.bytes += bytes;
    sent += static_cast<std::size_t>(bytes);
  });
  wait_for(requests);
  const double takes = requests.empty() ? 0 : s.link.seconds + static_cast<double>(sent) * s.link.seconds_per_byte;
  if (takes > 0)
    std::this_thread::sleep_until(begin +
                                  std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(takes)));
}

bool has_background() { return state().threads; }

Link set_link(Link link) { return std::exchange(state().link, link); }

}  // namespace anew::mpi
