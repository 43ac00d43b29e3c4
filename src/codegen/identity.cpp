// See identity.h. The build is known by its sources and flags (cmake/build_id.cmake), not by the file it was linked
// into, so that all programs linked with one library share their code. LLVM is a library of its own, which may be
// replaced without a new build; it is known by the id that its linker gave it.
#include "codegen/identity.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/SHA256.h>
#include <llvm/TargetParser/Host.h>
#include <sys/stat.h>

#include <cstring>
#include <string>

#include "codegen/machine.h"

namespace anew::codegen {

extern const char* const build_id;  // generated

namespace {

// The file of this process that holds an address.
struct Image {
  std::uintptr_t address;
  std::string id;  // from its note, or the look of the file

  bool holds(const dl_phdr_info& image) const {
    for (int i = 0; i < image.dlpi_phnum; ++i) {
      const auto& part = image.dlpi_phdr[i];
      if (part.p_type == PT_LOAD && address - (image.dlpi_addr + part.p_vaddr) < part.p_memsz) return true;
    }
    return false;
  }
};

std::string note_of(const dl_phdr_info& image) {
  auto padded = [](std::size_t n) { return (n + 3) / 4 * 4; };
  for (int i = 0; i < image.dlpi_phnum; ++i) {
    const auto& part = image.dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(image.dlpi_addr + part.p_vaddr);
    const char* const end = at + part.p_memsz;
    while (end - at >= static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char* const name = at + sizeof note;
      const char* const text = name + padded(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
        return {text, note.n_descsz};
      at = text + padded(note.n_descsz);
    }
  }
  return "";
}

int look(dl_phdr_info* image, std::size_t, void* to) {
  auto& wanted = *static_cast<Image*>(to);
  if (!wanted.holds(*image)) return 0;
  wanted.id = note_of(*image);
  struct stat file{};
  if (wanted.id.empty() && ::stat(image->dlpi_name, &file) == 0)
    wanted.id = fmt::format("{} {} {}.{}", image->dlpi_name, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
  return 1;
}

std::string image_of(std::uintptr_t address) {
  Image image{address, ""};
  ::dl_iterate_phdr(look, &image);
  return image.id;
}

// Where LLVM is part of our own file it cannot be replaced, and other parts of that file do not matter.
std::string llvm_id() {
  const std::string llvm = image_of(reinterpret_cast<std::uintptr_t>(&llvm::sys::getProcessTriple)),
                    ours = image_of(reinterpret_cast<std::uintptr_t>(&llvm_id));
  return LLVM_VERSION_STRING + (llvm == ours ? "" : " " + llvm);
}

// A part of the digest: its length, then itself, so that no two lists of parts read the same.
void add(llvm::SHA256& hash, std::string_view text) {
  const std::uint64_t size = text.size();
  hash.update(llvm::StringRef(reinterpret_cast<const char*>(&size), sizeof size));
  hash.update(llvm::StringRef(text.data(), text.size()));
}

const std::string& environment() {
  static const auto* text = new std::string(
      fmt::format("build {}\nLLVM {}\ntriple {}\ncpu {}\nfeatures {}\nvectors {} {}\n", build_id, llvm_id(),
                  llvm::sys::getProcessTriple(), host().cpu, host().features, host().vector_bytes, host().masks));
  return *text;
}

}  // namespace

Digest digest_of(std::string_view key, std::span<const std::byte> contents) {
  llvm::SHA256 hash;
  add(hash, environment());
  add(hash, key);
  add(hash, {reinterpret_cast<const char*>(contents.data()), contents.size()});
  return hash.final();
}

}  // namespace anew::codegen
