// The folder of cached code, its files, and what is said of those that do not fit.
#include "jit/code_cache.h"

#include <anew/jit.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>

#include "base/base.h"
#include "loops/build.h"

namespace anew {
namespace {

namespace fs = std::filesystem;

struct Folder {
  std::mutex guard;
  std::string path;
};
Folder& folder() {
  static Folder f{{}, std::getenv("ANEW_CODE_CACHE") ? std::getenv("ANEW_CODE_CACHE") : ""};
  return f;
}
std::string folder_path() {
  Folder& f = folder();
  std::lock_guard lock(f.guard);
  return f.path;
}

constexpr std::string_view heading = "anew 0.1 machine code\n";

// What the code depends on besides the machine: kernels and layouts, in text.
std::string key_of(std::span<const codegen::Source> kernels) {
  std::string key;
  for (const codegen::Source& k : kernels) {
    key += loops::expand(*k.kernel).str();  // with the math functions of this version
    for (const Shape& s : k.strides) key += s.str() + " ";
    key += "\n";
  }
  return key;
}

std::uint64_t fnv(std::string_view text, std::uint64_t h) {
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

std::string file_of(const std::string& path, const std::string& key) {
  return fmt::format("{}/{:016x}{:016x}.anew", path, fnv(key, 0xcbf29ce484222325u), fnv(key, 0x9e3779b97f4a7c15u));
}

// The module of a file; null where there is none or it does not fit.
std::shared_ptr<const codegen::Module> read(const std::string& file, const std::string& key, std::size_t count) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return nullptr;
  const std::string all((std::istreambuf_iterator<char>(in)), {});
  auto ignore = [&](const char* why) -> std::shared_ptr<const codegen::Module> {
    warn(fmt::format("[jit] the cached code in {} is ignored: {}", file, why), {});
    return nullptr;
  };
  if (!all.starts_with(heading)) return ignore("it is not a file of this version of anew");
  std::uint64_t size = 0;
  std::size_t at = heading.size();
  if (all.size() < at + sizeof size) return ignore("it is truncated");
  std::memcpy(&size, all.data() + at, sizeof size);
  at += sizeof size;
  if (size > all.size() - at) return ignore("it is truncated");
  if (std::string_view(all).substr(at, size) != key) return ignore("it holds other kernels");
  at += size;
  auto module = codegen::load(std::as_bytes(std::span(all).subspan(at)), count);
  return module ? module : ignore("it is truncated, or made for another machine or LLVM");
}

void write(const std::string& path, const std::string& file, const std::string& key, const codegen::Module& module) {
  std::error_code failed;
  fs::create_directories(path, failed);
  static std::atomic<int> writes = 0;  // threads of one process may write the same file
  const std::string beside = fmt::format("{}.{}.{}", file, ::getpid(), writes++);
  const std::vector<std::byte> bytes = codegen::object(module);
  {
    std::ofstream out(beside, std::ios::binary);
    const std::uint64_t size = key.size();
    out << heading;
    out.write(reinterpret_cast<const char*>(&size), sizeof size);
    out << key;
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!out) failed = std::make_error_code(std::errc::io_error);
  }
  if (!failed) fs::rename(beside, file, failed);
  if (!failed) return;
  std::error_code ignored;
  fs::remove(beside, ignored);
  warn(fmt::format("[jit] cannot write to the code cache {}: {}", path, failed.message()), {});
}

}  // namespace

std::string set_code_cache(std::string path) {
  Folder& f = folder();
  std::lock_guard lock(f.guard);
  return std::exchange(f.path, std::move(path));
}

namespace compiled {

std::shared_ptr<const codegen::Module> compile_cached(std::span<const codegen::Source> kernels) {
  const std::string path = folder_path();
  if (path.empty() || kernels.empty() || !codegen::available()) return codegen::compile(kernels);
  const std::string key = key_of(kernels), file = file_of(path, key);
  if (auto module = read(file, key, kernels.size())) return module;
  auto module = codegen::compile(kernels);
  if (module) write(path, file, key, *module);
  return module;
}

}  // namespace compiled
}  // namespace anew
