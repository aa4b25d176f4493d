// The report's other faces: SASS view, page, diff, climb, profile; and what each says where
// something is missing.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/cli/tilec_process.h"

namespace tilec {
namespace {

using nlohmann::json;

const std::string kShape = "1024x1024x1024";

bool has_assembler() {
  const Outcome outcome = tilec({"report", kSmallSpec, "--json"});
  return json::parse(outcome.out).contains("kernel");
}

void write_script(const Folder& folder, const std::string& name, const std::string& text) {
  folder.write(name, "#!/bin/sh\n" + text);
  chmod(folder.path(name).c_str(), 0755);
}

class Views : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_assembler()) GTEST_SKIP() << "no assembler";
  }
  Folder folder_;
};

TEST_F(Views, SassViewShowsEveryInstruction) {
  const Outcome view = tilec({"report", kMainSpec, "--sass-view"});
  ASSERT_EQ(view.code, 0) << view.err;
  EXPECT_EQ(view.out.find('\x1b'), std::string::npos);  // plain in a pipe
  const json report = json::parse(tilec({"report", kMainSpec, "--json"}).out);
  int fma = 0, steady = 0;
  size_t begin = 0;
  for (size_t end; (end = view.out.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = view.out.substr(begin, end - begin);
    if (!line.starts_with("┃")) continue;
    ++steady;
    if (line.find("  FFMA ") == std::string::npos) continue;
    ++fma;
    EXPECT_NE(line.find("// outer acc += fa * fb"), std::string::npos) << line;
  }
  EXPECT_EQ(steady, report["steady_loop"]["instructions"]);
  EXPECT_EQ(fma, report["steady_loop"]["fma"]);
}

TEST_F(Views, WithoutNvdisasmOrWithOneTooOld) {
  const Surroundings none{.environment = {"TILEC_NVDISASM=/nonexistent"}};
  const Outcome bare = tilec({"report", kMainSpec, "--sass-view"}, none);
  EXPECT_EQ(bare.code, 0);
  EXPECT_NE(bare.err.find("no nvdisasm"), std::string::npos) << bare.err;
  EXPECT_NE(bare.out.find("FFMA R"), std::string::npos);
  write_script(folder_, "old", "echo 'nvdisasm fatal: SM version 90 unknown' >&2; exit 1\n");
  const Outcome old = tilec({"report", kMainSpec, "--sass-view"},
                            {.environment = {"TILEC_NVDISASM=" + folder_.path("old")}});
  EXPECT_EQ(old.code, 0);
  EXPECT_NE(old.err.find("cannot read this cubin"), std::string::npos) << old.err;
  EXPECT_NE(old.out.find("FFMA R"), std::string::npos);
}

TEST_F(Views, PageHoldsTheFiguresOfTheReport) {
  const std::string page = folder_.path("page.html");
  const Outcome outcome = tilec({"report", kMainSpec, "--html", page});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string html = folder_.read("page.html");
  EXPECT_LT(html.size(), 3'000'000U);
  EXPECT_EQ(html.find("src="), std::string::npos);  // nothing is fetched
  EXPECT_EQ(html.find("http"), html.find("http://www.w3.org"));
  const std::string mark = "type=\"application/json\">";
  const size_t begin = html.find(mark) + mark.size();
  const json data = json::parse(html.substr(begin, html.find("</script>", begin) - begin));
  const json report = json::parse(tilec({"report", kMainSpec, "--json"}).out);
  EXPECT_EQ(data["report"], report);
  EXPECT_GE(data["neighbours"]["rows"].size(), 12U);
  EXPECT_TRUE(data["counters"]["of"]["fma"].is_number());
}

TEST_F(Views, APageThatCannotBeWritten) {
  folder_.write("file", "");
  for (const std::string& path : {folder_.path("file/page.html"), folder_.path()}) {
    const Outcome outcome = tilec({"report", kMainSpec, "--html", path});
    EXPECT_EQ(outcome.code, 4) << path;
    EXPECT_NE(outcome.err.find("cannot-write"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.out.find("Steady loop"), std::string::npos);  // the rest is given
  }
}

// In a browser: no errors in its console, and everything drawn.
TEST_F(Views, PageInABrowser) {
  std::string browser;
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
    if (std::system((std::string("command -v ") + name + " >/dev/null 2>&1").c_str()) == 0)
      browser = name;
  if (browser.empty()) GTEST_SKIP() << "no Chromium";
  const std::string page = folder_.path("page.html");
  // With a clause of one word: its name is all there is of it.
  ASSERT_EQ(tilec({"report", std::string(kMainSpec) + " stream_k", "--html", page}).code, 0);
  const std::string command =
      browser +
      " --headless=new --no-sandbox --disable-gpu --user-data-dir=" + folder_.path("profile") +
      " --enable-logging=stderr --virtual-time-budget=5000 --dump-dom " + "'file://" + page +
      "' >" + folder_.path("dom") + " 2>" + folder_.path("log");
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "Chromium does not run here";
  EXPECT_EQ(folder_.read("log").find("CONSOLE"), std::string::npos) << folder_.read("log");
  const std::string dom = folder_.read("dom");
  for (const char* part : {"id=\"losses\"", "share of peak", "id=\"pane-sass\"", "id=\"pane-ptx\"",
                           "id=\"pane-llvm\"", "Roofline with this kernel", "Timeline of 2 stages",
                           "<dt>stream_k</dt>", "<dt>stages</dt><dd>2</dd>"})
    EXPECT_NE(dom.find(part), std::string::npos) << part;
  for (const char* fault : {">undefined", " undefined ", "NaN"})
    EXPECT_EQ(dom.find(fault, dom.find("<main")), std::string::npos) << fault;
}

TEST_F(Views, DiffSaysTheCauseFirst) {
  const std::string other = "tile 128x128x16 warp 64x32 thread 8x8 stages 2 blocks_per_sm 2";
  const Outcome text = tilec({"diff", kMainSpec, other});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(text.out.starts_with("B has ")) << text.out;
  EXPECT_NE(text.out.find("`tile` from 128x128x8 to 128x128x16"), std::string::npos) << text.out;
  const json diff = json::parse(tilec({"diff", kMainSpec, other, "--json"}).out);
  EXPECT_EQ(diff["schema"], "tilec.diff/1");
  double gained = 0, lost = 0;
  for (const json& row : diff["losses"]) gained += row["a"].get<double>() - row["b"].get<double>();
  for (const json& row : diff["figures"])
    if (row["figure"] == "predicted_share_of_peak")
      lost = 100 * (row["b"].get<double>() - row["a"].get<double>());
  EXPECT_NEAR(gained, lost, 0.5);
  // The same through files.
  folder_.write("a.json", tilec({"report", kMainSpec, "--json"}).out);
  folder_.write("b.json", tilec({"report", other, "--json"}).out);
  EXPECT_EQ(tilec({"diff", folder_.path("a.json"), folder_.path("b.json")}).out, text.out);
  const Outcome same = tilec({"diff", kMainSpec, kMainSpec});
  EXPECT_NE(same.out.find("The specs are the same."), std::string::npos);
  EXPECT_NE(same.out.find("No figure differs."), std::string::npos);
  folder_.write("c.json", "{}");
  const Outcome wrong = tilec({"diff", folder_.path("a.json"), folder_.path("c.json")});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("B is no JSON of"), std::string::npos) << wrong.err;
}

TEST_F(Views, ClimbInThreeForms) {
  const std::vector<std::string> words = {
      "climb", kSmallSpec, kMainSpec, "--shape", kShape + ",512x512x512", "--device", "model"};
  auto with = [&](const std::string& word, const std::string& value = "") {
    std::vector<std::string> all = words;
    all.push_back(word);
    if (!value.empty()) all.push_back(value);
    return all;
  };
  const Outcome markdown = tilec(words);
  ASSERT_EQ(markdown.code, 0) << markdown.err;
  EXPECT_NE(markdown.out.find("Predicted: no GPU ran these kernels"), std::string::npos);
  const json climb = json::parse(tilec(with("--json")).out);
  ASSERT_EQ(climb["rungs"].size(), 2U);
  const json& rung = climb["rungs"][1];
  EXPECT_EQ(rung["measured"], false);
  EXPECT_NEAR(rung["issue_rate"].get<double>() * rung["executed_fma_share"].get<double>(),
              rung["share_of_peak"].get<double>(), 1e-9);
  EXPECT_EQ(rung["sizes"][0]["shape"], "512x512x512");
  const json report = json::parse(tilec({"report", kMainSpec, "--shape", kShape, "--json"}).out);
  EXPECT_EQ(rung["share_of_peak"], report["predicted_share_of_peak"]);
  ASSERT_EQ(tilec(with("--html", folder_.path("climb.html"))).code, 0);
  EXPECT_NE(folder_.read("climb.html").find("</html>"), std::string::npos);
}

TEST_F(Views, ProfileWithoutAGpuCountsOnTheCpu) {
  const Outcome text = tilec({"profile", kSmallSpec, "--shape", "64x64x32"});
  ASSERT_EQ(text.code, 0) << text.err;
  if (text.out.find("ncu on") != std::string::npos) GTEST_SKIP() << "here is a GPU";
  EXPECT_NE(text.err.find("hardware counters are missing"), std::string::npos) << text.err;
  EXPECT_NE(text.out.find("no hardware's"), std::string::npos) << text.out;
  const json profile =
      json::parse(tilec({"profile", kSmallSpec, "--shape", "64x64x32", "--json"}).out);
  EXPECT_EQ(profile["hardware"], false);
  const json run = json::parse(
      tilec({"run", kSmallSpec, "--shape", "64x64x32", "--device", "cpu", "--json"}).out);
  bool found = false;
  for (const json& row : profile["counters"])
    if (row["metric"] == "sectors_per_request") {
      found = true;
      EXPECT_EQ(row["value"], run["counters"]["sectors_per_request"]);
      EXPECT_EQ(row["loss"], "slice_copies");
    }
  EXPECT_TRUE(found);
}

// Over a driver on host memory that knows one kernel, and a script in place of ncu.
class ProfileOnAGpu : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"libcuda.so.1", "libcublas.so.13", "libnvidia-ml.so.1"})
      std::filesystem::create_symlink(TILEC_FAKE_CUDA, folder_.path(name));
  }
  Outcome profile(const std::string& ncu) const {
    write_script(folder_, "ncu", ncu);
    return tilec({"profile", "kernel naive { tile 16x16 }", "--shape", "16x16x16", "--json"},
                 {.environment = {"LD_LIBRARY_PATH=" + folder_.path(), "TILEC_NVJITLINK=/nowhere",
                                  "TILEC_PTXAS=/nowhere", "TILEC_NCU=" + folder_.path("ncu")}});
  }
  Folder folder_;
};

TEST_F(ProfileOnAGpu, ReadsWhatNcuPrints) {
  const Outcome outcome = profile(
      "cat <<'EOF'\n==PROF== words\n"
      "\"ID\",\"Kernel Name\",\"smsp__issue_active.avg.per_cycle_elapsed\","
      "\"smsp__inst_executed.sum\",\"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum\"\n"
      "\"\",\"\",\"inst/cycle\",\"inst\",\"inst\"\n"
      "\"0\",\"naive, really\",\"0.5\",\"1,000\",\"16,000\"\nEOF\n");
  if (outcome.err.find("without GPU support") != std::string::npos) GTEST_SKIP();
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json out = json::parse(outcome.out);
  if (out["hardware"] == false) GTEST_SKIP() << outcome.err;
  EXPECT_EQ(out["issue_rate"], 0.5);
  EXPECT_EQ(out["fma_share"], 0.5);
}

TEST_F(ProfileOnAGpu, SaysWhatTheDriverRefuses) {
  const Outcome outcome =
      profile("echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission'; exit 1\n");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["hardware"], false);
  EXPECT_NE(outcome.err.find("hardware counters are missing"), std::string::npos) << outcome.err;
  if (outcome.err.find("no GPU") == std::string::npos)
    EXPECT_NE(outcome.err.find("NVreg_RestrictProfilingToAdminUsers"), std::string::npos)
        << outcome.err;
}

TEST_F(Views, BudgetsOverEveryFigure) {
  const Outcome held = tilec({"check", kMainSpec, "--require",
                              "predicted_share_of_peak>0.3, loss_last_wave<50, waves>0, "
                              "counted_fma_share>0.5, barriers>0, issue_rate<=1"});
  EXPECT_EQ(held.code, 0) << held.out << held.err;
  const Outcome failed = tilec({"check", kMainSpec, "--require", "loss_fragment_loads<0.01"});
  EXPECT_EQ(failed.code, 3);
  EXPECT_NE(failed.out.find("failed  loss_fragment_loads<0.01"), std::string::npos) << failed.out;
  const Outcome unknown = tilec({"check", kMainSpec, "--require", "loss_last_wav<1"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("did you mean `loss_last_wave`?"), std::string::npos) << unknown.err;
}

}  // namespace
}  // namespace tilec
