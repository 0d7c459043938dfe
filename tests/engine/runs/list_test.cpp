// Runs in a list and beside each other: the numbers, the order, what stopped; files that are
// missing, cut, damaged or made to harm.
#include "engine/runs/list.h"

#include "engine/terminal_text.h"
#include "tests/engine/runs/run_files.h"

namespace annulus::runs {
namespace {

using std::chrono::hours;

Time now() { return std::chrono::system_clock::now(); }

TEST_F(RunFiles, ALineARunTheNewestLast) {
  Json two_ranks = example_epoch(1, 0.5, 2);
  two_ranks["communication"] = {{"steps", 5}, {"overlap", 0.9}};
  write_run("a-new", example_config(), {two_ranks});
  write_run("z-old", example_config(),
            {example_epoch(1, 0.25), example_epoch(2, 0.75), example_epoch(3, 0.625)});
  EXPECT_EQ(
      list_text(read_runs({folder_}), now() + hours(1)),
      R"(run    model     data      ranks x batch  epochs    best    last  images/s  overlap  state
z-old  seed-cnn  cifar-10         2 x 64     3/3  0.7500  0.6250     400.0        -  finished
a-new  seed-cnn  cifar-10         2 x 64     1/3  0.5000  0.5000     400.0    0.900  stopped at update 8 of 24
)");
  const Json list = Json::parse(list_json(read_runs({folder_}), now() + hours(1)));
  EXPECT_EQ(list[0]["best_epoch"], 2);
  EXPECT_EQ(list[0]["best_val_accuracy"], 0.75);
  EXPECT_EQ(list[1]["overlap"], 0.9);
  EXPECT_TRUE(list[0]["overlap"].is_null());
  EXPECT_EQ(list[1]["folder"], (folder_ / "a-new").string());
}

TEST_F(RunFiles, ARunThatWroteJustNowMayBeRunning) {
  write_run("run", example_config(), {example_epoch(1, 0.5)});
  EXPECT_EQ(Json::parse(list_json(read_runs({folder_}), now()))[0]["state"], "running?");
}

TEST_F(RunFiles, StartsTellWhereARunStopped) {
  const auto run = write_run("run", example_config(), {example_epoch(1, 0.5)});
  const std::string start = R"({"time":"2025-12-31T00:00:00.000Z","event":"start","updates":0})";
  const auto state_after = [&](const std::string& lines) {
    std::ofstream(run / "starts.jsonl") << start + "\n" << lines;
    return Json::parse(list_json(read_runs({run}), now()))[0]["state"];
  };
  EXPECT_EQ(state_after(R"({"event":"stopped","updates":11})"
                        "\n"),
            "stopped at update 11 of 24");
  EXPECT_EQ(read_runs({run})[0].started,
            Time(std::chrono::sys_days(std::chrono::year(2025) / 12 / 31)));
  EXPECT_EQ(state_after(R"({"event":"stopped","updates":11})"
                        "\n" +
                        start + "\n"),
            "running?");
  EXPECT_EQ(state_after(R"({"event":"done","updates":24})"), "finished");
  EXPECT_EQ(state_after("[]\nnull\n{\"event\":5}\n{\"event\":\"stop"), "running?");
}

TEST_F(RunFiles, TheComparisonShowsOnlyWhatDiffers) {
  Json other = example_config();
  other["recipe"]["momentum"] = 0.8;
  other["command"].push_back("--momentum=0.8");
  other["wire"] = "bf16";
  const auto runs = read_runs({write_run("b", example_config(), {example_epoch(1, 0.5)}),
                               write_run("a", other, {example_epoch(3, 0.25)})});
  EXPECT_EQ(comparison_text(runs, now() + hours(1)),
            R"(                      b                          a
epochs                1/3                        3/3
best val_accuracy     0.5000 (epoch 1)           0.2500 (epoch 3)
last val_accuracy     0.5000                     0.2500
images/s              400.0                      400.0
overlap               -                          -
state                 stopped at update 8 of 24  finished

settings that differ
recipe.momentum       0.9                        0.8
wire                  -                          bf16
)");
  const Json json = Json::parse(comparison_json(runs, now()));
  EXPECT_EQ(json["differences"],
            Json({{"recipe.momentum", {0.9, 0.8}}, {"wire", {nullptr, "bf16"}}}));
  EXPECT_EQ(json["runs"].size(), 2u);
}

TEST_F(RunFiles, RunsOfOneNameAreCalledByTheirPaths) {
  const auto runs = read_runs(
      {write_run("a/run", example_config(), {}), write_run("b/run", example_config(), {})});
  EXPECT_EQ(runs[0].name, (folder_ / "a/run").string());
  EXPECT_EQ(runs[1].name, (folder_ / "b/run").string());
}

TEST_F(RunFiles, WhatCannotBeReadIsANote) {
  const std::string line = example_epoch(1, 0.5).dump() + "\n";
  std::string endless;
  for (int depth = 0; depth < 200000; ++depth) endless += R"({"a":)";
  write_run("1-cut", example_config().dump(), line + line.substr(0, 40));
  write_run("2-no-config", "", line);
  write_run("3-half", R"({"model": "ml)", line);
  write_run("4-types", R"({"model": 5, "ranks": "two", "data": [1], "updates": {"a": null}})",
            R"({"time": 1, "epoch": "one"})"
            "\n"
            "null\n"
            R"({"time":"2026-01-01T00:00:00.000Z","epoch":1,"loss":"x","communication":[]})");
  write_run("5-deep", endless, endless);
  write_run("6-nothing", "{}", "");
  std::filesystem::create_directories(folder_ / "no-run");
  std::filesystem::remove(write_run("7-alone", "{}", line) / "config.json");

  const Json list = Json::parse(list_json(read_runs({folder_}), now() + hours(1)));
  std::map<std::string, Json> runs;
  for (const Json& run : list) runs[run["name"]] = run;
  ASSERT_EQ(runs.size(), 7u);
  EXPECT_EQ(runs["1-cut"]["notes"], Json({"metrics.jsonl: 1 of 2 lines cannot be read"}));
  EXPECT_EQ(runs["1-cut"]["best_val_accuracy"], 0.5);
  EXPECT_EQ(runs["1-cut"]["model"], "seed-cnn");
  EXPECT_EQ(runs["2-no-config"]["notes"], Json({"config.json is damaged"}));
  EXPECT_EQ(runs["3-half"]["last_val_accuracy"], 0.5);
  EXPECT_EQ(runs["4-types"]["epochs_done"], 1);
  EXPECT_TRUE(runs["4-types"]["ranks"].is_null());
  EXPECT_EQ(runs["5-deep"]["notes"].size(), 2u);
  EXPECT_EQ(runs["6-nothing"]["state"], "no epoch");
  EXPECT_EQ(runs["7-alone"]["notes"], Json({"config.json cannot be opened"}));
  EXPECT_EQ(runs["7-alone"]["state"], "stopped? at update 8");
  const std::string text = list_text(read_runs({folder_}), now());
  EXPECT_NE(text.find("note: " + (folder_ / "1-cut").string()), std::string::npos) << text;
}

TEST_F(RunFiles, NamesCannotMoveTheCursor) {
  write_run("\x1b[2J\xff", R"({"model": "a\u001b[31m\nb"})", "");
  const std::string text = list_text(read_runs({folder_}), now());
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("a\uFFFD[31m\uFFFDb"), std::string::npos) << text;
  EXPECT_TRUE(Json::accept(list_json(read_runs({folder_}), now())));
}

TEST(Printable, KeepsUtf8AndReplacesTheRest) {
  EXPECT_EQ(terminal_text("Zürich 東京 🚲"), "Zürich 東京 🚲");
  EXPECT_EQ(terminal_text("a\tb\x7f"), "a\uFFFDb\uFFFD");
  for (const char* bad : {"\x80", "\xc0", "\xff"}) EXPECT_EQ(terminal_text(bad), "\uFFFD");
  EXPECT_EQ(terminal_text("\xc3"), "\uFFFD");
  EXPECT_EQ(terminal_text("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(terminal_text("\xe0\x80\xaf"), "\uFFFD\uFFFD\uFFFD");  // overlong
  EXPECT_EQ(terminal_text("\xef\xbf\xbf"),
            "\uFFFD\uFFFD\uFFFD");  // U+FFFF: XML has no such character
  EXPECT_EQ(shortened("Zürich", 6), "Zürich");
  EXPECT_EQ(shortened("Zürich", 4), "Zür…");
}

}  // namespace
}  // namespace annulus::runs
