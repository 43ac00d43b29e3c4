// Makes a failing program small: nodes are dropped (their values replaced by others of the same type), calls are
// inlined, loops shortened, outputs, parameters and sizes reduced, as long as the same property fails.
#include <algorithm>
#include <map>
#include <optional>

#include "fuzz/program.h"

namespace anew::fuzz {
namespace {

std::string kind(const std::string& failure) {
  std::string head = failure.substr(0, failure.find(':'));
  // Of an exception also the first words.
  return head == "thrown" ? failure.substr(0, failure.find_first_of("0123456789")) : head;
}

bool valid(const Block& b) {
  try {
    flat::eval_shape([&](In x) { return run(b, x); }, inputs_of(b, 0));
  } catch (const InternalError&) {
    return true;  // what we look for
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

// All blocks of a program, and what is visible in each before each node.
void replace_value(Block& b, Id from, Id to) {
  for (Node& n : b.nodes) {
    std::replace(n.in.begin(), n.in.end(), from, to);
    for (Block& inner : n.blocks) replace_value(inner, from, to);
  }
  std::replace(b.outputs.begin(), b.outputs.end(), from, to);
}
bool reads(const Block& b, Id id) {
  bool found = std::count(b.outputs.begin(), b.outputs.end(), id) > 0;
  for (const Node& n : b.nodes) {
    found = found || std::count(n.in.begin(), n.in.end(), id) > 0;
    for (const Block& inner : n.blocks) found = found || reads(inner, id);
  }
  return found;
}

// Every way to make a block one step smaller, tried in order; `accept` says whether it still fails.
class Shrinker {
 public:
  Shrinker(Block b, std::uint64_t seed, std::string want, const Check& check)
      : best_(std::move(b)), seed_(seed), want_(std::move(want)), check_(check) {}

  Block run() {
    for (bool smaller = true; smaller && tried_ < 4000;) {
      smaller = false;
      for (std::size_t path = 0; path < blocks(best_).size(); ++path) {
        smaller |= drop_outputs(path);
        smaller |= drop_nodes(path);
        smaller |= inline_nodes(path);
        smaller |= smaller_params(path);
      }
      smaller |= drop_inputs();
      smaller |= smaller_sizes();
    }
    return best_;
  }

 private:
  static void collect(Block& b, std::vector<Block*>& out) {
    out.push_back(&b);
    for (Node& n : b.nodes)
      for (Block& inner : n.blocks) collect(inner, out);
  }
  static std::vector<Block*> blocks(Block& b) {
    std::vector<Block*> out;
    collect(b, out);
    return out;
  }
  bool accept(const Block& candidate) {
    ++tried_;
    if (!valid(candidate) || kind(check_(candidate, seed_)) != want_) return false;
    best_ = candidate;
    return true;
  }

  // Only the outermost block's outputs are free to go.
  bool drop_outputs(std::size_t path) {
    bool any = false;
    for (std::size_t i = 0; path == 0 && i < best_.outputs.size() && best_.outputs.size() > 1;) {
      Block c = best_;
      c.outputs.erase(c.outputs.begin() + static_cast<std::ptrdiff_t>(i));
      if (accept(c)) any = true;
      else ++i;
    }
    return any;
  }

  // Without node i of a block; its values become any earlier visible value (types are checked by running it).
  bool drop_nodes(std::size_t path) {
    bool any = false;
    for (std::size_t i = blocks(best_)[path]->nodes.size(); i-- > 0;) {
      const Node node = blocks(best_)[path]->nodes[i];
      std::vector<Id> visible = visible_before(path, i);
      auto without = [&](Id instead) {
        Block c = best_;
        Block& b = *blocks(c)[path];
        b.nodes.erase(b.nodes.begin() + static_cast<std::ptrdiff_t>(i));
        for (Id id : node.out) replace_value(b, id, instead);
        return accept(c);
      };
      bool read = false;
      for (Id id : node.out) read = read || reads(*blocks(best_)[path], id);
      bool dropped = false;
      if (!read) {
        dropped = without(node.out[0]);
      } else {
        std::vector<Id> order = node.in;
        order.insert(order.end(), visible.rbegin(), visible.rend());
        for (std::size_t k = 0; k < order.size() && !dropped; ++k) dropped = without(order[k]);
      }
      any = any || dropped;
      if (i > blocks(best_)[path]->nodes.size()) i = blocks(best_)[path]->nodes.size();
    }
    return any;
  }
  std::vector<Id> visible_before(std::size_t path, std::size_t i) {
    std::vector<Id> out;
    Block* target = blocks(best_)[path];
    std::function<bool(Block&)> walk = [&](Block& b) {
      std::size_t mark = out.size();
      for (const Parameter& p : b.inputs) out.push_back(p.id);
      for (std::size_t k = 0; k < b.nodes.size(); ++k) {
        if (&b == target && k == i) return true;
        for (Block& inner : b.nodes[k].blocks)
          if (walk(inner)) return true;
        out.insert(out.end(), b.nodes[k].out.begin(), b.nodes[k].out.end());
      }
      if (&b == target) return true;
      out.resize(mark);
      return false;
    };
    walk(best_);
    return out;
  }

  // checkpoint, jit, ... : the body in place of the call.
  bool inline_nodes(std::size_t path) {
    bool any = false;
    for (std::size_t i = 0; i < blocks(best_)[path]->nodes.size(); ++i) {
      const Node n = blocks(best_)[path]->nodes[i];
      if (n.blocks.empty() || n.blocks[0].inputs.size() != n.in.size() || n.blocks[0].outputs.size() != n.out.size())
        continue;
      Block c = best_, body = n.blocks[0];
      for (std::size_t k = 0; k < n.in.size(); ++k) replace_value(body, body.inputs[k].id, n.in[k]);
      Block& b = *blocks(c)[path];
      auto at = b.nodes.erase(b.nodes.begin() + static_cast<std::ptrdiff_t>(i));
      b.nodes.insert(at, body.nodes.begin(), body.nodes.end());
      for (std::size_t k = 0; k < n.out.size(); ++k) replace_value(b, n.out[k], body.outputs[k]);
      any = accept(c) || any;
    }
    return any;
  }

  bool smaller_params(std::size_t path) {
    bool any = false;
    for (std::size_t i = 0; i < blocks(best_)[path]->nodes.size(); ++i) {
      for (std::size_t k = 0; k < blocks(best_)[path]->nodes[i].params.size(); ++k) {
        for (std::int64_t to : {0, 1, 2}) {
          if (blocks(best_)[path]->nodes[i].params[k] <= to) break;
          Block c = best_;
          blocks(c)[path]->nodes[i].params[k] = to;
          if (accept(c)) {
            any = true;
            break;
          }
        }
      }
    }
    return any;
  }

  bool drop_inputs() {
    bool any = false;
    for (std::size_t i = best_.inputs.size(); i-- > 0;) {
      if (best_.inputs.size() == 1) break;
      Block c = best_;
      Id id = c.inputs[i].id;
      c.inputs.erase(c.inputs.begin() + static_cast<std::ptrdiff_t>(i));
      if (reads(c, id)) replace_value(c, id, c.inputs[0].id);
      any = accept(c) || any;
    }
    return any;
  }

  // One size for another in all parameters of all blocks.
  bool smaller_sizes() {
    bool any = false;
    for (std::int64_t from : {5, 4, 3, 2, 0}) {
      for (std::int64_t to : {1, 2}) {
        if (from != 0 && to >= from) continue;
        Block c = best_;
        bool changed = false;
        for (Block* b : blocks(c))
          for (Parameter& p : b->inputs)
            for (std::int64_t& d : p.type.shape)
              if (d == from) d = to, changed = true;
        if (changed && accept(c)) any = true;
      }
    }
    return any;
  }

  Block best_;
  std::uint64_t seed_;
  std::string want_;
  const Check& check_;
  int tried_ = 0;
};

}  // namespace

Block shrink(Block b, std::uint64_t seed, const std::string& failure, const Check& check) {
  return Shrinker(std::move(b), seed, kind(failure), check).run();
}

}  // namespace anew::fuzz
