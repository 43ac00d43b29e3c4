// Modules of machine code: kernels are compiled to object files, in two parts on two threads where there are many, and
// linked into one JITDylib of a session that all modules of the process share. See codegen.h.
#include "codegen/codegen.h"

#include <fmt/format.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <shared_mutex>
#include <system_error>
#include <thread>

#include "codegen/emit.h"
#include "codegen/identity.h"

namespace anew::codegen {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
T must(llvm::Expected<T> x, const char* what) {
  if (!x) throw InternalError(fmt::format("[codegen] {}: {}", what, llvm::toString(x.takeError())));
  return std::move(*x);
}
void must(llvm::Error e, const char* what) {
  if (e) throw InternalError(fmt::format("[codegen] {}: {}", what, llvm::toString(std::move(e))));
}

// LLVM has objects that are destroyed when the process ends, while detached threads may still compile. Whoever uses
// LLVM holds the gate open; when the process ends we wait for those inside and shut it. What comes later is
// interpreted.
class Gate {
 public:
  // Handlers run in reverse: one that is registered later runs before the objects that LLVM has made until then go.
  static void register_end() {
    std::atexit([] { gate().shut(); });
  }
  static Gate& gate() {
    static Gate* one = [] {
      register_end();
      return new Gate;
    }();
    return *one;
  }
  class Inside {
   public:
    Inside() {
      if (!gate().is_shut_) lock_ = std::shared_lock(gate().mutex_);
    }
    explicit operator bool() const { return lock_ && !gate().is_shut_; }

   private:
    std::shared_lock<std::shared_mutex> lock_;
  };

 private:
  // First nobody else goes in: the lock lets readers pass a writer that waits, who may never have his turn.
  void shut() {
    is_shut_ = true;
    const std::unique_lock wait(mutex_);
  }
  std::shared_mutex mutex_;
  std::atomic<bool> is_shut_ = false;
};

// LLVM ends the process, or is left in pieces, where it finds no memory; so it is not asked where that is near.
bool plenty_of_memory() {
  constexpr std::size_t plenty = std::size_t{64} << 20;
  void* some = std::malloc(plenty);
  static_cast<void>(*const_cast<void* volatile*>(&some));  // not to be optimized away
  std::free(some);
  return some != nullptr;
}

llvm::orc::LLJIT& session() {
  static llvm::orc::LLJIT* jit = [] {  // never destroyed: modules may outlive static objects
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return must(llvm::orc::LLJITBuilder().create(), "cannot start LLVM's JIT").release();
  }();
  return *jit;
}

// The functions of the C library that LLVM may call for operations without an instruction.
llvm::orc::SymbolMap library_symbols() {
  auto& jit = session();
  llvm::orc::SymbolMap map;
  auto add = [&](const char* name, auto* function) {
    map[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function), llvm::JITSymbolFlags::Exported};
  };
  add("fmod", static_cast<double (*)(double, double)>(&::fmod));
  add("fmodf", static_cast<float (*)(float, float)>(&::fmodf));
  add("fma", static_cast<double (*)(double, double, double)>(&::fma));
  add("fmaf", static_cast<float (*)(float, float, float)>(&::fmaf));
  add("memset", static_cast<void* (*)(void*, int, std::size_t)>(&::memset));
  add("memcpy", static_cast<void* (*)(void*, const void*, std::size_t)>(&::memcpy));
  return map;
}

std::size_t text_bytes(const Bytes& object) {
  const llvm::StringRef text(reinterpret_cast<const char*>(object.data()), object.size());
  const auto file =
      must(llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(text, "kernels")), "bad object");
  std::size_t bytes = 0;
  for (const auto& section : file->sections())
    if (section.isText()) bytes += section.getSize();
  return bytes;
}

class Native final : public Module {
 public:
  Native(std::vector<Bytes> objects, std::span<const Function> present) : objects_(std::move(objects)) {
    static std::atomic<std::uint64_t> counter;
    auto& jit = session();
    auto made = jit.createJITDylib(fmt::format("kernels{}", counter++));
    must(made.takeError(), "cannot make a library");
    dylib_ = &*made;
    try {
      link(present);
    } catch (...) {
      llvm::consumeError(jit.getExecutionSession().removeJITDylib(*dylib_));
      throw;
    }
  }
  ~Native() override {
    if (const Gate::Inside inside; inside) llvm::consumeError(session().getExecutionSession().removeJITDylib(*dylib_));
  }
  const std::vector<Bytes>& objects() const { return objects_; }

 private:
  // `present`: which functions there are; their addresses mean nothing yet.
  void link(std::span<const Function> present) {
    auto& jit = session();
    must(dylib_->define(llvm::orc::absoluteSymbols(library_symbols())), "cannot define library functions");
    for (const Bytes& object : objects_) {
      code_bytes_ += text_bytes(object);
      const llvm::StringRef text(reinterpret_cast<const char*>(object.data()), object.size());
      must(jit.addObjectFile(*dylib_, llvm::MemoryBuffer::getMemBuffer(text, "kernels", false)),
           "cannot add an object");
    }
    auto find = [&]<class F>(const std::string& name, F*& to) {
      to = must(jit.lookup(*dylib_, name), "cannot link").toPtr<F*>();
    };
    for (std::size_t n = 0; n < present.size(); ++n) {
      Function& f = functions_.emplace_back();
      if (present[n].run) find(run_name(n), f.run);
      if (present[n].finish) find(finish_name(n), f.finish);
    }
  }

  std::vector<Bytes> objects_;
  llvm::orc::JITDylib* dylib_;
};

// Stands for a function that will be there.
void run_marker(std::byte* const*, std::int64_t, std::int64_t, std::byte*) {}
void finish_marker(std::byte* const*, std::byte*) {}

}  // namespace

std::shared_ptr<const Module> compile(std::span<const Source> kernels) { return compile(kernels, host()); }

std::shared_ptr<const Module> compile(std::span<const Source> kernels, const Machine& machine) {
  const Gate::Inside inside;
  if (!inside || !plenty_of_memory()) return nullptr;
  // LLVM makes objects of its own when it is first used: the first to compile is alone.
  static std::mutex first;
  static std::atomic<unsigned> times = 0;
  std::unique_lock<std::mutex> alone;
  if (times == 0) alone = std::unique_lock(first);
  std::vector<Function> present(kernels.size());
  std::vector<std::size_t> numbers;
  for (std::size_t n = 0; n < kernels.size(); ++n)
    if (can_compile(kernels[n])) numbers.push_back(n);
  // A part costs about as much as a small kernel by itself. Neighbours are often alike, so parts take turns.
  const std::size_t parts =
      std::min<std::size_t>(std::max(1u, std::thread::hardware_concurrency()), (numbers.size() + 3) / 4);
  std::vector<Bytes> objects(parts);
  std::vector<std::exception_ptr> failures(parts);
  auto compile_part = [&](std::size_t part) noexcept {
    try {
      llvm::LLVMContext context;
      llvm::Module module("kernels", context);
      set_target(module, machine);
      for (std::size_t i = part; i < numbers.size(); i += parts) {
        const std::size_t n = numbers[i];
        present[n] = {run_marker, generate(module, kernels[n], n, machine) ? finish_marker : nullptr};
      }
      objects[part] = assemble(module, machine);
    } catch (...) {
      failures[part] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(parts);
  for (std::size_t part = 1; part < parts; ++part) {
    try {
      threads.emplace_back(compile_part, part);
    } catch (const std::system_error&) {  // no more threads
      compile_part(part);
    }
  }
  if (parts) compile_part(0);
  for (std::thread& t : threads) t.join();
  for (const std::exception_ptr& f : failures)
    if (f) std::rethrow_exception(f);
  auto made = std::make_shared<Native>(std::move(objects), present);
  if (std::has_single_bit(++times)) Gate::register_end();  // after what LLVM has made by now
  return made;
}

std::string llvm_ir(const Source& kernel) { return llvm_ir(kernel, host()); }

std::string llvm_ir(const Source& kernel, const Machine& machine) {
  if (!can_compile(kernel)) return "";
  llvm::LLVMContext context;
  llvm::Module module("kernel", context);
  set_target(module, machine);
  generate(module, kernel, 0, machine);
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

// ---- modules as bytes: a line of text, a digest over key and contents, the contents: which functions there are,
// objects
namespace {

constexpr std::string_view magic = "anew machine code 2\n";

void put(Bytes& to, std::span<const std::byte> bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }
void put(Bytes& to, std::uint64_t n) { put(to, std::as_bytes(std::span(&n, 1))); }

// Reads from the front; what is not there fails, once and for all.
struct Reader {
  std::span<const std::byte> rest;
  bool failed = false;
  std::span<const std::byte> take(std::uint64_t n) {
    failed = failed || n > rest.size();
    if (failed) return {};
    const auto taken = rest.first(n);
    rest = rest.subspan(n);
    return taken;
  }
  std::uint64_t number() {
    std::uint64_t n = 0;
    const auto bytes = take(sizeof n);
    if (!bytes.empty()) std::memcpy(&n, bytes.data(), sizeof n);
    return n;
  }
};

bool equal(std::span<const std::byte> a, std::span<const std::byte> b) { return std::ranges::equal(a, b); }

}  // namespace

std::string entry_name(std::string_view key) {
  std::string name;
  for (std::uint8_t x : digest_of(key, {})) name += fmt::format("{:02x}", x);
  return name;
}

std::vector<std::byte> object(const Module& module, std::string_view key) {
  const auto* native = dynamic_cast<const Native*>(&module);
  if (!native) return {};
  Bytes contents;
  put(contents, module.functions().size());
  for (const Function& f : module.functions())
    contents.push_back(static_cast<std::byte>((f.run ? 1 : 0) | (f.finish ? 2 : 0)));
  put(contents, native->objects().size());
  for (const Bytes& o : native->objects()) put(contents, o.size()), put(contents, o);
  Bytes out;
  put(out, std::as_bytes(std::span(magic)));
  const Digest digest = digest_of(key, contents);
  put(out, std::as_bytes(std::span(digest)));
  put(out, contents);
  return out;
}

std::shared_ptr<const Module> load(std::span<const std::byte> bytes, std::string_view key, std::size_t count) {
  const Gate::Inside inside;
  if (!inside) return nullptr;
  Reader r{bytes};
  const auto start = r.take(magic.size()), digest = r.take(sizeof(Digest));
  if (r.failed || !equal(start, std::as_bytes(std::span(magic)))) return nullptr;
  const Digest expected = digest_of(key, r.rest);
  if (!equal(digest, std::as_bytes(std::span(expected)))) return nullptr;
  if (r.number() != count) return nullptr;
  std::vector<Function> present;
  for (std::byte f : r.take(count))
    present.push_back({(f & std::byte{1}) != std::byte{} ? run_marker : nullptr,
                       (f & std::byte{2}) != std::byte{} ? finish_marker : nullptr});
  std::vector<Bytes> objects;
  for (std::uint64_t n = r.number(); n > 0 && !r.failed; --n) {
    const auto o = r.take(r.number());
    objects.emplace_back(o.begin(), o.end());
  }
  if (r.failed || !r.rest.empty()) return nullptr;
  try {
    return std::make_shared<Native>(std::move(objects), present);
  } catch (const InternalError&) {
    return nullptr;
  }
}

}  // namespace anew::codegen
