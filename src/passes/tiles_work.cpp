// Tiles: lanes share them out, each with a plan of its own.
#include "passes/assembler.h"
#include "passes/step_parts.h"

namespace anew::passes {
namespace {

// Runs a Code for every tile of some rows.
class TileStep final : public ExecutableStep {
 public:
  struct Operand {
    Place place;
    std::vector<std::int64_t> step;  // bytes from tile to tile, along each of `outer`
  };
  std::vector<std::int64_t> outer;
  std::vector<Operand> inputs, outputs;
  std::vector<Place> scratch;  // one per lane
  std::unique_ptr<const Code> body;
  void run(std::byte* const* table, std::byte** more) const override;

 private:
  void run_lane(std::byte* const* table, std::byte** own, std::int64_t begin, std::int64_t end) const;
};

void TileStep::run(std::byte* const* table, std::byte** more) const {
  std::int64_t tiles = 1;
  for (std::int64_t n : outer) tiles *= n;
  const auto lanes = std::ssize(scratch);
  parallel_for(lanes, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t lane = begin; lane < end; ++lane) {
      std::byte** own = more + lane * body->table;
      body->enter(own, scratch[lane].in(table));
      run_lane(table, own, tiles * lane / lanes, tiles * (lane + 1) / lanes);
    }
  });
}

void TileStep::run_lane(std::byte* const* table, std::byte** own, std::int64_t begin, std::int64_t end) const {
  for (std::int64_t tile = begin; tile < end; ++tile) {
    auto set = [&](const Operand& o, int storage) {
      std::byte* at = o.place.in(table);
      std::int64_t rest = tile;
      for (std::size_t d = outer.size(); d-- > 0; rest /= outer[d]) at += rest % outer[d] * o.step[d];
      own[storage] = at;
    };
    for (std::size_t i = 0; i < inputs.size(); ++i) set(inputs[i], body->inputs[i]);
    for (std::size_t i = 0; i < outputs.size(); ++i) set(outputs[i], body->outputs[i]);
    body->run(own);
  }
}

}  // namespace

void Tiles::count(const Body&, Step& s) {
  Parts parts(s);
  plans.clear();
  for (std::int64_t lane = 0; lane < lanes; ++lane) plans.push_back(parts.add(s.bodies[0]->bytes));
}

double Tiles::time(const Body&, const Step& s, Near* near) const {
  double count = 1;
  for (std::int64_t n : outer) count *= static_cast<double>(n);
  Near seen;
  return time_to_begin(near) + count * time_of(*s.bodies[0], &seen);
}

Part Tiles::plan_of(std::size_t) const { return plans[0]; }
std::string Tiles::name_of(std::size_t) const { return "tile"; }

MadeStep Tiles::make(Assembler& to, std::size_t i, const Step& s) const {
  auto made = std::make_unique<TileStep>();
  made->outer = outer;
  for (std::size_t k = 0; k < s.in.size(); ++k) made->inputs.push_back({to.place(s.in[k]), in[k]});
  for (std::size_t k = 0; k < s.out.size(); ++k) made->outputs.push_back({to.place(s.out[k]), out[k]});
  for (const Part& plan : plans) made->scratch.push_back(to.scratch(i, plan));
  made->body = to.nested(*s.bodies[0]);
  to.needs(static_cast<int>(plans.size()) * made->body->table);
  return made;
}

}  // namespace anew::passes
