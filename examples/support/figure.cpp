#include "figure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <limits>

#include "png.h"

namespace show {
namespace {

constexpr double width = 320, height = 250, left = 52, right = 12, top = 30, bottom = 40, header = 36;

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", v);
  return text;
}
std::string place(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", v);
  return text;
}
std::string escaped(const std::string& s) {
  std::string out;
  for (char c : s) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : c == '>' ? "&gt;" : std::string(1, c);
  return out;
}

// From values to places on the page, and the values where ticks stand.
struct Scale {
  double lo, hi, from, to;
  bool log = false;
  double operator()(double v) const {
    if (log) return from + (to - from) * (std::log10(v) - std::log10(lo)) / (std::log10(hi) - std::log10(lo));
    return from + (to - from) * (v - lo) / (hi - lo);
  }
  std::vector<double> ticks() const {
    std::vector<double> out;
    if (log) {
      for (double p = std::floor(std::log10(lo)); p <= std::log10(hi); ++p)
        if (std::pow(10, p) >= lo * (1 - 1e-9)) out.push_back(std::pow(10, p));
      if (out.size() > 1) return out;
      return {lo, hi};
    }
    const double rough = (hi - lo) / 6, unit = std::pow(10, std::floor(std::log10(rough)));
    double step = unit;
    for (double factor : {2.0, 5.0, 10.0})
      if (step < rough) step = unit * factor;
    for (double v = std::ceil(lo / step) * step; v <= hi + 1e-9 * step; v += step)
      out.push_back(std::abs(v) < 1e-9 * step ? 0 : v);
    return out;
  }
};

struct Range {
  double lo = std::numeric_limits<double>::infinity(), hi = -lo;
  void add(double v) {
    if (std::isfinite(v)) lo = std::min(lo, v), hi = std::max(hi, v);
  }
  void pad(bool log) {
    if (!(lo <= hi)) lo = 0, hi = 1;
    if (log) {
      lo /= 1.1, hi *= 1.1;
    } else {
      const double room = hi > lo ? 0.04 * (hi - lo) : std::max(1.0, std::abs(hi));
      lo -= room, hi += room;
    }
  }
};

const std::array<const char*, 6> inks = {"#3b6fd4", "#d9622b", "#2c9a62", "#a34bb8", "#b08a00", "#5c6b7a"};

void text(std::string& out, double x, double y, const std::string& s, const char* more) {
  out += "<text x='" + place(x) + "' y='" + place(y) + "' " + more + ">" + escaped(s) + "</text>\n";
}
void rule(std::string& out, double x1, double y1, double x2, double y2, const char* kind) {
  out += "<line x1='" + place(x1) + "' y1='" + place(y1) + "' x2='" + place(x2) + "' y2='" + place(y2) + "' class='" +
         kind + "'/>\n";
}

void draw_series(std::string& out, const Series& s, const Scale& x, const Scale& y, const char* ink) {
  std::string path;
  bool pen_down = false;
  for (std::size_t i = 0; i < s.y.size(); ++i) {
    const bool visible = std::isfinite(s.y[i]) && std::isfinite(s.x[i]) && (!y.log || s.y[i] > 0);
    if (s.points) {
      if (visible)
        out += "<circle cx='" + place(x(s.x[i])) + "' cy='" + place(y(s.y[i])) + "' r='2.1' fill='" + ink +
               "' fill-opacity='.65'/>\n";
    } else if (visible) {
      path += (pen_down ? "L" : "M") + place(x(s.x[i])) + " " + place(y(s.y[i]));
    }
    pen_down = visible;
  }
  if (!path.empty())
    out += "<path d='" + path + "' fill='none' stroke='" + ink + "' stroke-width='1.6'" +
           (s.dashed ? " stroke-dasharray='5 4'" : "") + "/>\n";
}

// In the corner where the fewest points of curves would lie behind it.
void draw_legend(std::string& out, const std::vector<Series>& all, const Scale& x, const Scale& y) {
  std::size_t longest = 0, labels = 0;
  for (const Series& s : all) longest = std::max(longest, s.label.size()), labels += !s.label.empty();
  if (labels == 0) return;
  const double wide = 22 + 6.0 * static_cast<double>(longest), high = 4 + 14.0 * static_cast<double>(labels);
  double corner_x = 0, corner_y = 0;
  int least = std::numeric_limits<int>::max();
  for (const auto& [at, down] : {std::pair(x.to - wide, y.to), std::pair(x.from + 4, y.to),
                                 std::pair(x.to - wide, y.from - high), std::pair(x.from + 4, y.from - high)}) {
    int behind = 0;
    for (const Series& s : all) {
      for (std::size_t i = 0; i + 1 < s.y.size(); ++i) {
        for (double t = 0; t < 1; t += 0.125) {
          const double px = x(s.x[i] + t * (s.x[i + 1] - s.x[i])), py = y(s.y[i] + t * (s.y[i + 1] - s.y[i]));
          behind += px >= at && px <= at + wide && py >= down && py <= down + high;
        }
      }
    }
    if (behind < least) least = behind, corner_x = at, corner_y = down;
  }
  out += "<rect class='page' fill-opacity='.8' x='" + place(corner_x) + "' y='" + place(corner_y) + "' width='" +
         place(wide) + "' height='" + place(high) + "'/>\n";
  double key = corner_y + 12;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].label.empty()) continue;
    out += "<rect x='" + place(corner_x + 3) + "' y='" + place(key - 7) + "' width='12' height='4' fill='" +
           inks[i % inks.size()] + "'/>\n";
    text(out, corner_x + 19, key, all[i].label, "");
    key += 14;
  }
}

std::vector<double> numbers(const anew::Array& x) { return anew::ravel(x).to_vector<double>(); }

}  // namespace

Panel& Panel::line(const anew::Array& x, const anew::Array& y, std::string label) {
  series_.push_back({numbers(x), numbers(y), std::move(label)});
  return *this;
}
Panel& Panel::line(const anew::Array& y, std::string label) {
  return line(anew::arange(y.size()), y, std::move(label));
}
Panel& Panel::dashed(const anew::Array& x, const anew::Array& y, std::string label) {
  line(x, y, std::move(label));
  series_.back().dashed = true;
  return *this;
}
Panel& Panel::points(const anew::Array& x, const anew::Array& y, std::string label) {
  line(x, y, std::move(label));
  series_.back().points = true;
  return *this;
}
Panel& Panel::image(const anew::Array& values, Colours colours, std::optional<double> lo, std::optional<double> hi) {
  image_ = values;
  colours_ = colours;
  lo_ = lo ? *lo : anew::min(values).item(), hi_ = hi ? *hi : anew::max(values).item();
  if (colours == Colours::signs && !lo && !hi) hi_ = std::max(std::abs(lo_), std::abs(hi_)), lo_ = -hi_;
  return *this;
}
Panel& Panel::log_y() {
  log_y_ = true;
  return *this;
}
Panel& Panel::equal_axes() {
  equal_ = true;
  return *this;
}

Panel& Figure::panel(std::string title, std::string x, std::string y) {
  panels_.push_back(std::make_unique<Panel>(std::move(title), std::move(x), std::move(y)));
  return *panels_.back();
}

std::string Figure::svg() const {
  const int count = static_cast<int>(panels_.size()), columns = std::max(1, std::min(columns_, count));
  const int rows = (count + columns - 1) / columns;
  const double page_width = columns * width, page_height = header + rows * height;
  std::string out =
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " + number(page_width) + " " + number(page_height) +
      "' width='" + number(page_width) + "' font-family='system-ui,sans-serif' font-size='11'>\n" +
      "<style>.page{fill:#fff}text{fill:#333}.axis{stroke:#888}.grid{stroke:#e3e6ea}"
      "@media(prefers-color-scheme:dark){.page{fill:#16181c}text{fill:#ccd}.axis{stroke:#778}.grid{stroke:#2b2f36}}"
      "</style>\n<rect class='page' width='100%' height='100%'/>\n";
  text(out, 14, 24, title_, "font-size='16' font-weight='600'");
  for (int n = 0; n < count; ++n) {
    const Panel& p = *panels_[static_cast<std::size_t>(n)];
    const double x0 = (n % columns) * width, y0 = header + (n / columns) * height;
    text(out, x0 + left, y0 + 20, p.title_, "font-weight='600'");
    const double inner_width = width - left - right, inner_height = height - top - bottom;
    if (p.image_) {
      const double rows_of = static_cast<double>(p.image_->shape()[0]),
                   columns_of = static_cast<double>(p.image_->shape()[1]);
      const double size = std::min(inner_width / columns_of, inner_height / rows_of);
      const bool thin = columns_of > 3 * rows_of || rows_of > 3 * columns_of;
      const double w = thin ? inner_width : size * columns_of, h = thin ? inner_height : size * rows_of;
      const double x = x0 + left + (inner_width - w) / 2, y = y0 + top;
      out += "<image x='" + place(x) + "' y='" + place(y) + "' width='" + place(w) + "' height='" + place(h) +
             "' preserveAspectRatio='none' style='image-rendering:pixelated' href='data:image/png;base64," +
             png(numbers(*p.image_), static_cast<std::size_t>(rows_of), static_cast<std::size_t>(columns_of), p.lo_,
                 p.hi_, p.colours_ == Colours::signs) +
             "'/>\n";
      text(out, x + w / 2, y + h + 14, p.x_.empty() ? number(p.lo_) + " to " + number(p.hi_) : p.x_,
           "text-anchor='middle'");
      continue;
    }
    Range xs, ys;
    for (const Series& s : p.series_) {
      for (double v : s.x) xs.add(v);
      for (double v : s.y)
        if (!p.log_y_ || v > 0) ys.add(v);
    }
    xs.pad(false);
    ys.pad(p.log_y_);
    if (p.equal_) {
      const double unit = std::max((xs.hi - xs.lo) / inner_width, (ys.hi - ys.lo) / inner_height);
      const double cx = (xs.lo + xs.hi) / 2, cy = (ys.lo + ys.hi) / 2;
      xs = {cx - unit * inner_width / 2, cx + unit * inner_width / 2};
      ys = {cy - unit * inner_height / 2, cy + unit * inner_height / 2};
    }
    const Scale x{xs.lo, xs.hi, x0 + left, x0 + width - right},
        y{ys.lo, ys.hi, y0 + height - bottom, y0 + top, p.log_y_};
    for (double v : x.ticks()) {
      rule(out, x(v), y.from, x(v), y.to, "grid");
      text(out, x(v), y.from + 14, number(v), "text-anchor='middle'");
    }
    for (double v : y.ticks()) {
      rule(out, x.from, y(v), x.to, y(v), "grid");
      text(out, x.from - 5, y(v) + 4, number(v), "text-anchor='end'");
    }
    rule(out, x.from, y.from, x.to, y.from, "axis");
    rule(out, x.from, y.from, x.from, y.to, "axis");
    text(out, (x.from + x.to) / 2, y.from + 30, p.x_, "text-anchor='middle'");
    text(out, x0 + left - 40, y0 + 20, p.y_, "");
    for (std::size_t i = 0; i < p.series_.size(); ++i) draw_series(out, p.series_[i], x, y, inks[i % inks.size()]);
    draw_legend(out, p.series_, x, y);
  }
  return out + "</svg>\n";
}

void Figure::save(const std::filesystem::path& path) const {
  std::ofstream file(path);
  file << svg();
  if (!file.flush()) throw std::runtime_error("could not write " + path.string());
  std::cout << "picture: " << path.string() << "\n";
}

}  // namespace show
