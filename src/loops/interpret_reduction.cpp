// Drivers of reductions; the order is stated in interpret_reduction.h, the inner loops are in accumulate.h. Levels are
// kept as streams: a finished block goes up one level at once, which joins the same values in the same order as a level
// after a level. A plain load whose reduced elements lie dense is joined in memory; anything else is evaluated block by
// block.
#include "loops/interpret_reduction.h"

#include <algorithm>
#include <cstring>

#include "loops/accumulate.h"
#include "loops/evaluator.h"
#include "loops/search.h"

namespace anew::loops {
namespace {

constexpr int max_levels = 9;  // 128^9 elements
constexpr std::size_t lanes_bytes = row_lanes * 8, columns_bytes = block_size * 8;

// The lanes of one row on every level.
class RowLevels {
 public:
  RowLevels(const Accumulator& j, std::size_t size) : j_(j), size_(size) {}
  // Elements in order; calls after the first start at a multiple of 32 and stay within a block.
  void push(const std::byte* x, std::int64_t n, int level = 0) {
    std::int64_t& count = count_[level];
    j_.accumulate(lanes_[level] + (count % row_lanes) * size_, x, n, count < row_lanes);
    count += n;
    if (count < row_block) return;
    j_.join(lanes_[level], row_lanes);
    count = 0;
    push(lanes_[level], 1, level + 1);
  }
  const std::byte* finish() {
    int top = max_levels - 1;
    while (top > 0 && count_[top] == 0) --top;
    for (int level = 0;; ++level) {
      if (count_[level] == 0) continue;
      j_.join(lanes_[level], std::min(count_[level], row_lanes));
      count_[level] = 0;
      if (level >= top) return lanes_[level];
      push(lanes_[level], 1, level + 1);
      while (count_[top] == 0) ++top;  // a full level may have moved up
    }
  }

 private:
  const Accumulator& j_;
  std::size_t size_;
  std::int64_t count_[max_levels] = {};
  alignas(64) std::byte lanes_[max_levels][lanes_bytes];
};

// The accumulators of up to 512 columns on every level above the first.
class ColumnLevels {
 public:
  ColumnLevels(const Accumulator& j, std::byte* memory, std::int64_t width) : j_(j), memory_(memory), width_(width) {}
  static constexpr std::size_t bytes = max_levels * columns_bytes;
  void push(const std::byte* x, int level = 1) {
    j_.chain(at(level), x, 0, 1, width_, count_[level] == 0);
    if (++count_[level] < column_block) return;
    count_[level] = 0;
    push(at(level), level + 1);
  }
  const std::byte* finish() {
    int top = max_levels - 1;
    while (top > 1 && count_[top] == 0) --top;
    for (int level = 1;; ++level) {
      if (count_[level] == 0) continue;
      count_[level] = 0;
      if (level >= top) return at(level);
      push(at(level), level + 1);
      while (count_[top] == 0) ++top;
    }
  }
  std::byte* at(int level) const { return memory_ + level * columns_bytes; }

 private:
  const Accumulator& j_;
  std::byte* memory_;
  std::int64_t width_;
  std::int64_t count_[max_levels] = {};
};

class Reduction {
 public:
  Reduction(const Bytecode::Body& body, std::span<const Operand> operands)
      : body_(body),
        node_(body.kernel.stores[0].node),
        dtype_(body.kernel.nodes[node_].dtype),
        size_(size_of(computed_type(dtype_))),
        join_(accumulator(body.kernel.combine, dtype_)),
        e_(body, operands, std::min(block_size, body.iterations)),
        plain_(e_, body, node_) {
    results_ = e_.scratch(columns_bytes + ColumnLevels::bytes);
    if (e_.turned()) strip_ = 64;
  }

  void results(Range range) {
    if (body_.reduced == 0) return identities(range);
    if (body_.form == KernelForm::rows) return rows(range);
    for (std::int64_t at = range.begin; at < range.end;) at += columns(at, range.end);
  }

  void blocks(Range range, std::byte* scratch) {
    for (std::int64_t unit = range.begin; unit < range.end; ++unit) {
      const std::int64_t o = unit / body_.blocks, b = unit % body_.blocks;
      if (body_.form == KernelForm::rows) {
        RowLevels levels(join_, size_);
        push_row(levels, o, b * row_block, std::min(body_.reduced, (b + 1) * row_block));
        std::memcpy(scratch + bytes(unit), levels.finish(), size_);
        continue;
      }
      for (std::int64_t c = 0; c < body_.inner; c += block_size) {
        const std::int64_t width = std::min(block_size, body_.inner - c);
        column_block_into(scratch + bytes(unit * body_.inner + c), o, c, width, b);
      }
    }
  }

  void partials(const std::byte* scratch) {
    for (std::int64_t o = 0; o < body_.outer; ++o) {
      const std::byte* from = scratch + bytes(o * body_.blocks * body_.inner);
      if (body_.form == KernelForm::rows) {
        RowLevels levels(join_, size_);
        for (std::int64_t b = 0; b < body_.blocks; b += row_block)
          levels.push(from + bytes(b), std::min(row_block, body_.blocks - b));
        e_.scatter_results(o, 1, levels.finish());
        continue;
      }
      for (std::int64_t c = 0; c < body_.inner; c += block_size) {
        const std::int64_t width = std::min(block_size, body_.inner - c);
        ColumnLevels levels(join_, results_ + columns_bytes, width);
        for (std::int64_t b = 0; b < body_.blocks; ++b) levels.push(from + bytes(b * body_.inner + c));
        e_.scatter_results(o * body_.inner + c, width, levels.finish());
      }
    }
  }

 private:
  std::size_t bytes(std::int64_t elements) const { return elements * size_; }

  void identities(Range range) {
    fill_register(identity_bits(combine_of(body_.kernel.combine, dtype_), dtype_), dtype_, block_size, results_);
    for (std::int64_t at = range.begin; at < range.end; at += block_size)
      e_.scatter_results(at, std::min(block_size, range.end - at), results_);
  }

  // ---- rows
  void rows(Range range) {
    const std::int64_t length = body_.reduced;
    for (std::int64_t at = range.begin; at < range.end;) {
      std::int64_t n = std::min(block_size, range.end - at);
      if (plain_ && length <= row_block) {
        Nest& kept = plain_.kept;
        const Stream& s = *plain_.stream;
        kept.seek(at);
        const std::int64_t between = kept.rank ? s.stride[kept.rank - 1] : 0;
        for_runs(kept, s.stride, n, [&](std::int64_t offset, std::int64_t i, std::int64_t m) {
          join_.rows(results_ + bytes(i), s.base + offset * static_cast<std::int64_t>(size_), length, m, between);
        });
      } else if (length <= block_size) {
        n = std::min(n, block_size / length);
        e_.evaluate(at * length, n * length);
        join_.rows(results_, e_.value(node_), length, n, length);
      } else {
        for (std::int64_t i = 0; i < n; ++i) {
          RowLevels levels(join_, size_);
          push_row(levels, at + i, 0, length);
          std::memcpy(results_ + bytes(i), levels.finish(), size_);
        }
      }
      e_.scatter_results(at, n, results_);
      at += n;
    }
  }

  void push_row(RowLevels& levels, std::int64_t row, std::int64_t from, std::int64_t to) {
    if (plain_) {
      const std::byte* x = plain_.at(row);
      for (std::int64_t r = from; r < to; r += row_block) levels.push(x + bytes(r), std::min(row_block, to - r));
      return;
    }
    for (std::int64_t r = from; r < to; r += block_size) {
      const std::int64_t n = std::min(block_size, to - r);
      e_.evaluate(row * body_.reduced + r, n);
      levels.push(e_.value(node_), n);
    }
  }

  // ---- columns; gives the number of results done
  std::int64_t columns(std::int64_t at, std::int64_t end) {
    const std::int64_t o = at / body_.inner, c = at % body_.inner, area = body_.reduced * body_.inner;
    if (c == 0 && body_.reduced <= column_block && area <= block_size / 2 && end - at >= body_.inner) {
      const std::int64_t count = std::min((end - at) / body_.inner, block_size / area);
      e_.evaluate(o * area, count * area);
      for (std::int64_t k = 0; k < count; ++k)
        join_.chain(results_ + bytes(k * body_.inner), e_.value(node_) + bytes(k * area), body_.inner, body_.reduced,
                    body_.inner, true);
      e_.scatter_results(at, count * body_.inner, results_);
      return count * body_.inner;
    }
    const std::int64_t width = std::min({strip_, body_.inner - c, end - at});
    ColumnLevels levels(join_, results_ + columns_bytes, width);
    for (std::int64_t b = 0; b < body_.blocks; ++b) {
      column_block_into(levels.at(0), o, c, width, b);
      if (body_.blocks > 1) levels.push(levels.at(0));
    }
    e_.scatter_results(at, width, body_.blocks > 1 ? levels.finish() : levels.at(0));
    return width;
  }

  void column_block_into(std::byte* acc, std::int64_t o, std::int64_t c, std::int64_t width, std::int64_t b) {
    const std::int64_t from = b * column_block, to = std::min(body_.reduced, from + column_block);
    if (plain_) {
      const std::byte* x = plain_.at(o) + (from * plain_.step + c) * static_cast<std::int64_t>(size_);
      join_.chain(acc, x, plain_.step, to - from, width, true);
      return;
    }
    const std::int64_t at_once = width == body_.inner ? std::max<std::int64_t>(1, block_size / width) : 1;
    for (std::int64_t r = from; r < to; r += at_once) {
      const std::int64_t n = std::min(at_once, to - r);
      e_.evaluate((o * body_.reduced + r) * body_.inner + c, n * width);
      join_.chain(acc, e_.value(node_), width, n, width, r == from);
    }
  }

  const Bytecode::Body& body_;
  int node_;
  DType dtype_;
  std::size_t size_;
  const Accumulator& join_;
  Evaluator e_;
  PlainLoad plain_;
  std::byte* results_;
  std::int64_t strip_ = block_size;  // columns at a time: few where each has a cache line of its own
};

bool searches(const Bytecode::Body& body) { return finds_position(body.kernel.combine); }

}  // namespace

void reduce(const Bytecode::Body& body, std::span<const Operand> operands, Range results) {
  if (results.begin >= results.end) return;
  if (searches(body)) return search(body, operands, results);
  Reduction(body, operands).results(results);
}

void reduce_blocks(const Bytecode::Body& body, std::span<const Operand> operands, Range blocks, void* scratch) {
  if (blocks.begin >= blocks.end) return;
  if (searches(body)) return search_blocks(body, operands, blocks, scratch);
  Reduction(body, operands).blocks(blocks, static_cast<std::byte*>(scratch));
}

void reduce_partials(const Bytecode::Body& body, std::span<const Operand> operands, const void* scratch) {
  if (searches(body)) return search_partials(body, operands, scratch);
  Reduction(body, operands).partials(static_cast<const std::byte*>(scratch));
}

}  // namespace anew::loops
