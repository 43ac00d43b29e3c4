// Plans over all forms of loops.
#include "passes/budget_choices.h"

#include <algorithm>
#include <cmath>

namespace anew::passes {
namespace {

constexpr std::size_t most_searched = 6;  // forms whose steps may run again
constexpr int points = 48;                // of a curve, about
constexpr double much = 0.05;             // more time from one to the next
constexpr double effort_of_blocks = 0.15;

}  // namespace

BudgetChoices::BudgetChoices(const ir::Program& program, std::span<const Strides> inputs, std::span<const int> donated,
                             std::string disk)
    : program_(program), inputs_(inputs), donated_(donated), disk_(std::move(disk)) {}

const LoopForms& BudgetChoices::forms() {
  if (!forms_) forms_ = std::make_unique<LoopForms>(program_, disk_);
  return *forms_;
}

const std::vector<BlockForm>& BudgetChoices::blocks() {
  if (!blocks_) {
    blocks_.emplace();
    if (loop_forms() == 1) {
      const std::set<std::string> kept = kept_names(program_);
      *blocks_ = block_forms(forms().flat(), kept);
      of_bodies_ = blocks_->size();
      for (BlockForm& f : body_forms(forms().flat(), kept, plans(0).bytes(0) / 100)) blocks_->push_back(std::move(f));
      of_bodies_ = blocks_->size() - of_bodies_;
    }
  }
  return *blocks_;
}

BudgetPlans& BudgetChoices::plans(std::size_t form) {
  Lowered& l = lowered_[form];
  if (l.plans) return *l.plans;
  if (form > 0) l.program = form < loop_forms() ? forms().program(form) : blocks()[form - loop_forms()].program;
  const double effort = form < loop_forms() ? 1 : effort_of_blocks;
  l.plans = std::make_unique<BudgetPlans>(form > 0 ? l.program : program_, inputs_, donated_, disk_, effort);
  return *l.plans;
}

bool BudgetChoices::repeats_steps(std::size_t form) {
  const std::size_t last = loop_forms() - 1;
  if (form > last) return true;
  return form == last || form % (1 + last / (most_searched - 1)) == 0;
}

std::optional<BudgetChoices::Choice> BudgetChoices::first_within(std::size_t bytes) {
  if (plans(0).bytes(0) <= bytes) return Choice{};
  std::optional<Choice> best;
  for (std::size_t form = 0; form < form_count(); ++form) {
    if (best && least_seconds(form) >= seconds(*best)) continue;
    std::optional<std::size_t> plan;
    if (repeats_steps(form)) plan = plans(form).first_within(bytes);
    else if (plans(form).bytes(0) <= bytes) plan = 0;
    if (plan && (!best || seconds({form, *plan}) < seconds(*best))) best = Choice{form, *plan};
  }
  return best;
}

BudgetChoices::Choice BudgetChoices::smallest() {
  Choice best;
  for (std::size_t form = 0; form < form_count(); ++form) {
    const Choice here{form, repeats_steps(form) ? plans(form).smallest() : 0};
    if (bytes(here) < bytes(best) || (bytes(here) == bytes(best) && seconds(here) < seconds(best))) best = here;
  }
  return best;
}

// What budgets give, each a fraction below what the one before takes; where that takes much more time, a byte below.
std::vector<BudgetChoices::Choice> BudgetChoices::curve() {
  const Choice last = smallest();
  std::vector<Choice> out{Choice()};
  const double ratio =
                   static_cast<double>(bytes(last)) / static_cast<double>(std::max<std::size_t>(bytes(Choice()), 1)),
               fraction = std::pow(ratio, 1.0 / points);
  while (bytes(out.back()) > bytes(last)) {
    const auto less = static_cast<std::size_t>(fraction * static_cast<double>(bytes(out.back()) - 1));
    std::optional<Choice> next = first_within(std::max(less, bytes(last)));
    if (next && out.size() < 3 * points &&
        extra_time(*next) > extra_time(out.back()) + much * (1 + extra_time(out.back())))
      next = first_within(bytes(out.back()) - 1);
    out.push_back(next ? *next : last);
  }
  return out;
}

double BudgetChoices::extra_time_bound(std::size_t bytes) {
  if (plans(0).bytes(0) <= bytes) return 0;  // where names are kept, steps of other plans are not the plain ones
  if (loop_forms() == 1) {
    blocks();
    if (of_bodies_ > 0) return 0;  // other steps of these bodies might run again: nobody knows which
    double least = std::max(0.0, plans(0).extra_time_bound(bytes));
    for (std::size_t form = 1; form < form_count(); ++form) {
      const double as_it_is = plans(form).time() - plans(0).time();  // a form may take less than the plain one
      double here = as_it_is + plans(form).extra_time_bound(bytes);
      if (plans(form).bytes(0) <= bytes) here = std::min(here, as_it_is);  // where names are kept, its steps are others
      least = std::clamp(here, 0.0, least);
    }
    return least / plans(0).time();
  }
  // A form's steps may be kernels that take less than those that its loops are counted by; a plan that fits says so.
  const double least = forms().least_time(static_cast<std::int64_t>(bytes + plans(0).donated_bytes()));
  const std::optional<Choice> fits = first_within(bytes);
  return (fits ? std::min(least, seconds(*fits)) : least) / plans(0).time();
}

double BudgetChoices::price(Choice c, std::size_t bytes) {
  const double of_steps = repeats_steps(c.form) ? plans(c.form).price(bytes) : 0;
  return std::max(c.form < loop_forms() ? forms().forms()[c.form].price : plans(0).price(bytes), of_steps);
}

std::vector<BudgetChoices::Again> BudgetChoices::again(Choice c) {
  std::vector<Again> out;
  const double whole = plans(0).time();
  if (c.form >= loop_forms()) add_equations(c.form, out);
  else if (c.form > 0) add_loops(c.form, out);
  if (c.plan > 0)
    for (const BudgetPlans::Repeat& r : plans(c.form).repeats(c.plan))
      out.push_back({r.step, nullptr, nullptr, static_cast<double>(r.times), r.time / whole});
  // A form may take less time than the plain one before steps of it run again.
  double sum = 0;
  const double extra = extra_time(c);
  for (const Again& a : out) sum += a.times * a.time;
  for (Again& a : out) a.time *= std::min(1.0, extra / sum);
  if (extra <= 0) out.clear();
  return out;
}

double BudgetChoices::form_time(std::size_t form) { return seconds({form, 0}); }
double BudgetChoices::seconds(Choice c) { return beside_plain(plans(c.form).time(c.plan)); }
double BudgetChoices::least_seconds(std::size_t form) {
  return repeats_steps(form) ? beside_plain(plans(form).least_time()) : form_time(form);
}
double BudgetChoices::beside_plain(double time) {
  const double plain = plans(0).time(), more = time - plain;
  constexpr double rounding = 1e-12;
  return more > rounding * plain ? more : 0;
}

// The time that a form adds, shared out as menus have it. Some loops take none: their steps do nothing.
void BudgetChoices::add_loops(std::size_t form, std::vector<Again>& again) {
  const double added = form_time(form) / plans(0).time();
  if (added <= 0) return;
  const std::vector<LoopForms::Again>& loops = forms().forms()[form].again;
  double time = 0, steps = 0;
  for (const LoopForms::Again& a : loops) time += a.time, steps += a.steps;
  for (const LoopForms::Again& a : loops) {
    const double share = time > 0 ? a.time / time : steps > 0 ? a.steps / steps : 1 / static_cast<double>(loops.size());
    if (share > 0) again.push_back({nullptr, &a, nullptr, a.steps, added * share / std::max(a.steps, 1.0)});
  }
}

// The time that a form adds, shared out by what equations compute: kernels of a form are not those of the Program.
void BudgetChoices::add_equations(std::size_t form, std::vector<Again>& again) {
  const double added = form_time(form) / plans(0).time();
  if (added <= 0) return;
  const std::vector<BlockForm::Again>& work = blocks()[form - loop_forms()].again;
  double all = 0, count = 0;
  for (const BlockForm::Again& a : work) all += a.flops * a.times, count += a.times;
  for (const BlockForm::Again& a : work)
    if (a.flops > 0 || all == 0)
      again.push_back({nullptr, nullptr, a.equation, a.times, added * (all > 0 ? a.flops / all : 1 / count)});
}

}  // namespace anew::passes
