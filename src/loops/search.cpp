// See search.h. Scratch of blocks: first the indices of all units, then their values.
#include "loops/search.h"

#include <algorithm>

#include "loops/accumulate.h"
#include "loops/evaluator.h"

namespace anew::loops {
namespace {

class Finder {
 public:
  Finder(const Bytecode::Body& body, std::span<const Operand> operands)
      : body_(body),
        node_(body.kernel.stores[0].node),
        dtype_(body.kernel.nodes[node_].dtype),
        out_(body.kernel.operands[body.kernel.stores[0].to.operand].dtype),
        size_(size_of(computed_type(dtype_))),
        find_(searcher(body.kernel.combine, dtype_)),
        e_(body, operands, std::min(block_size, body.iterations)),
        plain_(e_, body, node_) {
    std::byte* memory = e_.scratch(3 * block_size * 8);
    index_ = reinterpret_cast<std::int64_t*>(memory);
    best_ = memory + block_size * 8;
    narrow_ = memory + 2 * block_size * 8;
  }

  void results(Range range) {
    const bool rows = body_.form == KernelForm::rows;
    for (std::int64_t at = range.begin; at < range.end;) {
      const std::int64_t width =
          rows ? find_rows(at, std::min(block_size, range.end - at)) : find_columns(at, range.end);
      write(at, width);
      at += width;
    }
  }

  void blocks(Range range, void* scratch) {
    const auto [index, best] = parts(scratch);
    const std::int64_t block = body_.form == KernelForm::rows ? row_block : column_block;
    for (std::int64_t unit = range.begin; unit < range.end; ++unit) {
      const std::int64_t o = unit / body_.blocks, from = unit % body_.blocks * block;
      for (std::int64_t c = 0; c < body_.inner; c += block_size) {
        const std::int64_t to = unit * body_.inner + c;
        find(best + bytes(to), index + to, o, c, std::min(block_size, body_.inner - c), from,
             std::min(body_.reduced, from + block));
      }
    }
  }

  void partials(const void* scratch) {
    const auto [index, best] = parts(const_cast<void*>(scratch));
    for (std::int64_t o = 0; o < body_.outer; ++o)
      for (std::int64_t c = 0; c < body_.inner; c += block_size) {
        const std::int64_t width = std::min(block_size, body_.inner - c);
        for (std::int64_t b = 0; b < body_.blocks; ++b) {
          const std::int64_t from = (o * body_.blocks + b) * body_.inner + c;
          find_.merge(best_, index_, best + bytes(from), index + from, width, b == 0);
        }
        write(o * body_.inner + c, width);
      }
  }

 private:
  struct Parts {
    std::int64_t* index;
    std::byte* best;
  };
  Parts parts(void* scratch) const {
    auto* index = static_cast<std::int64_t*>(scratch);
    return {index, reinterpret_cast<std::byte*>(index + body_.outer * body_.blocks * body_.inner)};
  }
  std::size_t bytes(std::int64_t elements) const { return elements * size_; }

  // The rows from `at` on, of which a block holds several if they are short; gives how many.
  std::int64_t find_rows(std::int64_t at, std::int64_t count) {
    const std::int64_t length = body_.reduced;
    if (plain_ || length > block_size) {
      for (std::int64_t i = 0; i < count; ++i) find(best_ + bytes(i), index_ + i, at + i, 0, 1, 0, length);
      return count;
    }
    count = std::min(count, block_size / length);
    e_.evaluate(at * length, count * length);
    for (std::int64_t i = 0; i < count; ++i)
      find_.along(best_ + bytes(i), index_ + i, e_.value(node_) + bytes(i * length), length, 0, true);
    return count;
  }
  std::int64_t find_columns(std::int64_t at, std::int64_t end) {
    const std::int64_t o = at / body_.inner, c = at % body_.inner;
    const std::int64_t width = std::min({block_size, body_.inner - c, end - at});
    find(best_, index_, o, c, width, 0, body_.reduced);
    return width;
  }

  // Elements [from, to) of a row, or of `width` columns.
  void find(std::byte* best, std::int64_t* index, std::int64_t o, std::int64_t c, std::int64_t width, std::int64_t from,
            std::int64_t to) {
    const bool row = body_.form == KernelForm::rows;
    const std::int64_t rows = width == body_.inner ? std::max<std::int64_t>(1, block_size / width) : 1;
    const std::int64_t at_once = plain_ ? (row ? row_block : column_block) : row ? block_size : rows;
    for (std::int64_t r = from; r < to; r += at_once) {
      const std::int64_t n = std::min(at_once, to - r);
      const std::byte* x;
      if (plain_) {
        x = plain_.at(o) + (r * plain_.step + c) * static_cast<std::int64_t>(size_);
      } else {
        e_.evaluate((o * body_.reduced + r) * body_.inner + c, row ? n : n * width);
        x = e_.value(node_);
      }
      if (row) find_.along(best, index, x, n, r, r == from);
      else find_.across(best, index, x, plain_ ? plain_.step : width, n, width, r, r == from);
    }
  }

  void write(std::int64_t at, std::int64_t n) {
    if (size_of(out_) == 8) return e_.scatter_results(at, n, index_);
    auto* narrow = reinterpret_cast<std::int32_t*>(narrow_);
    for (std::int64_t i = 0; i < n; ++i) narrow[i] = static_cast<std::int32_t>(index_[i]);
    e_.scatter_results(at, n, narrow_);
  }

  const Bytecode::Body& body_;
  int node_;
  DType dtype_, out_;
  std::size_t size_;
  const Searcher& find_;
  Evaluator e_;
  PlainLoad plain_;
  std::int64_t* index_;
  std::byte *best_, *narrow_;
};

}  // namespace

void search(const Bytecode::Body& body, std::span<const Operand> operands, Range results) {
  Finder(body, operands).results(results);
}
void search_blocks(const Bytecode::Body& body, std::span<const Operand> operands, Range blocks, void* scratch) {
  Finder(body, operands).blocks(blocks, scratch);
}
void search_partials(const Bytecode::Body& body, std::span<const Operand> operands, const void* scratch) {
  Finder(body, operands).partials(scratch);
}

}  // namespace anew::loops
