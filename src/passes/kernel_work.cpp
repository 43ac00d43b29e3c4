// Kernels, and those that run at once with their neighbours: units of both are shared out among the threads.
#include <algorithm>

#include "passes/assembler.h"
#include "passes/step_parts.h"

namespace anew::passes {
namespace {

// Kernels that do not depend on each other, shared out together. Those over as many rows go row by row side by side.
class NeighboursStep final : public ExecutableStep {
 public:
  struct Part {
    std::shared_ptr<const loops::KernelCode> code;
    std::vector<Place> operands;
    std::int64_t rows;  // a divisor of its units
  };
  explicit NeighboursStep(std::vector<Part> parts);
  void run(std::byte* const* table, std::byte** more) const override;

 private:
  // Parts over as many rows, some of these at a time.
  struct Band {
    std::int64_t rows;
    std::vector<std::size_t> parts;
    std::int64_t at_once = 0;  // rows; 0: one thread does them all
    std::int64_t chunks() const { return at_once ? (rows + at_once - 1) / at_once : 1; }
  };
  std::vector<Part> parts_;
  std::vector<std::size_t> first_operand_;  // of each part
  std::vector<Band> bands_;                 // the largest first
  std::int64_t chunks_ = 0;                 // of all
  bool shared_ = false;                     // some of them are worth a thread
};

NeighboursStep::NeighboursStep(std::vector<Part> parts) : parts_(std::move(parts)) {
  std::size_t operands = 0;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const Part& part = parts_[p];
    first_operand_.push_back(operands);
    operands += part.operands.size();
    auto band = std::find_if(bands_.begin(), bands_.end(), [&](const Band& b) { return b.rows == part.rows; });
    if (band == bands_.end()) band = bands_.insert(bands_.end(), Band{part.rows, {}});
    band->parts.push_back(p);
    if (part.code->grain == 0) continue;
    const std::int64_t at_once = std::max<std::int64_t>(1, part.code->grain / (part.code->units / part.rows));
    band->at_once = band->at_once ? std::min(band->at_once, at_once) : at_once;
    shared_ = true;
  }
  std::stable_sort(bands_.begin(), bands_.end(), [](const Band& a, const Band& b) { return a.chunks() > b.chunks(); });
  for (const Band& b : bands_) chunks_ += b.chunks();
}

void NeighboursStep::run(std::byte* const* table, std::byte** more) const {
  for (std::size_t p = 0; p < parts_.size(); ++p)
    for (std::size_t i = 0; i < parts_[p].operands.size(); ++i)
      more[first_operand_[p] + i] = parts_[p].operands[i].in(table);
  auto run_chunk = [&](std::int64_t chunk) {
    auto band = bands_.begin();
    for (; chunk >= band->chunks(); ++band) chunk -= band->chunks();
    const std::int64_t begin = chunk * band->at_once;
    const std::int64_t end = band->at_once ? std::min(band->rows, begin + band->at_once) : band->rows;
    for (std::size_t p : band->parts) {
      const loops::KernelCode& code = *parts_[p].code;
      const std::int64_t row = code.units / parts_[p].rows;
      code.run(more + first_operand_[p], begin * row, end * row, nullptr);
    }
  };
  auto run_chunks = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) run_chunk(c);
  };
  if (shared_) parallel_for(chunks_, 1, run_chunks);
  else run_chunks(0, chunks_);
}

// How many rows a kernel goes over, one after the other: its first variable, unless that leads along rows.
std::int64_t rows_of(const loops::Kernel& k) {
  const auto& index = k.stores[0].to.index;
  const bool along = k.extents.empty() || index.empty() || index.back().coefficients[0] != 0;
  return along ? 1 : std::max<std::int64_t>(1, k.extents[0]);
}

MadeStep make_neighbours(Assembler& to, std::size_t i) {
  std::vector<NeighboursStep::Part> parts;
  std::size_t operands = 0;
  do {
    const Step& s = to.body().steps[i];
    parts.push_back({to.code_of(s), to.operands_of(s), rows_of(s.kernel())});
    operands += parts.back().operands.size();
  } while (to.with_last(++i));
  to.needs(static_cast<int>(operands));
  return std::make_unique<NeighboursStep>(std::move(parts));
}

}  // namespace

void Kernel::count(const Body&, Step& s) { s.scratch = schedule.scratch; }

double Kernel::time(const Body& body, const Step& s, Near* near) const { return time_of_kernel(body, s, near); }

MadeStep Kernel::make(Assembler& to, std::size_t i, const Step& s) const {
  if (to.with_last(i + 1)) return make_neighbours(to, i);
  std::vector<Place> operands = to.operands_of(s);
  to.needs(static_cast<int>(operands.size()));
  return std::make_unique<KernelStep>(to.code_of(s), std::move(operands), to.scratch(i));
}

}  // namespace anew::passes
