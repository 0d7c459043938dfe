// See chart.h. The colours are those of Okabe and Ito, which colour-blind readers tell apart
// (jfly.uni-koeln.de/color); their yellow is left out, as it is hard to see on white.
#include "engine/runs/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "engine/runs/axis.h"
#include "engine/terminal_text.h"

namespace annulus::runs {
namespace {

constexpr std::array kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                              "#e69f00", "#56b4e9", "#000000"};
constexpr double kWidth = 1000, kMargin = 16;
constexpr double kPanelHeight = 300, kLegendRow = 22, kLegendFont = 13, kSwatch = 26;
constexpr double kLeft = 66, kRight = 30, kTop = 34, kBottom = 48;  // inside a panel
const Stroke kGrid{"#dddddd", 1}, kFrame{"#666666", 1};

struct Box {
  double x, y, width, height;
};

Stroke stroke_of(std::size_t run, bool secondary) {
  Stroke stroke{kColours[run % kColours.size()], secondary ? 1.2 : 2};
  if (secondary)
    stroke.dashes = "3 3";
  else if (run >= kColours.size())
    stroke.dashes = "10 3";  // the colours' second round
  return stroke;
}

// --- legend
// -----------------------------------------------------------------------------------------

struct LegendEntry {
  std::size_t run;
  std::string name;
  double x;  // of its swatch
  int row;
};

// Entries as wide as their names, in as many rows as that takes.
std::vector<LegendEntry> legend_of(const Chart& chart) {
  constexpr std::size_t kLongest = 60;  // characters
  std::vector<LegendEntry> entries;
  double x = kMargin;
  int row = 0;
  for (std::size_t run = 0; run < chart.runs.size(); ++run) {
    const std::string name = shortened(terminal_text(chart.runs[run]), kLongest);
    const double width = kSwatch + 8 + text_width(name, kLegendFont) + 22;
    if (x + width > kWidth - kMargin && x > kMargin) {
      x = kMargin;
      ++row;
    }
    entries.push_back({run, name, x, row});
    x += width;
  }
  return entries;
}

void draw_legend(Svg& svg, const std::vector<LegendEntry>& entries) {
  for (const LegendEntry& entry : entries) {
    const double baseline = kMargin + 10 + kLegendRow * entry.row;
    svg.line({entry.x, baseline - 4}, {entry.x + kSwatch, baseline - 4},
             stroke_of(entry.run, false));
    svg.text({entry.x + kSwatch + 8, baseline}, entry.name, {.size = kLegendFont});
  }
}

// --- axes
// -------------------------------------------------------------------------------------------

struct Axes {
  Axis x, y;
  Box box;  // of the plotting area

  Point place(Point data) const {
    return {box.x + x.fraction(data.x) * box.width, box.y + (1 - y.fraction(data.y)) * box.height};
  }
};

// Of one coordinate of all points that are drawn.
Extent extent_of(std::span<const Panel> panels, double Point::*coordinate) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Extent extent{kInfinity, -kInfinity};
  for (const Panel& panel : panels)
    for (const Curve& curve : panel.curves)
      for (const Point& point : curve.points) {
        if (!std::isfinite(point.y)) continue;
        extent.low = std::min(extent.low, point.*coordinate);
        extent.high = std::max(extent.high, point.*coordinate);
      }
  return extent;
}

Axis y_axis_of(const Panel& panel) {
  constexpr int kMostTicks = 6;
  constexpr double kManyTimes = 100;
  Extent extent = extent_of({&panel, 1}, &Point::y);
  if (panel.y_axis == YAxis::share)
    extent = {std::min(0.0, extent.low), std::max(1.0, extent.high)};
  if (panel.y_axis == YAxis::from_zero) extent.low = std::min(0.0, extent.low);
  if (panel.y_axis == YAxis::fitted && extent.low > 0 && extent.high > kManyTimes * extent.low)
    return logarithmic_axis(extent, kMostTicks);
  return linear_axis(extent, kMostTicks, Rounding::outwards);
}

Axes axes_of(const Chart& chart, const Panel& panel, const Box& outer) {
  const Extent x = extent_of(chart.panels, &Point::x);
  const Box inner{outer.x + kLeft, outer.y + kTop, outer.width - kLeft - kRight,
                  outer.height - kTop - kBottom};
  const int most_ticks = static_cast<int>(inner.width / 60);
  return {chart.whole_x ? integer_axis(x, most_ticks)
                        : linear_axis({0, x.high}, most_ticks, Rounding::none),
          y_axis_of(panel), inner};
}

void draw_axes(Svg& svg, const Axes& axes, const std::string& x_title) {
  const auto& [x, y, box] = axes;
  constexpr double kFont = 12;
  for (const double tick : y.ticks) {
    const double at = axes.place({x.low, tick}).y;
    svg.line({box.x, at}, {box.x + box.width, at}, kGrid);
    svg.text({box.x - 8, at + 4}, y.label(tick), {.size = kFont, .anchor = Anchor::end});
  }
  for (const double tick : x.ticks) {
    const double at = axes.place({tick, y.low}).x;
    svg.line({at, box.y + box.height}, {at, box.y + box.height + 4}, kFrame);
    svg.text({at, box.y + box.height + 18}, x.label(tick),
             {.size = kFont, .anchor = Anchor::middle});
  }
  svg.line({box.x, box.y}, {box.x, box.y + box.height}, kFrame);
  svg.line({box.x, box.y + box.height}, {box.x + box.width, box.y + box.height}, kFrame);
  svg.text({box.x + box.width / 2, box.y + box.height + 38}, x_title,
           {.size = kFont, .anchor = Anchor::middle});
}

// --- curves
// -----------------------------------------------------------------------------------------

// The parts between the gaps.
std::vector<std::vector<Point>> parts_of(const Curve& curve) {
  std::vector<std::vector<Point>> parts(1);
  for (const Point& point : curve.points) {
    if (std::isfinite(point.y))
      parts.back().push_back(point);
    else if (!parts.back().empty())
      parts.emplace_back();
  }
  return parts;
}

void draw_mark(Svg& svg, Point place, const Curve& curve) {
  constexpr double kRadius = 3;
  if (curve.secondary)
    svg.ring(place, kRadius, {.colour = stroke_of(curve.run, false).colour});
  else
    svg.dot(place, kRadius, stroke_of(curve.run, false).colour);
}

// Few points are marked; a point between gaps always, as no line would show it.
void draw_curve(Svg& svg, const Axes& axes, const Curve& curve, const std::string& name) {
  constexpr std::size_t kFew = 30;
  const bool marked = curve.points.size() <= kFew && !curve.secondary;
  svg.begin_group(fmt::format("{}: {}", name, curve.what));
  for (const std::vector<Point>& part : parts_of(curve)) {
    std::vector<Point> places;
    for (const Point& point : part) places.push_back(axes.place(point));
    if (places.size() > 1) svg.path(places, stroke_of(curve.run, curve.secondary));
    if (places.size() == 1 || marked)
      for (const Point& place : places) draw_mark(svg, place, curve);
  }
  svg.end_group();
}

void draw_panel(Svg& svg, const Chart& chart, const Panel& panel, const Box& outer) {
  const Axes axes = axes_of(chart, panel, outer);
  svg.text({axes.box.x, outer.y + kTop - 12}, panel.title, {.size = 14, .bold = true});
  draw_axes(svg, axes, chart.x_title);
  for (const bool secondary : {true, false})
    for (const Curve& curve : panel.curves)
      if (curve.secondary == secondary) draw_curve(svg, axes, curve, chart.runs[curve.run]);
}

}  // namespace

std::string draw(const Chart& chart) {
  const std::vector<LegendEntry> legend = legend_of(chart);
  const std::size_t columns = std::min<std::size_t>(2, chart.panels.size());
  const std::size_t rows = (chart.panels.size() + columns - 1) / columns;
  double top = kMargin + kLegendRow * (legend.back().row + 1);
  const double key_baseline = top + 10;
  if (!chart.key.empty()) top += kLegendRow;

  Svg svg(kWidth, top + kPanelHeight * double(rows) + kMargin, chart.runs.front());
  draw_legend(svg, legend);
  svg.text({kMargin, key_baseline}, chart.key, {.size = 12});
  const double width = kWidth / double(columns);
  for (std::size_t i = 0; i < chart.panels.size(); ++i) {
    const std::size_t row = i / columns, column = i % columns;
    draw_panel(svg, chart, chart.panels[i],
               {width * double(column), top + kPanelHeight * double(row), width, kPanelHeight});
  }
  return svg.finish();
}

}  // namespace annulus::runs
