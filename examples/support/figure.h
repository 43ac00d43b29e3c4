// Pictures of the examples: panels with lines, points and images, written as one SVG file that any browser shows, in
// light and dark. Drawing is plain C++; arrays come in as they are.
#pragma once
#include <anew/anew.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace show {

struct Series {
  std::vector<double> x, y;
  std::string label;
  bool points = false;
  bool dashed = false;
};

// How values become colours: dark to bright, or blue over white to red for values around zero.
enum class Colours { heat, signs };

class Panel {
 public:
  explicit Panel(std::string title, std::string x = "", std::string y = "") : title_(title), x_(x), y_(y) {}

  // y over x, or over 0, 1, 2, ...; a label puts it into the legend.
  Panel& line(const anew::Array& x, const anew::Array& y, std::string label = "");
  Panel& line(const anew::Array& y, std::string label = "");
  Panel& dashed(const anew::Array& x, const anew::Array& y, std::string label = "");
  Panel& points(const anew::Array& x, const anew::Array& y, std::string label = "");
  // A matrix, row 0 on top; colours run over [lo, hi], the range of its values unless given.
  Panel& image(const anew::Array& values, Colours colours = Colours::heat, std::optional<double> lo = {},
               std::optional<double> hi = {});
  Panel& log_y();       // a logarithmic scale upwards
  Panel& equal_axes();  // one unit is as long in both directions

 private:
  friend class Figure;
  std::string title_, x_, y_;
  std::vector<Series> series_;
  std::optional<anew::Array> image_;
  Colours colours_ = Colours::heat;
  double lo_ = 0, hi_ = 1;
  bool log_y_ = false, equal_ = false;
};

class Figure {
 public:
  explicit Figure(std::string title, int columns = 3) : title_(std::move(title)), columns_(columns) {}
  Panel& panel(std::string title, std::string x = "", std::string y = "");
  std::string svg() const;
  // Writes the picture and says where.
  void save(const std::filesystem::path& path) const;

 private:
  std::string title_;
  int columns_;
  std::vector<std::unique_ptr<Panel>> panels_;
};

}  // namespace show
