// The picture of runs: where points come to lie, what its axes say, gaps, names that need
// escaping; and a parser of XML that is not ours, where python3 is.
#include "engine/runs/plot.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "engine/runs/axis.h"
#include "engine/runs/chart.h"
#include "kernels/check.h"
#include "tests/engine/runs/run_files.h"
#include "tests/pattern.h"

namespace annulus::runs {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> labels;
  for (const double tick : axis.ticks) labels.push_back(axis.label(tick));
  return labels;
}

using Labels = std::vector<std::string>;

TEST(Axis, TicksAreNiceAndBeginAndEndTheAxis) {
  const Axis axis = linear_axis({0.43, 0.86}, 6, Rounding::outwards);
  EXPECT_EQ(labels(axis), (Labels{"0.4", "0.5", "0.6", "0.7", "0.8", "0.9"}));
  EXPECT_DOUBLE_EQ(axis.fraction(0.65), 0.5);
  EXPECT_EQ(labels(linear_axis({-3, 12}, 4, Rounding::outwards)),
            (Labels{"-5", "0", "5", "10", "15"}));
  EXPECT_EQ(labels(linear_axis({0, 3.2e6}, 4, Rounding::outwards)),
            (Labels{"0", "1e+06", "2e+06", "3e+06", "4e+06"}));
}

TEST(Axis, OneValueLiesInTheMiddle) {
  for (const double value : {0.0, 0.86, -5.0, 1e-30, 1e30}) {
    const Axis axis = linear_axis({value, value}, 6, Rounding::none);
    EXPECT_NEAR(axis.fraction(value), 0.5, 1e-9) << value;
    EXPECT_GE(axis.ticks.size(), 2u) << value;
  }
  EXPECT_EQ(labels(integer_axis({1, 1}, 6)), Labels{"1"});
}

TEST(Axis, EpochsAreWhole) {
  EXPECT_EQ(labels(integer_axis({1, 3}, 8)), (Labels{"1", "2", "3"}));
  EXPECT_EQ(labels(integer_axis({1, 200}, 6)), (Labels{"50", "100", "150", "200"}));
}

TEST(Axis, PowersOfTenWhereLossesDiverge) {
  const Axis axis = logarithmic_axis({0.3, 4e13}, 6);
  EXPECT_EQ(labels(axis), (Labels{"0.1", "100", "100000", "1e+08", "1e+11", "1e+14"}));
  EXPECT_NEAR(axis.fraction(1e5), 6.0 / 15, 1e-12);
}

TEST(Axis, ExtremesEnd) {
  for (const Extent extent : {Extent{-1e300, 1e300}, Extent{1e15, 1e15 + 1}, Extent{0, 1e-300}}) {
    const Axis axis = linear_axis(extent, 6, Rounding::outwards);
    EXPECT_LE(axis.ticks.size(), 12u);
    EXPECT_TRUE(std::isfinite(axis.fraction(extent.high)));
  }
}

Chart one_curve(std::vector<Point> points) {
  return {.runs = {"run"},
          .x_title = "epoch",
          .panels = {{.title = "loss",
                      .curves = {{.run = 0, .what = "loss", .points = std::move(points)}}}}};
}

TEST(Chart, AGapIsNotBridgedAndALonePointIsSeen) {
  const std::string svg =
      draw(one_curve({{1, 1}, {2, 2}, {3, kNaN}, {4, 4}, {5, kNaN}, {6, 1}, {7, 2}}));
  EXPECT_EQ(count(svg, "<polyline"), 2u);
  EXPECT_EQ(count(svg, "<circle"), 5u);
  EXPECT_EQ(svg.find("nan"), svg.npos);
  std::vector<Point> many;
  for (int x = 0; x < 200; ++x) many.push_back({double(x), 1.0 * x});
  many[100].y = many[102].y = kNaN;
  EXPECT_EQ(count(draw(one_curve(many)), "<circle"), 1u);
}

// All that is drawn lies within the picture, and texts do not lie over each other.
TEST(Chart, NothingIsCutOrOverlaps) {
  Chart chart = one_curve({{1, 2e-5}, {2, 3}, {10000, 123456}});
  chart.key = "key";
  for (int run = 1; run < 12; ++run) chart.runs.push_back(std::string(5 * run, 'w'));
  for (int panel = 1; panel < 5; ++panel) chart.panels.push_back(chart.panels[0]);
  chart.panels[1].curves[0].points = {{1, 1234567.5}, {10000, 1234568.5}};
  const std::string svg = draw(chart);

  const auto size = test::all_matches(svg, R"re(viewBox="0 0 (\d+) (\d+)")re");
  ASSERT_EQ(size.size(), 1u);
  const double width = std::stod(size[0][1]), height = std::stod(size[0][2]);
  EXPECT_EQ(width, 1000);
  struct Box {
    double left, right, top, bottom;
    std::string text;
  };
  std::vector<Box> boxes;
  const std::string text =
      R"re(<text x="([\d.-]+)" y="([\d.-]+)" font-size="(\d+)" text-anchor="(\w+)"[^>]*>([^<]*)<)re";
  for (const test::Groups& m : test::all_matches(svg, text)) {
    const double x = std::stod(m[1]), y = std::stod(m[2]), font = std::stod(m[3]);
    const double wide = text_width(m[5], font);
    const double left = m[4] == "start" ? x : m[4] == "end" ? x - wide : x - wide / 2;
    boxes.push_back({left, left + wide, y - 0.8 * font, y, m[5]});
  }
  ASSERT_GT(boxes.size(), 50u);
  for (const Box& a : boxes) {
    EXPECT_TRUE(a.left >= 0 && a.right <= width && a.top >= 0 && a.bottom <= height) << a.text;
    for (const Box& b : boxes)
      EXPECT_TRUE(&a == &b || a.right <= b.left || b.right <= a.left || a.bottom <= b.top ||
                  b.bottom <= a.top)
          << a.text << " lies over " << b.text;
  }
}

class Plot : public RunFiles {};

TEST_F(Plot, DrawsWhatRunsRecordedWithTheirNames) {
  Json diverged = example_epoch(3, 0.1);
  diverged["val_loss"] = nullptr;
  Json with_overlap = example_epoch(2, 0.6);
  with_overlap["communication"] = {{"overlap", 0.9}, {"step_ms", 140.0}};
  const auto runs =
      read_runs({write_run("a<b>&\"c\"", example_config(), {example_epoch(1, 0.5), with_overlap}),
                 write_run("other", example_config(),
                           {example_epoch(1, 0.5), example_epoch(2, 0.5), diverged}),
                 write_run("no-epoch", example_config(), {})});
  const std::string svg = plot(runs, {});
  for (const char* part : {"a&lt;b&gt;&amp;\"c\": val_accuracy<", "other: loss<", ">overlap: share",
                           ">images per second<", ">no-epoch<", "#0072b2", "#d55e00"})
    EXPECT_NE(svg.find(part), svg.npos) << part;
  EXPECT_EQ(count(svg, "font-weight=\"bold\""), 4u);  // panels

  const std::string one = plot(runs, {.metrics = {"step_ms"}, .x = "time"});
  EXPECT_EQ(count(one, "font-weight=\"bold\""), 1u);
  EXPECT_NE(one.find("seconds of training"), one.npos);
  EXPECT_EQ(plot({runs[1]}, {}).find("overlap"), std::string::npos);

  if (std::system("python3 -c 'import xml' 2>/dev/null") != 0)
    GTEST_SKIP() << "skipped: no python3";
  std::ofstream(folder_ / "plot.svg") << svg;
  const std::string parse =
      "python3 -c 'import sys, xml.etree.ElementTree as x; "
      "x.parse(sys.argv[1])' " +
      (folder_ / "plot.svg").string();
  EXPECT_EQ(std::system(parse.c_str()), 0);
}

TEST_F(Plot, SaysWhatCannotBeDrawn) {
  const auto runs = read_runs({write_run("run", example_config(), {example_epoch(1, 0.5)}),
                               write_run("empty", example_config(), {})});
  const auto expect_error = [](const auto& action, ExitCode code, const std::string& says) {
    try {
      action();
      FAIL() << "no error: " << says;
    } catch (const UserError& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  };
  expect_error([&] { plot(runs, {.metrics = {"speed"}}); }, ExitCode::usage,
               "--metric speed: no run recorded it; there are: accuracy, ");
  expect_error([&] { plot({runs[1]}, {}); }, ExitCode::data, "no run has finished an epoch");
  expect_error([&] { read_runs({folder_ / "nowhere"}); }, ExitCode::data, "nowhere");
}

}  // namespace
}  // namespace annulus::runs
