// A vertex for each value and each kernel that may run again; prices are capacities between them.
#include "plan/remat_cut.h"

#include <algorithm>
#include <cmath>

namespace anew::plan {
namespace {

// Kernels that run again for what is needed, should nothing be kept; as many vertices as that takes.
struct Reach {
  std::vector<int> values;  // needed, directly or not
  std::vector<int> available, rerun;
  int vertices = 2;
};

Reach reach_of(const RematGraph& g, const CutProblem& p) {
  Reach r;
  r.available.assign(g.values.size(), -1);
  r.rerun.assign(g.kernels.size(), -1);
  auto add = [&](int v) {
    if (r.available[v] >= 0) return;
    r.available[v] = r.vertices++;
    r.values.push_back(v);
  };
  for (std::size_t v = 0; v < g.values.size(); ++v)
    if (p.needed[v]) add(static_cast<int>(v));
  for (std::size_t i = 0; i < r.values.size(); ++i) {
    const int k = g.value(r.values[i]).maker;
    if (r.rerun[k] >= 0 || p.rerun[k] == never) continue;
    r.rerun[k] = r.vertices++;
    for (int v : g.kernel(k).reads) add(v);
  }
  return r;
}

}  // namespace

ParametricCut::ParametricCut(const RematGraph& g, const CutProblem& p) : g_(&g), flow_(0) {
  const Reach r = reach_of(g, p);
  flow_ = Flow(r.vertices);
  double most = 0;
  for (int v : r.values) {
    const int k = g.value(v).maker, rerun = r.rerun[k];
    if (p.needed[v]) flow_.add_edge(source_, r.available[v], Flow::unbounded);
    // What can not run again is kept at any price: its edge leads to the sink.
    const int edge = flow_.add_edge(r.available[v], rerun < 0 ? sink_ : rerun, 0);
    const double fetch = p.fetch.empty() ? never : p.fetch[v];
    choices_.push_back({v, r.available[v], rerun < 0 ? sink_ : rerun, edge, p.free[v] != 0, fetch});
  }
  for (std::size_t k = 0; k < g.kernels.size(); ++k) {
    if (r.rerun[k] < 0) continue;
    flow_.add_edge(r.rerun[k], sink_, p.rerun[k]);
    most = std::max(most, p.rerun[k]);
    for (int v : g.kernels[k].reads) flow_.add_edge(r.rerun[k], r.available[v], Flow::unbounded);
  }
  least_ = 1e-12 * most;
  value_ = flow_.run(source_, sink_, least_);
}

void ParametricCut::set_price(double price) {
  for (const Choice& c : choices_)
    if (!c.free) flow_.raise(c.edge, std::min(keep(c, price), c.fetch) - std::min(keep(c, price_), c.fetch));
  price_ = price;
  value_ = flow_.run(source_, sink_, least_);
}

std::vector<Place> ParametricCut::places() const {
  const std::vector<char> side = flow_.source_side(source_, least_);
  std::vector<Place> places(g_->values.size(), Place::gone);
  for (const Choice& c : choices_)
    if (side[c.available] && !side[c.rerun])
      places[c.value] = !c.free && c.fetch < keep(c, price_) ? Place::fetched : Place::kept;
  return places;
}

std::int64_t ParametricCut::kept_bytes() const {
  const std::vector<Place> places = this->places();
  std::int64_t bytes = 0;
  for (const Choice& c : choices_)
    if (places[c.value] == Place::kept && !c.free) bytes += g_->bytes(c.value);
  return bytes;
}

}  // namespace anew::plan
