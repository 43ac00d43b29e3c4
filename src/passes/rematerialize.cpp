// Which plans there are for a Program, and which of them fits.
#include "passes/rematerialize.h"

#include <algorithm>
#include <set>

#include "control/higher_order.h"

namespace anew::passes {
namespace {

constexpr std::size_t most_plans = 128;

// Whether a policy keeps what has this name because of it.
bool keeps(const Policy& policy, const std::string& name) {
  const Policy::Details* d = policy.details();
  if (!d) return false;
  const bool listed = std::find(d->names.begin(), d->names.end(), name) != d->names.end();
  auto part = [&](const Policy& p) { return keeps(p, name); };
  switch (policy.kind()) {
    case Policy::Kind::only_names:
    case Policy::Kind::save_and_offload_names: return listed;
    case Policy::Kind::names_but: return !listed;
    case Policy::Kind::any_of: return std::any_of(d->parts.begin(), d->parts.end(), part);
    case Policy::Kind::all_of: return std::all_of(d->parts.begin(), d->parts.end(), part);
    default: return false;
  }
}

// At most so many, the last among them.
std::vector<plan::RematPlan> thinned(std::vector<plan::RematPlan> curve) {
  if (curve.size() <= most_plans) return curve;
  const std::int64_t step = (curve.front().peak - curve.back().peak) / static_cast<std::int64_t>(most_plans);
  std::vector<plan::RematPlan> out;
  for (std::size_t i = 0; i < curve.size(); ++i)
    if (i == 0 || i + 1 == curve.size() || out.back().peak - curve[i + 1].peak > step)
      out.push_back(std::move(curve[i]));
  return out;
}

// The time of what nobody reads, which need not run.
double left_out(const plan::RematGraph& g, const plan::Sequence& sequence) {
  std::vector<char> runs(g.kernels.size());
  for (int k : sequence) runs[static_cast<std::size_t>(k)] = true;
  double time = 0;
  for (int k = 0; k < g.size(); ++k)
    if (!runs[static_cast<std::size_t>(k)]) time += g.kernel(k).cost;
  return time;
}

// Whether there are steps whose results nobody reads.
bool runs_unread(const Body& body) {
  Table<StorageId, char> read(body.storages.size());
  for (const Step& s : body.steps)
    for (ValueId in : s.in) {
      const StorageId from = body.values[in].storage;
      if (std::none_of(s.out.begin(), s.out.end(), [&](ValueId v) { return body.values[v].storage == from; }))
        read[from] = true;
    }
  auto unread = [&](ValueId v) {
    const StorageId s = body.values[v].storage;
    return body.storages[s].kind == Storage::Kind::temporary && !read[s];
  };
  return std::any_of(body.steps.begin(), body.steps.end(),
                     [&](const Step& s) { return std::all_of(s.out.begin(), s.out.end(), unread); });
}

}  // namespace

std::set<std::string> kept_names(const ir::Program& program) {
  std::set<std::string> names, kept;
  std::vector<const Policy*> policies;
  ir::for_each_program(program, [&](const ir::Program& p) {
    for (const ir::Eqn& e : p.eqns) {
      if (const auto& name = e.primitive->facts.name) names.insert(name(*e.params));
      if (auto* c = e.params->if_a<CheckpointParams>()) policies.push_back(&c->policy);
    }
  });
  for (const std::string& name : names)
    if (std::any_of(policies.begin(), policies.end(), [&](const Policy* p) { return keeps(*p, name); }))
      kept.insert(name);
  return kept;
}

BudgetPlans::BudgetPlans(const ir::Program& program, std::span<const Strides> inputs, std::span<const int> donated,
                         std::string disk, double effort)
    : program_(program),
      inputs_(inputs),
      plain_(plan_program(program, inputs, donated, true)),
      donated_(donated),
      disk_(std::move(disk)),
      effort_(effort) {
  for (int i : donated) donated_bytes_ += program.type(program.inputs[i]).bytes();
  const double time = std::max(modelled_time(*plain_.steps), 1e-30);
  plans_.push_back({{}, time, output_bytes(*plain_.placed) + plain_.placed->bytes, plain_.placed});
}

StepGraph& BudgetPlans::steps() {
  if (steps_) return *steps_;
  const std::set<std::string> names = kept_names(program_);
  repeated_ = names.empty() ? plain_.steps : plan_program(program_, inputs_, donated_, true, true).steps;
  std::vector<StorageId> kept;
  for (const auto& [storage, name] : repeated_->names)
    if (names.count(name)) kept.push_back(storage);
  Body counted = clone(*repeated_);
  alias(counted);
  spill(counted);
  plan_memory(counted, 0);
  steps_ = std::make_unique<StepGraph>(*repeated_, counted, kept, disk_);
  return *steps_;
}

void BudgetPlans::find_plans() {
  if (std::exchange(found_, true)) return;
  steps();
  std::vector<plan::RematPlan> found = thinned(plan::budget_curve(steps_->graph(), effort_));
  if (const plan::RematGraph* alone = steps_->without_lending())
    for (plan::RematPlan& p : thinned(plan::budget_curve(*alone, 0.5 * effort_))) found.push_back(std::move(p));
  const double once = modelled_time(*repeated_);
  for (plan::RematPlan& p : found) {
    const std::size_t least = steps_->least_bytes(p.sequence);
    const double time = once - left_out(steps_->graph(), p.sequence) + p.extra;
    plans_.push_back({std::move(p.sequence), time, least - std::min(least, donated_bytes_)});
  }
  // The cheapest that fits is taken, whichever graph it comes from.
  std::stable_sort(plans_.begin() + 1, plans_.end(), [](const Plan& a, const Plan& b) { return a.time < b.time; });
}

double BudgetPlans::time_once() {
  const plan::RematGraph& g = steps().graph();
  return modelled_time(*repeated_) - left_out(g, plan::without_dead_runs(g, plan::plain_sequence(g)));
}

double BudgetPlans::least_time() {
  if (!least_time_) {
    const bool same = kept_names(program_).empty() && !runs_unread(*plain_.steps);
    least_time_ = same ? plans_[0].time : std::min(plans_[0].time, time_once());
  }
  return *least_time_;
}

std::shared_ptr<const Body> BudgetPlans::body(std::size_t plan) {
  Plan& p = plans_[plan];
  if (!p.body) p.body = plan_tightly(steps_->with_sequence(p.sequence));
  return p.body;
}

std::shared_ptr<const Body> BudgetPlans::unplaced(std::size_t plan) {
  if (plan == 0) return plain_.steps;
  return steps_->with_sequence(plans_[plan].sequence);
}

std::size_t BudgetPlans::bytes(std::size_t plan) { return output_bytes(*body(plan)) + body(plan)->bytes; }

std::optional<std::size_t> BudgetPlans::first_within(std::size_t most) {
  const bool plain = plans_[0].least <= most;
  if (plain && least_time() >= plans_[0].time) return 0;
  find_plans();
  for (std::size_t i = 1; i < plans_.size() && !(plain && plans_[i].time >= plans_[0].time); ++i)
    if (plans_[i].least <= most && bytes(i) <= most) return i;
  return plain ? std::optional<std::size_t>(0) : std::nullopt;
}

std::size_t BudgetPlans::smallest() {
  find_plans();
  std::size_t best = 0;
  for (std::size_t i = plans_.size(); i-- > 0;)  // of equal ones the cheapest
    if (plans_[i].least <= bytes(best) && bytes(i) <= bytes(best)) best = i;
  return best;
}

double BudgetPlans::extra_time_bound(std::size_t bytes) {
  return time_once() - plans_[0].time + steps().bound(bytes + donated_bytes_).extra;
}
double BudgetPlans::price(std::size_t bytes) { return steps().bound(bytes + donated_bytes_).price; }

std::vector<BudgetPlans::Repeat> BudgetPlans::repeats(std::size_t plan) const {
  std::vector<int> runs(steps_->graph().kernels.size());
  for (int k : plans_[plan].sequence) ++runs[static_cast<std::size_t>(k)];
  std::vector<Repeat> out;
  for (std::size_t k = 0; k < static_cast<std::size_t>(steps_->graph().size()); ++k)
    for (int i : steps_->steps_of(static_cast<int>(k)))
      if (const Step& s = steps_->body().steps[static_cast<std::size_t>(i)]; runs[k] > 1)
        out.push_back({&s, runs[k] - 1, modelled_time(steps_->body(), s)});
  return out;
}

}  // namespace anew::passes
