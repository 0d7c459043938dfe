// See svg.h.
#include "engine/runs/svg.h"

#include <fmt/format.h>

#include "engine/terminal_text.h"

namespace annulus::runs {
namespace {

constexpr const char* kInk = "#222222";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : terminal_text(text)) switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      default:
        result += c;
    }
  return result;
}

std::string attributes(const Stroke& stroke) {
  std::string text =
      fmt::format(R"(stroke="{}" stroke-width="{:.1f}")", stroke.colour, stroke.width);
  if (!stroke.dashes.empty()) text += fmt::format(R"( stroke-dasharray="{}")", stroke.dashes);
  return text;
}

const char* name_of(Anchor anchor) {
  switch (anchor) {
    case Anchor::start:
      return "start";
    case Anchor::middle:
      return "middle";
    case Anchor::end:
      break;
  }
  return "end";
}

}  // namespace

Svg::Svg(double width, double height, std::string_view title)
    : document_(fmt::format(
          R"(<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}" role="img" font-family="system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif" fill="{2}">
<title>{3}</title>
<rect width="100%" height="100%" fill="#ffffff"/>
)",
          width, height, kInk, escaped(title))) {}

void Svg::line(Point from, Point to, const Stroke& stroke) {
  document_ += fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" {}/>)", from.x,
                           from.y, to.x, to.y, attributes(stroke)) +
               "\n";
}

void Svg::path(const std::vector<Point>& points, const Stroke& stroke) {
  std::string list;
  for (const Point& p : points) list += fmt::format("{:.1f},{:.1f} ", p.x, p.y);
  document_ += fmt::format(R"(<polyline points="{}" fill="none" stroke-linejoin="round" {}/>)",
                           list, attributes(stroke)) +
               "\n";
}

void Svg::dot(Point centre, double radius, const std::string& colour) {
  document_ += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" fill="{}"/>)", centre.x,
                           centre.y, radius, colour) +
               "\n";
}

void Svg::ring(Point centre, double radius, const Stroke& stroke) {
  document_ += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" fill="none" {}/>)",
                           centre.x, centre.y, radius, attributes(stroke)) +
               "\n";
}

void Svg::text(Point baseline, std::string_view text, const Font& font) {
  document_ +=
      fmt::format(R"(<text x="{:.1f}" y="{:.1f}" font-size="{:.0f}" text-anchor="{}"{}>{}</text>)",
                  baseline.x, baseline.y, font.size, name_of(font.anchor),
                  font.bold ? R"( font-weight="bold")" : "", escaped(text));
  document_ += "\n";
}

void Svg::begin_group(std::string_view title) {
  document_ += "<g><title>" + escaped(title) + "</title>\n";
}

void Svg::end_group() { document_ += "</g>\n"; }

std::string Svg::finish() const { return document_ + "</svg>\n"; }

double text_width(std::string_view text, double size) {
  double width = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) width += 0.62 * size;
    if (byte >= 0xc0) width += (byte < 0xe0 ? 0.7 : 1.05) * size;  // others are continued
  }
  return width;
}

}  // namespace annulus::runs
