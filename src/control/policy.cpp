// Policies: what each says of an equation, how they combine over three answers, how they print and compare.
// A plain policy is its kind; names and parts compare as written; a user's function equals its copies only.
#include <anew/policy.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "base/base.h"
#include "control/higher_order.h"

namespace anew {
namespace {

using Kind = Policy::Kind;

struct KindName {
  Kind kind;
  std::string_view name;
};
constexpr std::array kind_names{
    KindName{Kind::everything, "everything_saveable"},
    KindName{Kind::nothing, "nothing_saveable"},
    KindName{Kind::automatic, "automatic"},
    KindName{Kind::dots, "dots_saveable"},
    KindName{Kind::dots_no_batch, "dots_with_no_batch_dims_saveable"},
    KindName{Kind::only_names, "save_only_these_names"},
    KindName{Kind::names_but, "save_any_names_but_these"},
    KindName{Kind::anything_except_names, "save_anything_except_these_names"},
    KindName{Kind::offload_dots_no_batch, "offload_dot_with_no_batch_dims"},
    KindName{Kind::save_and_offload_names, "save_and_offload_only_these_names"},
    KindName{Kind::any_of, "any_of"},
    KindName{Kind::all_of, "all_of"},
    KindName{Kind::not_, "not_"},
};

std::string_view name_of(Kind kind) {
  return std::find_if(kind_names.begin(), kind_names.end(), [&](const KindName& k) { return k.kind == kind; })->name;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_dot_without_batch(const PolicyQuery& q) { return q.dot && !q.batched_dot; }

Save save_if(bool yes) { return yes ? Save::save : Save::recompute; }

// The first of `order` that some part says; every part is asked.
Save strongest(const std::vector<Policy>& parts, const PolicyQuery& q, const std::array<Save, 3>& order) {
  std::size_t best = order.size() - 1;
  for (const Policy& p : parts) {
    const auto rank = std::find(order.begin(), order.end(), p(q)) - order.begin();
    best = std::min(best, static_cast<std::size_t>(rank));
  }
  return order[best];
}

void add_names(const Policy& p, std::vector<std::string>& out) {
  if (!p.details()) return;
  for (const auto* names : {&p.details()->names, &p.details()->offload_names})
    for (const std::string& name : *names)
      if (!contains(out, name)) out.push_back(name);
  for (const Policy& part : p.details()->parts) add_names(part, out);
}

void check_memories(std::string_view function, const std::string& src, const std::string& dst, const Location& at) {
  if (src == "device" && dst == "pinned_host") return;
  throw Error(fmt::format("[{}] offloading goes from 'device' to 'pinned_host', got '{}' and '{}'", function, src, dst),
              at);
}

}  // namespace

Save Policy::operator()(const PolicyQuery& q) const {
  const bool named = !q.name.empty();
  switch (kind_) {
    case Kind::everything:
    case Kind::automatic: return Save::save;
    case Kind::nothing: return Save::recompute;
    case Kind::dots: return save_if(q.dot);
    case Kind::dots_no_batch: return save_if(is_dot_without_batch(q));
    case Kind::only_names: return save_if(named && contains(details_->names, q.name));
    case Kind::names_but: return save_if(named && !contains(details_->names, q.name));
    case Kind::anything_except_names: return save_if(!named || !contains(details_->names, q.name));
    case Kind::offload_dots_no_batch: return is_dot_without_batch(q) ? Save::offload : Save::recompute;
    case Kind::save_and_offload_names:
      if (named && contains(details_->names, q.name)) return Save::save;
      return named && contains(details_->offload_names, q.name) ? Save::offload : Save::recompute;
    case Kind::any_of: return strongest(details_->parts, q, {Save::save, Save::offload, Save::recompute});
    case Kind::all_of: return strongest(details_->parts, q, {Save::recompute, Save::offload, Save::save});
    case Kind::not_: return save_if(details_->parts[0](q) == Save::recompute);
    case Kind::callable: return details_->rule(q);
  }
  return Save::recompute;
}

std::string Policy::str() const { return ir::str(to_param(*this)); }

std::ostream& operator<<(std::ostream& out, const Policy& p) { return out << p.str(); }

std::vector<std::string> Policy::mentioned_names() const {
  std::vector<std::string> out;
  add_names(*this, out);
  return out;
}

// What a callable answers is known only when it is asked; it counts as not offloading.
bool Policy::offloads() const {
  if (kind_ == Kind::offload_dots_no_batch) return true;
  if (kind_ == Kind::save_and_offload_names) return !details_->offload_names.empty();
  if (kind_ != Kind::any_of && kind_ != Kind::all_of) return false;
  return std::any_of(details_->parts.begin(), details_->parts.end(), [](const Policy& p) { return p.offloads(); });
}

std::size_t Policy::hash() const {
  auto h = static_cast<std::size_t>(kind_);
  if (!details_) return h;
  for (const auto* names : {&details_->names, &details_->offload_names}) {
    hash_combine(h, names->size());
    for (const std::string& name : *names) hash_combine(h, std::hash<std::string>{}(name));
  }
  for (const Policy& part : details_->parts) hash_combine(h, part.hash());
  hash_combine(h, std::hash<const void*>{}(details_->identity));
  return h;
}

bool operator==(const Policy& a, const Policy& b) {
  if (a.kind_ != b.kind_) return false;
  if (a.details_ == b.details_) return true;
  static const auto& empty = *new Policy::Details;
  const Policy::Details& x = a.details_ ? *a.details_ : empty;
  const Policy::Details& y = b.details_ ? *b.details_ : empty;
  return x.names == y.names && x.offload_names == y.offload_names && x.parts == y.parts && x.identity == y.identity;
}

Policy::Policy(Kind kind, Details details)
    : kind_(kind), details_(std::make_shared<const Details>(std::move(details))) {}
Policy::Policy(const Policy&) noexcept = default;
Policy& Policy::operator=(const Policy&) noexcept = default;
Policy::~Policy() = default;

std::string Policy::describe(const Location& at) {
  SourceLine line = source_line(at);
  line.function.clear();
  return "at " + line.str();
}

Policy Policy::callable(std::string text, const void* identity, Rule rule) {
  auto details = std::make_shared<Details>();
  details->text = std::move(text);
  details->rule = std::move(rule);
  details->identity = identity ? identity : details.get();
  Policy out(Kind::callable);
  out.details_ = std::move(details);
  return out;
}

namespace checkpoint_policies {

constinit const Policy everything_saveable{Kind::everything}, nothing_saveable{Kind::nothing},
    automatic{Kind::automatic}, dots_saveable{Kind::dots}, dots_with_no_batch_dims_saveable{Kind::dots_no_batch},
    checkpoint_dots{Kind::dots}, checkpoint_dots_with_no_batch_dims{Kind::dots_no_batch};

namespace {
// Everything that walks policies is recursive; and as text they are lists, of which there may be more around and
// inside.
constexpr int max_depth = ir::max_nesting / 2;

Policy combined(Kind kind, std::vector<Policy> parts, const Location& at) {
  int depth = 0;
  for (const Policy& p : parts)
    if (p.details()) depth = std::max(depth, p.details()->depth + 1);
  if (depth >= max_depth)
    throw Error(fmt::format("[{}] policies are nested more than {} deep", name_of(kind), max_depth), at,
                "any_of and all_of take a list of policies");
  return Policy(kind, {.parts = std::move(parts), .depth = depth});
}
}  // namespace

Policy any_of(std::vector<Policy> p, const Location& at) { return combined(Kind::any_of, std::move(p), at); }
Policy all_of(std::vector<Policy> p, const Location& at) { return combined(Kind::all_of, std::move(p), at); }
Policy not_(Policy p, const Location& at) { return combined(Kind::not_, {p}, at); }

Policy save_and_offload_only_these_names(OffloadNames names, const Location& at) {
  check_memories("save_and_offload_only_these_names", names.src, names.dst, at);
  for (const std::string& name : names.save)
    if (contains(names.offload, name))
      throw Error(
          fmt::format("[save_and_offload_only_these_names] the names should be exclusive and should not intersect: "
                      "'{}' is in save and in offload",
                      name),
          at);
  return Policy(Kind::save_and_offload_names,
                {.names = std::move(names.save), .offload_names = std::move(names.offload)});
}

Policy offload_dot_with_no_batch_dims(std::string src, std::string dst, const Location& at) {
  check_memories("offload_dot_with_no_batch_dims", src, dst, at);
  return Policy(Kind::offload_dots_no_batch);
}

}  // namespace checkpoint_policies

Policy detail::policy_of_names(Policy::Kind kind, std::vector<std::string> names) {
  return Policy(kind, {.names = std::move(names)});
}
Policy detail::combined_policy(Policy::Kind kind, std::initializer_list<Policy> parts, const Location& at) {
  return checkpoint_policies::combined(kind, parts, at);
}

// ---- as text

ir::ParamValue to_param(const Policy& p) {
  if (p.kind() == Kind::callable) return {ir::ParamFunction{p.details()->text}};
  ir::ParamCall call{std::string(name_of(p.kind())), {}, p.kind() <= Kind::dots_no_batch};
  if (p.kind() == Kind::save_and_offload_names) {
    for (const auto* names : {&p.details()->names, &p.details()->offload_names}) {
      ir::ParamValue list = ir::to_param(*names);
      std::get<ir::ParamList>(list.v).square = true;
      call.args.push_back(std::move(list));
    }
  } else if (p.details()) {
    for (const std::string& name : p.details()->names) call.args.push_back(ir::to_param(name));
    for (const Policy& part : p.details()->parts) call.args.push_back(to_param(part));
  }
  return {std::move(call)};
}

bool from_param(const ir::ParamValue& v, Policy& p) {
  auto* word = std::get_if<std::string>(&v.v);
  auto* call = std::get_if<ir::ParamCall>(&v.v);
  const std::string_view name = word ? std::string_view(*word) : call ? std::string_view(call->name) : "";
  auto known = std::find_if(kind_names.begin(), kind_names.end(), [&](const KindName& k) { return k.name == name; });
  if (known == kind_names.end()) return false;
  const bool plain = known->kind <= Kind::dots_no_batch;
  if (plain != (word || call->bare)) return false;
  if (plain) return p = Policy(known->kind), true;
  const ir::ParamValue args{ir::ParamList{call->args}};
  Policy::Details details;
  switch (known->kind) {
    case Kind::offload_dots_no_batch:
      if (!call->args.empty()) return false;
      p = Policy(known->kind);
      return true;
    case Kind::save_and_offload_names: {
      std::pair<std::vector<std::string>, std::vector<std::string>> names;
      if (!ir::from_param(args, names)) return false;
      details.names = std::move(names.first);
      details.offload_names = std::move(names.second);
      break;
    }
    case Kind::any_of:
    case Kind::all_of:
    case Kind::not_:
      for (const ir::ParamValue& arg : call->args)
        if (Policy part(Kind::nothing); from_param(arg, part)) details.parts.push_back(std::move(part));
      if (details.parts.size() != call->args.size() || (known->kind == Kind::not_ && details.parts.size() != 1))
        return false;
      break;
    default:
      if (!ir::from_param(args, details.names)) return false;
  }
  for (const Policy& part : details.parts)
    if (part.details()) details.depth = std::max(details.depth, part.details()->depth + 1);
  p = Policy(known->kind, std::move(details));
  return true;
}

bool from_param(const ir::ParamValue& v, std::optional<Policy>& p) {
  if (std::holds_alternative<std::monostate>(v.v)) return p.reset(), true;
  Policy read(Kind::nothing);
  if (!from_param(v, read)) return false;
  p = std::move(read);
  return true;
}

}  // namespace anew
