// What peers.py loads: gives a tensor to Python, and takes one from it.
#include <anew/anew.h>
using namespace anew;

namespace {
int alive_tensors = 0;
}

extern "C" {
// A transposed view, so that strides matter; its memory goes with the last one who looks at it.
static Array shared_array() {
  ++alive_tensors;
  auto memory = std::shared_ptr<std::vector<float>>(new std::vector<float>(12), [](std::vector<float>* v) {
    --alive_tensors;
    delete v;
  });
  for (std::size_t i = 0; i < 12; ++i) (*memory)[i] = static_cast<float>(i);
  return transpose(Array::borrow(memory->data(), {3, 4}, f32, memory));
}
void* give() { return to_dlpack(shared_array()); }
void* give_versioned() { return to_dlpack_versioned(shared_array()); }
double take(void* tensor) { return sum(from_dlpack(static_cast<dlpack::ManagedTensor*>(tensor))).item(); }
double take_versioned(void* tensor) {
  return sum(from_dlpack(static_cast<dlpack::ManagedTensorVersioned*>(tensor))).item();
}
int alive() { return alive_tensors; }
}
