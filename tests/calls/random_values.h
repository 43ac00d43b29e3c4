// Random values of every type that a public function takes, mostly bad ones: axes that repeat, are negative, huge or
// missing; sizes at the ends of their types; empty lists, arrays and functions; all dtypes; nan and inf. And such
// values as C++ text.
#pragma once
#include <anew/anew.h>

#include <random>

#include "base/dtype.h"

namespace anew::calls {

template <class T>
struct Tag {};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<int>(list.size()))];
  }

  DType any_dtype() { return all_dtypes[static_cast<std::size_t>(below(static_cast<int>(all_dtypes.size())))]; }
  std::int64_t size();
  Array array();
  Array strong(const Shape& shape, DType dtype);
  Shape shape();

 private:
  std::mt19937_64 engine_;
};

// ---- one value
bool make(Random& r, Tag<bool>);
int make(Random& r, Tag<int>);
std::int64_t make(Random& r, Tag<std::int64_t>);
double make(Random& r, Tag<double>);
std::string make(Random& r, Tag<std::string>);
DType make(Random& r, Tag<DType>);
Shape make(Random& r, Tag<Shape>);
Array make(Random& r, Tag<Array>);
ArrayLike make(Random& r, Tag<ArrayLike>);
ArrayList make(Random& r, Tag<ArrayList>);
Axes make(Random& r, Tag<Axes>);
Bound make(Random& r, Tag<Bound>);
Index make(Random& r, Tag<Index>);
AtRef make(Random& r, Tag<AtRef>);
Starts make(Random& r, Tag<Starts>);
PadMode make(Random& r, Tag<PadMode>);
ConvPadding make(Random& r, Tag<ConvPadding>);
ConvOptions make(Random& r, Tag<ConvOptions>);
ConvTransposeOptions make(Random& r, Tag<ConvTransposeOptions>);
Subscripts make(Random& r, Tag<Subscripts>);
ShapeDtype make(Random& r, Tag<ShapeDtype>);
Location make(Random& r, Tag<Location>);
Policy make(Random& r, Tag<Policy>);
checkpoint_policies::PolicyOperand make(Random& r, Tag<checkpoint_policies::PolicyOperand>);
Program make(Random& r, Tag<Program>);
lax::DotDimensions make(Random& r, Tag<lax::DotDimensions>);
lax::GatherDimensions make(Random& r, Tag<lax::GatherDimensions>);
lax::ScatterDimensions make(Random& r, Tag<lax::ScatterDimensions>);
lax::ScatterOptions make(Random& r, Tag<lax::ScatterOptions>);
lax::IndexMode make(Random& r, Tag<lax::IndexMode>);
lax::Rounding make(Random& r, Tag<lax::Rounding>);
lax::WindowOptions make(Random& r, Tag<lax::WindowOptions>);
lax::TriangularOptions make(Random& r, Tag<lax::TriangularOptions>);
lax::Padding make(Random& r, Tag<lax::Padding>);
linalg::NormOrder make(Random& r, Tag<linalg::NormOrder>);
nn::AttentionOptions make(Random& r, Tag<nn::AttentionOptions>);
random::ChoiceOptions make(Random& r, Tag<random::ChoiceOptions>);
stats::KdeOptions make(Random& r, Tag<stats::KdeOptions>);
checkpoint_policies::OffloadNames make(Random& r, Tag<checkpoint_policies::OffloadNames>);
ScanOptions make(Random& r, Tag<ScanOptions>);
LoopOptions make(Random& r, Tag<LoopOptions>);
MapOptions make(Random& r, Tag<MapOptions>);
CustomOptions make(Random& r, Tag<CustomOptions>);
AssociativeScanOptions make(Random& r, Tag<AssociativeScanOptions>);
CheckGradsOptions make(Random& r, Tag<CheckGradsOptions>);
JitOptions make(Random& r, Tag<JitOptions>);
BudgetPoint make(Random& r, Tag<BudgetPoint>);
flat::BatchAxes make(Random& r, Tag<flat::BatchAxes>);
flat::CallInfo make(Random& r, Tag<flat::CallInfo>);
flat::JitCache make(Random& r, Tag<flat::JitCache>);
FlatFunction make(Random& r, Tag<FlatFunction>);
flat::Combine make(Random& r, Tag<flat::Combine>);
flat::ScanBody make(Random& r, Tag<flat::ScanBody>);
flat::LoopCondition make(Random& r, Tag<flat::LoopCondition>);
flat::JvpRule make(Random& r, Tag<flat::JvpRule>);
flat::VjpRules make(Random& r, Tag<flat::VjpRules>);
optim::Schedule make(Random& r, Tag<optim::Schedule>);
optim::Optimizer make(Random& r, Tag<optim::Optimizer>);
optim::Mask make(Random& r, Tag<optim::Mask>);
optim::CosineOptions make(Random& r, Tag<optim::CosineOptions>);
optim::WarmupCosineOptions make(Random& r, Tag<optim::WarmupCosineOptions>);
optim::ExponentialOptions make(Random& r, Tag<optim::ExponentialOptions>);
optim::SgdOptions make(Random& r, Tag<optim::SgdOptions>);
optim::AdamOptions make(Random& r, Tag<optim::AdamOptions>);
optim::AdamwOptions make(Random& r, Tag<optim::AdamwOptions>);
optim::LionOptions make(Random& r, Tag<optim::LionOptions>);
optim::AdafactorOptions make(Random& r, Tag<optim::AdafactorOptions>);
optim::RmspropOptions make(Random& r, Tag<optim::RmspropOptions>);
optim::AdagradOptions make(Random& r, Tag<optim::AdagradOptions>);
linalg::SolveTriangularOptions make(Random& r, Tag<linalg::SolveTriangularOptions>);
linalg::CholeskyFactor make(Random& r, Tag<linalg::CholeskyFactor>);
linalg::LuFactors make(Random& r, Tag<linalg::LuFactors>);
flat::LinearSolve make(Random& r, Tag<flat::LinearSolve>);
flat::LinearSolveRules make(Random& r, Tag<flat::LinearSolveRules>);
flat::RootRules make(Random& r, Tag<flat::RootRules>);
flat::Krylov make(Random& r, Tag<flat::Krylov>);
flat::KrylovOptions make(Random& r, Tag<flat::KrylovOptions>);
RootOptions make(Random& r, Tag<RootOptions>);
flat::OdeOptions make(Random& r, Tag<flat::OdeOptions>);
MeshgridOptions make(Random& r, Tag<MeshgridOptions>);
SizeOptions make(Random& r, Tag<SizeOptions>);
UniqueOptions make(Random& r, Tag<UniqueOptions>);
BincountOptions make(Random& r, Tag<BincountOptions>);
Bins make(Random& r, Tag<Bins>);
HistogramOptions make(Random& r, Tag<HistogramOptions>);
CovOptions make(Random& r, Tag<CovOptions>);
numpy::PolyfitOptions make(Random& r, Tag<numpy::PolyfitOptions>);
nn::initializers::FanOptions make(Random& r, Tag<nn::initializers::FanOptions>);
InterpOptions make(Random& r, Tag<InterpOptions>);
ReduceOptions make(Random& r, Tag<ReduceOptions>);
std::function<Array(Array)> make(Random& r, Tag<std::function<Array(Array)>>);
std::function<Array(Array, Array)> make(Random& r, Tag<std::function<Array(Array, Array)>>);
std::function<Array(Array, int)> make(Random& r, Tag<std::function<Array(Array, int)>>);
std::function<Array(Array, std::int64_t)> make(Random& r, Tag<std::function<Array(Array, std::int64_t)>>);
std::function<Array(std::vector<Array>)> make(Random& r, Tag<std::function<Array(std::vector<Array>)>>);
inline Arrays* make(Random&, Tag<Arrays*>) { return nullptr; }

template <class A, class B>
std::pair<A, B> make(Random& r, Tag<std::pair<A, B>>) {
  A a = make(r, Tag<A>{});
  return {a, make(r, Tag<B>{})};
}
template <class T>
std::optional<T> make(Random& r, Tag<std::optional<T>>) {
  if (r.chance(30)) return {};
  return make(r, Tag<T>{});
}
inline OptionalShape make(Random& r, Tag<OptionalShape>) { return make(r, Tag<std::optional<Shape>>{}); }
template <class T>
std::vector<T> make(Random& r, Tag<std::vector<T>>) {
  std::vector<T> out;
  for (int n = r.chance(5) ? 40 : r.below(4); n > 0; --n) out.push_back(make(r, Tag<T>{}));
  return out;
}

// ---- as text
std::string text(bool x);
std::string text(int x);
std::string text(std::int64_t x);
std::string text(double x);
std::string text(const std::string& x);
std::string text(DType x);
std::string text(const Shape& x);
std::string text(const Array& x);
std::string text(const ArrayLike& x);
std::string text(const ArrayList& x);
std::string text(const Axes& x);
std::string text(const Index& x);
std::string text(const AtRef& x);
std::string text(const Starts& x);
std::string text(const PadMode& x);
std::string text(const ConvPadding& x);
std::string text(const Subscripts& x);
std::string text(const ShapeDtype& x);
std::string text(const Program& x);
std::string text(const lax::DotDimensions& x);
std::string text(const lax::GatherDimensions& x);
std::string text(const lax::ScatterDimensions& x);
std::string text(const lax::Padding& x);
std::string text(const linalg::NormOrder& x);
std::string text(const ScanOptions& x);
std::string text(const flat::BatchAxes& x);
std::string text(const ConvOptions& x);
inline std::string text(const Location&) { return "Location::current()"; }
inline std::string text(const flat::JitCache&) { return "flat::JitCache()"; }
template <class T>
std::string text(const std::vector<T>& x);
template <class T>
  requires(!requires(const T& x) { x.size(); })
std::string text(const T&) {  // functions and options: the seed makes them again
  return "...";
}
template <class A, class B>
std::string text(const std::pair<A, B>& x) {
  return "{" + text(x.first) + ", " + text(x.second) + "}";
}
template <class T>
std::string text(const std::optional<T>& x) {
  return x ? text(*x) : "{}";
}
inline std::string text(const OptionalShape& x) { return x ? text(*x) : "{}"; }
template <class T>
std::string text(const std::vector<T>& x) {
  std::string out;
  for (const auto& e : x) out += (out.empty() ? "" : ", ") + text(static_cast<T>(e));
  return "{" + out + "}";
}

// ---- the arrays in a value: those that a traced function may get as arguments
using Visit = std::function<void(Array&)>;
inline void visit(Array& x, const Visit& f) { f(x); }
inline void visit(ArrayLike& x, const Visit& f) { f(x.value); }
inline void visit(AtRef& x, const Visit& f) { f(x.base); }
inline void visit(ArrayList& x, const Visit& f) {
  for (Array& a : x.values) f(a);
}
inline void visit(std::vector<Array>& x, const Visit& f) {
  for (Array& a : x) f(a);
}
inline void visit(Starts& x, const Visit& f) {
  for (Array& a : x.list) f(a);
  f(x.whole);
}
template <class T>
void visit(T&, const Visit&) {}

}  // namespace anew::calls
