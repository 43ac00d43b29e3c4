// Replacing loads. Boxes are found along each loop variable by itself: an index that crosses the border of a part at
// some value of its variable makes a cut there, so that afterwards every box lies inside or outside of every part.
#include "passes/fuse_inline.h"

#include <algorithm>

namespace anew::passes {
namespace {

// Cuts the nest of a reader as a match wants it, and maps found before with it.
void cut_for(const Match& m, Draft& reader, std::vector<Map>& maps) {
  for (const Cut& cut : m.cuts) {
    const std::size_t rank = reader.extents().size();
    for (Map& map : maps)
      for (loops::Affine& f : map) f = compose(f, map_of(cut, rank), rank + 1);
    reader.cut(cut);
  }
}

struct Interval {
  std::int64_t begin, end;
};
using Box = std::vector<Interval>;

// The elements that a part writes, along each dimension; nothing if they have gaps.
std::optional<Box> region(const Draft& part) {
  Box box;
  for (const loops::Affine& f : part.puts()[0].to.index) {
    Interval i{f.constant, f.constant + 1};
    for (std::size_t v = 0; v < f.coefficients.size(); ++v) {
      if (f.coefficients[v] == 0) continue;
      if (f.coefficients[v] != 1 || i.end != f.constant + 1) return std::nullopt;
      i.end = f.constant + part.extents()[v];
    }
    box.push_back(i);
  }
  return box;
}

// Adds the value of f's only variable at which f crosses `border`; false if it has several variables.
bool add_border(const loops::Affine& f, std::int64_t border, const Extents& extents,
                std::vector<std::vector<std::int64_t>>& borders) {
  std::size_t variable = extents.size();
  for (std::size_t v = 0; v < extents.size(); ++v) {
    if (f.coefficients[v] == 0) continue;
    if (variable < extents.size()) return false;
    variable = v;
  }
  if (variable == extents.size()) return true;
  // The first value on the other side; positive numbers are divided, so that division rounds down.
  const std::int64_t c = f.coefficients[variable];
  std::int64_t at = 0;
  if (c > 0) at = border <= f.constant ? 0 : (border - f.constant + c - 1) / c;
  else at = f.constant < border ? 0 : (f.constant - border) / -c + 1;
  if (at > 0 && at < extents[variable]) borders[variable].push_back(at);
  return true;
}

Interval range(const loops::Affine& f, const Extents& extents) {
  Interval r{f.constant, f.constant + 1};
  for (std::size_t v = 0; v < extents.size(); ++v) {
    const std::int64_t reach = f.coefficients[v] * (extents[v] - 1);
    (reach < 0 ? r.begin : r.end) += reach;
  }
  return r;
}

// The part that a box of the reader loads from: the last that has all of it.
const Draft* part_of(const Map& map, const Extents& extents, const std::vector<const Draft*>& parts) {
  for (std::size_t k = parts.size(); k-- > 0;) {
    const Box box = *region(*parts[k]);
    bool inside = true, outside = false;
    for (std::size_t d = 0; d < box.size(); ++d) {
      const Interval r = range(map[d], extents);
      inside = inside && box[d].begin <= r.begin && r.end <= box[d].end;
      outside = outside || r.end <= box[d].begin || box[d].end <= r.begin;
    }
    if (inside) return parts[k];
    if (!outside) return nullptr;
  }
  return nullptr;
}

// The nest of a box: variables that run once are constants.
Draft restricted(Draft reader, const Box& box, Map& map) {
  Extents extents;
  for (const Interval& i : box)
    if (i.end - i.begin > 1) extents.push_back(i.end - i.begin);
  map.assign(box.size(), loops::Affine{std::vector<std::int64_t>(extents.size()), 0});
  for (std::size_t v = 0, i = 0; v < box.size(); ++v) {
    map[v].constant = box[v].begin;
    if (box[v].end - box[v].begin > 1) map[v].coefficients[i++] = 1;
  }
  reader.move_to(map, extents, std::vector<bool>(extents.size(), false));
  return reader;
}

using Makers = std::vector<std::vector<const Draft*>>;

// Which element of its array each load of the reader meets; the reader's nest is cut where that takes it.
std::optional<std::vector<Map>> maps_to_arrays(const Body& body, Draft& reader, const Makers& makers) {
  std::vector<Map> maps(makers.size());
  for (std::size_t l = 0; l < makers.size(); ++l) {
    if (makers[l].empty()) continue;
    for (const Draft* part : makers[l])
      if (part->puts()[0].to.value != makers[l][0]->puts()[0].to.value) return std::nullopt;
    const Value& whole = body.values[makers[l][0]->puts()[0].to.value];
    const Extents shape(whole.type.shape.begin(), whole.type.shape.end());
    const Address stored{whole.offset / static_cast<std::int64_t>(size_of(whole.type.dtype)),
                         {whole.strides.begin(), whole.strides.end()}};
    std::optional<Match> m = match(stored, shape, reader.loads()[l].address, reader.extents());
    if (!m) return std::nullopt;
    cut_for(*m, reader, maps);
    maps[l] = std::move(m->map);
  }
  return maps;
}

// Where boxes begin along each variable, and the end of the last; nothing where there would be more than `most`.
using Borders = std::vector<std::vector<std::int64_t>>;
std::optional<Borders> borders_of(const Draft& reader, const Makers& makers, const std::vector<Map>& maps,
                                  std::size_t most) {
  Borders borders(reader.extents().size(), {0});
  for (std::size_t l = 0; l < makers.size(); ++l)
    for (const Draft* part : makers[l]) {
      const std::optional<Box> box = region(*part);
      if (!box) return std::nullopt;
      for (std::size_t d = 0; d < box->size(); ++d)
        for (std::int64_t border : {(*box)[d].begin, (*box)[d].end})
          if (!add_border(maps[l][d], border, reader.extents(), borders)) {
            const Interval r = range(maps[l][d], reader.extents());
            if (border > r.begin && border < r.end) return std::nullopt;
          }
    }
  std::size_t boxes = 1;
  for (std::size_t v = 0; v < borders.size(); ++v) {
    std::sort(borders[v].begin(), borders[v].end());
    borders[v].erase(std::unique(borders[v].begin(), borders[v].end()), borders[v].end());
    boxes *= borders[v].size();
    if (boxes > most) return std::nullopt;
    borders[v].push_back(reader.extents()[v]);
  }
  return borders;
}

}  // namespace

std::optional<Draft> inlined(Draft reader, const std::vector<const Draft*>& makers) {
  std::vector<Map> maps(makers.size());
  for (std::size_t l = 0; l < makers.size(); ++l) {
    if (!makers[l]) continue;
    const DraftAccess &p = reader.loads()[l], &from = makers[l]->puts()[0].to;
    if (p.dtype != from.dtype) return std::nullopt;
    std::optional<Match> m = match(from.address, makers[l]->extents(), p.address, reader.extents());
    if (!m) return std::nullopt;
    cut_for(*m, reader, maps);
    maps[l] = std::move(m->map);
  }
  Draft out = Draft::over_nest_of(reader);
  std::vector<int> instead(makers.size(), -1);
  for (std::size_t l = 0; l < makers.size(); ++l) {
    if (!makers[l]) continue;
    Draft part = *makers[l];
    part.move_to(maps[l], out.extents(), out.reduced());
    out.append(part, std::vector<int>(part.loads().size(), -1));
    instead[l] = out.read_back(0);
    out.drop_put(0);
  }
  out.append(reader, instead);
  out.prune();
  return out;
}

std::vector<Draft> inlined_parts(const Body& body, Draft reader, std::vector<std::vector<const Draft*>> makers,
                                 std::size_t most) {
  const std::optional<std::vector<Map>> maps = maps_to_arrays(body, reader, makers);
  if (!maps) return {};
  const std::optional<Borders> borders = borders_of(reader, makers, *maps, most);
  if (!borders) return {};
  std::size_t boxes = 1;
  for (const auto& along : *borders) boxes *= along.size() - 1;
  std::vector<Draft> out;
  for (std::size_t b = 0; b < boxes; ++b) {
    Box box(borders->size());
    std::size_t rest = b;
    for (std::size_t v = box.size(); v-- > 0;) {
      const auto& along = (*borders)[v];
      const std::size_t k = rest % (along.size() - 1);
      rest /= along.size() - 1;
      box[v] = {along[k], along[k + 1]};
    }
    Map inside;
    Draft piece = restricted(reader, box, inside);
    std::vector<const Draft*> parts(makers.size(), nullptr);
    for (std::size_t l = 0; l < makers.size(); ++l) {
      if (makers[l].empty()) continue;
      Map map;
      for (const loops::Affine& f : (*maps)[l]) map.push_back(compose(f, inside, piece.extents().size()));
      parts[l] = part_of(map, piece.extents(), makers[l]);
      if (!parts[l]) return {};
    }
    std::optional<Draft> done = inlined(std::move(piece), parts);
    if (!done) return {};
    out.push_back(std::move(*done));
  }
  return out;
}

}  // namespace anew::passes
