// The workspaces of threads.
#include "runtime/workspace.h"

#include <cstdlib>

#include "base/per_thread.h"
#include "runtime/account.h"

namespace anew {
namespace {

struct ThreadWorkspace {
  static constexpr std::size_t bytes = 2 * workspace_half, page_bytes = 4096;
  std::byte* const memory = static_cast<std::byte*>(std::aligned_alloc(page_bytes, bytes));
  ThreadWorkspace() {
    if (!memory) Account::fail(bytes, Location());
  }
  ~ThreadWorkspace() { std::free(memory); }
};

}  // namespace

std::byte* product_workspace() { return PerThread<ThreadWorkspace>::get().memory; }
std::byte* unit_workspace() { return product_workspace() + workspace_half; }

}  // namespace anew
