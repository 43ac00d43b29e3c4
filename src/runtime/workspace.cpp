// The workspaces of threads.
#include "runtime/workspace.h"

#include <cstdlib>

#include "runtime/account.h"

namespace anew {
namespace {

constexpr std::size_t bytes = 2 * workspace_half, page_bytes = 4096;

// Only a pointer, so that destructors of the thread that run later still find it.
constinit thread_local std::byte* workspace = nullptr;
struct Closer {
  ~Closer() {
    std::free(workspace);
    workspace = nullptr;
  }
};

std::byte* make_workspace() {
  static thread_local Closer closer;
  workspace = static_cast<std::byte*>(std::aligned_alloc(page_bytes, bytes));
  if (!workspace) Account::fail(bytes, Location());
  return workspace;
}

}  // namespace

std::byte* product_workspace() { return workspace ? workspace : make_workspace(); }
std::byte* unit_workspace() { return product_workspace() + workspace_half; }

}  // namespace anew
