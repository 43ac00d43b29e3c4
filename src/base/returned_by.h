// Whose result a tree is, for errors about its structure: the template layer says which function of ours has called,
// and no more.
#pragma once
#include <string_view>
#include <utility>

namespace anew {

// While it lives, trees that `op` is given are what `function` returns.
class ReturnedBy {
 public:
  ReturnedBy(std::string_view op, std::string_view function)
      : outer_(std::exchange(innermost, this)), op_(op), function_(function) {}
  ~ReturnedBy() { innermost = outer_; }
  ReturnedBy(const ReturnedBy&) = delete;
  ReturnedBy& operator=(const ReturnedBy&) = delete;

  // The innermost one, empty if there is none.
  static std::string_view function(std::string_view op) {
    const ReturnedBy* r = innermost;
    while (r && r->op_ != op) r = r->outer_;
    return r ? r->function_ : std::string_view();
  }

 private:
  static inline constinit thread_local const ReturnedBy* innermost = nullptr;
  const ReturnedBy* outer_;
  std::string_view op_, function_;
};

}  // namespace anew
