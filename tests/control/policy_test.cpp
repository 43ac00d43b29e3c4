// Policies: what each says, how they combine, print, compare, and pass through the text of programs.
#include <anew/policy.h>
#include <gtest/gtest.h>

#include <sstream>
#include <unordered_set>

#include "control/higher_order.h"
#include "ir/primitive.h"
#include "ir/program.h"

namespace anew {
namespace {

using namespace checkpoint_policies;

PolicyQuery op(std::string_view primitive, bool batched = false) {
  PolicyQuery q;
  q.primitive = primitive;
  q.dot = primitive == "dot_general" || primitive == "conv_general_dilated";
  q.batched_dot = batched || primitive == "conv_general_dilated";
  return q;
}
PolicyQuery named(std::string_view name) {
  PolicyQuery q;
  q.primitive = "name";
  q.name = name;
  return q;
}

const Policy offload_b = save_and_offload_only_these_names({.save = {"a"}, .offload = {"b"}});

TEST(Policy, Plain) {
  for (const PolicyQuery& q : {op("sin"), op("dot_general"), named("a")}) {
    EXPECT_EQ(everything_saveable(q), Save::save);
    EXPECT_EQ(nothing_saveable(q), Save::recompute);
  }
  EXPECT_EQ(dots_saveable(op("dot_general")), Save::save);
  EXPECT_EQ(dots_saveable(op("dot_general", true)), Save::save);
  EXPECT_EQ(dots_saveable(op("conv_general_dilated")), Save::save);
  EXPECT_EQ(dots_saveable(op("sin")), Save::recompute);
  EXPECT_EQ(dots_with_no_batch_dims_saveable(op("dot_general")), Save::save);
  EXPECT_EQ(dots_with_no_batch_dims_saveable(op("dot_general", true)), Save::recompute);
  EXPECT_EQ(dots_with_no_batch_dims_saveable(op("conv_general_dilated")), Save::recompute);
  EXPECT_EQ(checkpoint_dots, dots_saveable);
  EXPECT_EQ(checkpoint_dots_with_no_batch_dims, dots_with_no_batch_dims_saveable);
}

TEST(Policy, Names) {
  const Policy only = save_only_these_names("a", "b"), but = save_any_names_but_these("a");
  const Policy except = save_anything_except_these_names("a");
  EXPECT_EQ(only(named("a")), Save::save);
  EXPECT_EQ(only(named("c")), Save::recompute);
  EXPECT_EQ(only(op("sin")), Save::recompute);
  EXPECT_EQ(but(named("a")), Save::recompute);
  EXPECT_EQ(but(named("c")), Save::save);
  EXPECT_EQ(but(op("sin")), Save::recompute);
  EXPECT_EQ(except(named("a")), Save::recompute);
  EXPECT_EQ(except(named("c")), Save::save);
  EXPECT_EQ(except(op("sin")), Save::save);
}

TEST(Policy, EmptyLists) {
  EXPECT_EQ(save_only_these_names()(named("a")), Save::recompute);
  EXPECT_EQ(save_any_names_but_these()(named("a")), Save::save);
  EXPECT_EQ(save_any_names_but_these()(op("sin")), Save::recompute);
  EXPECT_EQ(save_anything_except_these_names()(named("a")), Save::save);
  EXPECT_EQ(any_of(std::vector<Policy>{})(op("sin")), Save::recompute);
  EXPECT_EQ(all_of(std::vector<Policy>{})(op("sin")), Save::save);
}

TEST(Policy, Offload) {
  EXPECT_EQ(offload_b(named("a")), Save::save);
  EXPECT_EQ(offload_b(named("b")), Save::offload);
  EXPECT_EQ(offload_b(named("c")), Save::recompute);
  EXPECT_EQ(offload_b(op("sin")), Save::recompute);
  EXPECT_EQ(offload_dot_with_no_batch_dims()(op("dot_general")), Save::offload);
  EXPECT_EQ(offload_dot_with_no_batch_dims()(op("dot_general", true)), Save::recompute);
  EXPECT_TRUE(offload_b.offloads());
  EXPECT_TRUE(any_of(dots_saveable, offload_dot_with_no_batch_dims()).offloads());
  EXPECT_TRUE(all_of(dots_saveable, offload_b).offloads());
  EXPECT_FALSE(save_and_offload_only_these_names({.save = {"a"}}).offloads());
  EXPECT_FALSE(dots_saveable.offloads());
  EXPECT_FALSE(not_(offload_b).offloads());
}

// All nine pairs of answers.
TEST(Policy, CombinationsOfThreeAnswers) {
  auto always = [](Save s) { return Policy("always", [s](const PolicyQuery&) { return s; }); };
  const Save r = Save::recompute, s = Save::save, o = Save::offload;
  struct Row {
    Save a, b, any, all;
  };
  for (const Row& x :
       {Row{r, r, r, r}, Row{r, s, s, r}, Row{r, o, o, r}, Row{s, s, s, s}, Row{s, o, s, o}, Row{o, o, o, o}}) {
    EXPECT_EQ(any_of(always(x.a), always(x.b))(op("sin")), x.any);
    EXPECT_EQ(any_of(always(x.b), always(x.a))(op("sin")), x.any);
    EXPECT_EQ(all_of(always(x.a), always(x.b))(op("sin")), x.all);
    EXPECT_EQ(all_of(always(x.b), always(x.a))(op("sin")), x.all);
  }
  EXPECT_EQ(not_(always(r))(op("sin")), s);
  EXPECT_EQ(not_(always(s))(op("sin")), r);
  EXPECT_EQ(not_(always(o))(op("sin")), r);
}

TEST(Policy, Callables) {
  int asked = 0;
  const Policy p = [&](const PolicyQuery& q) { return ++asked, q.primitive == "cos"; };
  EXPECT_EQ(p(op("cos")), Save::save);
  EXPECT_EQ(p(op("sin")), Save::recompute);
  EXPECT_EQ(asked, 2);
  const Policy three = [](const PolicyQuery& q) { return q.primitive == "cos" ? Save::offload : Save::recompute; };
  EXPECT_EQ(three(op("cos")), Save::offload);
}

TEST(Policy, Text) {
  EXPECT_EQ(everything_saveable.str(), "everything_saveable");
  EXPECT_EQ(nothing_saveable.str(), "nothing_saveable");
  EXPECT_EQ(checkpoint_dots.str(), "dots_saveable");
  EXPECT_EQ(dots_with_no_batch_dims_saveable.str(), "dots_with_no_batch_dims_saveable");
  EXPECT_EQ(save_only_these_names("a", "it's").str(), "save_only_these_names('a', 'it\\'s')");
  EXPECT_EQ(save_only_these_names().str(), "save_only_these_names()");
  EXPECT_EQ(save_any_names_but_these("a").str(), "save_any_names_but_these('a')");
  EXPECT_EQ(save_anything_except_these_names("a").str(), "save_anything_except_these_names('a')");
  EXPECT_EQ(offload_dot_with_no_batch_dims().str(), "offload_dot_with_no_batch_dims()");
  EXPECT_EQ(offload_b.str(), "save_and_offload_only_these_names(['a'], ['b'])");
  EXPECT_EQ(any_of(dots_saveable, save_only_these_names("a")).str(),
            "any_of(dots_saveable, save_only_these_names('a'))");
  EXPECT_EQ(all_of(dots_saveable, not_(nothing_saveable)).str(), "all_of(dots_saveable, not_(nothing_saveable))");
  EXPECT_EQ(save_from_both_policies(dots_saveable, nothing_saveable).str(), "any_of(dots_saveable, nothing_saveable)");
  EXPECT_EQ(Policy("save cos", [](const PolicyQuery&) { return true; }).str(), "<fn save cos>");
  const int line = __LINE__ + 1;
  const Policy p = [](const PolicyQuery&) { return true; };
  EXPECT_EQ(p.str(), "<fn at policy_test.cpp:" + std::to_string(line) + ">");
  EXPECT_EQ(not_(p).str(), "not_(" + p.str() + ")");
  std::ostringstream out;
  out << dots_saveable;
  EXPECT_EQ(out.str(), "dots_saveable");
}

TEST(Policy, EqualityAndHash) {
  auto cos = [](const PolicyQuery& q) { return q.primitive == "cos"; };
  auto captures = [name = std::string("cos")](const PolicyQuery& q) { return q.primitive == name; };
  // Without captures one type is one rule, whenever it is made; with them it equals its copies.
  const Policy f("cos", cos), again("cos", cos), g("cos", captures), h("cos", captures), copy = f, copied = g;
  EXPECT_EQ(f, copy);
  EXPECT_EQ(f, again);
  EXPECT_EQ(g, copied);
  EXPECT_EQ(f.hash(), copy.hash());
  EXPECT_EQ(f.hash(), again.hash());
  EXPECT_FALSE(f == g);
  EXPECT_FALSE(g == h);
  EXPECT_EQ(any_of(f, dots_saveable), any_of(copy, dots_saveable));
  EXPECT_FALSE(any_of(f, dots_saveable) == any_of(g, dots_saveable));
  EXPECT_EQ(save_only_these_names("a", "b"), save_only_these_names("a", "b"));
  const std::vector<std::string> names = {"a", "b"};
  EXPECT_EQ(save_only_these_names(names), save_only_these_names("a", "b"));
  EXPECT_EQ(save_only_these_names({"a", "b"}), save_only_these_names("a", "b"));
  EXPECT_EQ(save_any_names_but_these(names), save_any_names_but_these("a", "b"));
  EXPECT_EQ(save_anything_except_these_names(names), save_anything_except_these_names("a", "b"));
  EXPECT_EQ(save_only_these_names(std::vector<std::string>()), save_only_these_names());
  EXPECT_EQ(save_only_these_names("a", "b").hash(), save_only_these_names("a", "b").hash());
  const std::vector<Policy> different{everything_saveable,
                                      nothing_saveable,
                                      dots_saveable,
                                      dots_with_no_batch_dims_saveable,
                                      save_only_these_names(),
                                      save_only_these_names("a"),
                                      save_only_these_names("a", "b"),
                                      save_any_names_but_these("a"),
                                      save_anything_except_these_names("a"),
                                      offload_dot_with_no_batch_dims(),
                                      offload_b,
                                      save_and_offload_only_these_names({.save = {"a", "b"}}),
                                      save_and_offload_only_these_names({.offload = {"a", "b"}}),
                                      any_of(dots_saveable, nothing_saveable),
                                      all_of(dots_saveable, nothing_saveable),
                                      not_(dots_saveable),
                                      f,
                                      g,
                                      h};
  std::unordered_set<std::size_t> hashes;
  for (std::size_t i = 0; i < different.size(); ++i) {
    hashes.insert(different[i].hash());
    for (std::size_t j = 0; j < different.size(); ++j) EXPECT_EQ(different[i] == different[j], i == j) << i << " " << j;
  }
  EXPECT_EQ(hashes.size(), different.size());
}

TEST(Policy, MentionedNames) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(dots_saveable.mentioned_names(), Names{});
  EXPECT_EQ(save_only_these_names("b", "a", "b").mentioned_names(), (Names{"b", "a"}));
  EXPECT_EQ(offload_b.mentioned_names(), (Names{"a", "b"}));
  EXPECT_EQ(any_of(not_(save_any_names_but_these("c")), offload_b).mentioned_names(), (Names{"c", "a", "b"}));
}

TEST(Policy, Errors) {
  auto error_of = [](auto make) -> std::string {
    try {
      make();
    } catch (const Error& e) {
      const std::string text = e.what();
      return text.substr(0, text.find("; at policy_test.cpp:"));
    }
    return "no error";
  };
  EXPECT_EQ(error_of([] { save_and_offload_only_these_names({.save = {"a", "b"}, .offload = {"c", "b"}}); }),
            "[save_and_offload_only_these_names] the names should be exclusive and should not intersect: 'b' is in "
            "save and in "
            "offload");
  EXPECT_EQ(
      error_of([] { save_and_offload_only_these_names({.offload = {"b"}, .dst = "disk"}); }),
      "[save_and_offload_only_these_names] offloading goes from 'device' to 'pinned_host', got 'device' and 'disk'");
  EXPECT_EQ(
      error_of([] { offload_dot_with_no_batch_dims("gpu"); }),
      "[offload_dot_with_no_batch_dims] offloading goes from 'device' to 'pinned_host', got 'gpu' and 'pinned_host'");
}

struct PolicyParams : ir::ParamsOf<PolicyParams> {
  Policy policy = nothing_saveable;
  std::optional<Policy> other;
  static auto fields() {
    return std::tuple{ir::field("policy", &PolicyParams::policy), ir::field("other", &PolicyParams::other)};
  }
};
const ir::Primitive row{
    .name = "policed", .infer = [](const ir::InferArgs&) { return ir::Types{}; }, .parse = &PolicyParams::parse};

std::string text_with(const Policy& policy, std::optional<Policy> other = {}) {
  auto params = std::make_shared<PolicyParams>();
  params->policy = policy;
  params->other = std::move(other);
  ir::Program p;
  p.eqns.push_back({&row, params, {}, {}, Location(), nullptr});
  return ir::print(p, 1000);
}

TEST(Policy, ReadsBackFromPrograms) {
  auto find = [](std::string_view) { return &row; };
  for (const Policy& p :
       {everything_saveable, nothing_saveable, dots_saveable, dots_with_no_batch_dims_saveable,
        save_only_these_names("a", "two words"), save_only_these_names(), save_any_names_but_these("a"),
        save_anything_except_these_names("a"), offload_dot_with_no_batch_dims(), offload_b,
        any_of(dots_saveable, all_of(save_only_these_names("float32"), not_(nothing_saveable)))}) {
    for (const std::optional<Policy>& other : {std::optional<Policy>(), std::optional<Policy>(p)}) {
      const std::string text = text_with(p, other);
      const ir::Program back = ir::parse(text, find);
      const auto& params = static_cast<const PolicyParams&>(*back.eqns[0].params);
      EXPECT_EQ(params.policy, p) << text;
      EXPECT_EQ(params.other, other) << text;
      EXPECT_EQ(ir::print(back, 1000), text);
    }
  }
  EXPECT_EQ(text_with(any_of(dots_saveable, save_only_these_names("a"))),
            "{ lambda ; . let policed[other=None policy=any_of(dots_saveable, save_only_these_names('a'))] in () }");
}

TEST(Policy, WhatDoesNotReadBack) {
  auto error_of = [](const std::string& policy) -> std::string {
    try {
      ir::parse("{ lambda ; . let policed[other=None policy=" + policy + "] in () }",
                [](std::string_view) { return &row; });
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of(Policy("f", [](const PolicyQuery&) { return true; }).str()),
            "[parse] 1:44: a function (<fn ...>) cannot be read back");
  const std::string bad = "[parse] 1:25: the params of policed do not fit: one is missing, unknown or of another kind";
  for (const char* text :
       {"dots", "3", "None", "dots_saveable()", "save_only_these_names", "save_only_these_names(3)", "not_()",
        "not_(dots_saveable, dots_saveable)", "any_of('a')", "offload_dot_with_no_batch_dims(1)",
        "save_and_offload_only_these_names('a', 'b')", "(dots_saveable,)"})
    EXPECT_EQ(error_of(text), bad) << text;
}

}  // namespace
}  // namespace anew
