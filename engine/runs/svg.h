// A small writer of SVG 1.1: lines, marks and text in pixels, y downwards. All text is escaped.
// Called by engine/runs/chart.
// Source: w3.org/TR/SVG11.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace annulus::runs {

struct Point {
  double x, y;
};

struct Stroke {
  std::string colour;  // "#0072b2"
  double width = 1;
  std::string dashes = {};  // "6 4"; empty: solid
};

enum class Anchor { start, middle, end };

struct Font {
  double size = 13;
  Anchor anchor = Anchor::start;
  bool bold = false;
};

class Svg {
 public:
  Svg(double width, double height, std::string_view title);  // on white

  void line(Point from, Point to, const Stroke& stroke);
  void path(const std::vector<Point>& points, const Stroke& stroke);
  void dot(Point centre, double radius, const std::string& colour);
  void ring(Point centre, double radius, const Stroke& stroke);
  void text(Point baseline, std::string_view text, const Font& font = {});

  // What is drawn in between belongs together; readers show the title where the mouse points.
  void begin_group(std::string_view title);
  void end_group();

  std::string finish() const;  // the whole document

 private:
  std::string document_;
};

// An estimate of how wide `text` is drawn, a little on the large side.
double text_width(std::string_view text, double size);

}  // namespace annulus::runs
