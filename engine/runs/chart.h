// Charts of several runs in one SVG picture: panels that share their x axis' meaning, a colour for
// each run in all of them, one legend above. Called by engine/runs/plot.
#pragma once

#include <string>
#include <vector>

#include "engine/runs/svg.h"

namespace annulus::runs {

struct Curve {
  std::size_t run;  // whose colour and name it has
  std::string what;
  bool secondary = false;     // drawn dashed and thin, behind the others
  std::vector<Point> points;  // in data; a y that is not finite is a gap
};

enum class YAxis {
  fitted,     // as the values are; logarithmic where they span more than two powers of ten
  from_zero,  // for amounts that are compared
  share,      // 0 to 1
};

struct Panel {
  std::string title;
  YAxis y_axis = YAxis::fitted;
  std::vector<Curve> curves;
};

struct Chart {
  std::vector<std::string> runs;  // their names
  std::string x_title;
  bool whole_x = true;        // x counts
  std::string key;            // under the legend: what solid and dashed lines are
  std::vector<Panel> panels;  // at least one, each with a point to draw
};

std::string draw(const Chart& chart);  // an SVG document, 1000 pixels wide

}  // namespace annulus::runs
