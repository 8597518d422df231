// SPDX-License-Identifier: MIT
#include "run/options.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/status.hpp"

namespace fuseplan {
namespace {

std::string refusal(const std::string& flags) {
  Options options;
  try {
    options.apply(flags);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::BadOption);
    EXPECT_EQ(options.to_text(), "") << "nothing of a refused string is applied";
    return error.what();
  }
  return "";
}

// What each option does when it is set: a row without its effect is a dead control.
struct Witness {
  const char* flags;
  bool (*holds)(const Options&);
};
const Witness kWitnesses[] = {
    {"--max_isa=avx2", [](const Options& o) { return o.max_isa == cpu::IsaLimit::avx2; }},
    {"--threads=3", [](const Options& o) { return o.threads == 3; }},
    {"--disable_pass=cse",
     [](const Options& o) { return !o.passes.is_enabled(*find_pass("cse")); }},
    {"--only_pass=cse",
     [](const Options& o) {
       return o.passes.is_enabled(*find_pass("cse")) &&
              !o.passes.is_enabled(*find_pass("fold_batchnorm")) &&
              o.passes.is_enabled(*find_pass("canonicalize"));
     }},
    {"--disable_solver=cpu_direct",
     [](const Options& o) { return o.disabled_solvers == std::vector<std::string>{"cpu_direct"}; }},
    {"--only_solver=cpu_portable", [](const Options& o) { return o.disabled_solvers.size() >= 3; }},
    {"--find_mode=hybrid", [](const Options& o) { return o.find_mode == FindMode::hybrid; }},
    {"--tune_ms=70", [](const Options& o) { return o.tune_ms == 70; }},
    {"--pin=cpu_direct:14x2,block=1",
     [](const Options& o) {
       return o.pin == PinnedChoice{"cpu_direct", "14x2,block=1"};
     }},
    {"--cache=mem", [](const Options& o) { return o.cache == "mem"; }},
    {"--cache_dir=/somewhere", [](const Options& o) { return o.cache_dir == "/somewhere"; }},
    {"--cache_mb=7", [](const Options& o) { return o.cache_mb == 7; }},
    {"--cache_sync=1", [](const Options& o) { return o.cache_sync; }},
    {"--cache_netfs=1", [](const Options& o) { return o.cache_netfs; }},
    {"--verify_code=1", [](const Options& o) { return o.verify_code; }},
    {"--tf32=1", [](const Options& o) { return o.tf32; }},
    {"--jit_profile=perf,gdb",
     [](const Options& o) { return o.jit_profile.perf && o.jit_profile.gdb; }},
};

TEST(Options, EachChangesSomething) {
  EXPECT_EQ(std::size(kWitnesses), all_options().size());
  for (const Witness& witness : kWitnesses) {
    Options options;
    EXPECT_FALSE(witness.holds(options)) << witness.flags;
    options.apply(witness.flags);
    EXPECT_TRUE(witness.holds(options)) << witness.flags;
  }
}

TEST(Options, ReadBackTheirOwnText) {
  for (const Witness& witness : kWitnesses) {
    Options options, again;
    options.apply(witness.flags);
    again.apply(options.to_text());
    EXPECT_TRUE(witness.holds(again)) << options.to_text();
    EXPECT_EQ(again.to_text(), options.to_text());
  }
}

TEST(Options, TakeValuesInQuotes) {
  const auto directory_of = [](const std::string& flags) {
    Options options;
    options.apply(flags);
    return options.cache_dir;
  };
  EXPECT_EQ(directory_of("--cache_dir=\"/a b/c\" --threads=2"), "/a b/c");
  EXPECT_EQ(directory_of("  --cache_dir=\"/a \\\"b\\\" \\\\c\""), "/a \"b\" \\c");
  EXPECT_EQ(directory_of("--cache_dir=\"\""), "");
  EXPECT_EQ(directory_of("--cache_dir=/a\"b\\c"), "/a\"b\\c") << "quotes within are letters";
  for (const char* directory : {"/a b", "/a\"b", "\"a\"", " ", "/a\\ b\\", "--threads=2 x"}) {
    Options options;
    options.cache_dir = directory;
    EXPECT_EQ(directory_of(options.to_text()), directory) << options.to_text();
  }
  for (const char* flags : {"--cache_dir=\"/a b", "--cache_dir=\"/a\"b", "--cache_dir=\"\\\""})
    EXPECT_NE(refusal(flags).find("quote"), std::string::npos) << flags;
}

TEST(Options, SayWhatWasMeant) {
  EXPECT_NE(refusal("--max_is=avx2").find("did you mean max_isa"), std::string::npos);
  EXPECT_NE(refusal("--disable_pass=csee").find("did you mean cse"), std::string::npos);
  EXPECT_NE(refusal("--disable_solver=cpu_dirct").find("cpu_direct"), std::string::npos);
  EXPECT_NE(refusal("--max_isa=sse").find("portable,avx2,avx2_vnni,avx512,amx"), std::string::npos);
}

TEST(Options, AreRefusedOutsideTheirRange) {
  for (const char* flags :
       {"--threads=-1", "--threads=4097", "--threads=", "--threads=two", "--cache_mb=0",
        "--cache_mb=65537", "--cache=yes", "--verify_code=2", "--disable_pass=canonicalize",
        "max_isa=avx2", "--max_isa", "--jit_profile=vtune", "--tf32=2", "--find_mode=slow",
        "--tune_ms=0", "--pin=cpu_dirct", "--pin=:14x2"})
    EXPECT_NE(refusal(flags), "") << flags;
  for (const char* flags : {"--threads=0", "--threads=4096", "--cache_mb=1", "--cache_mb=65536"})
    EXPECT_NO_THROW(Options().apply(flags)) << flags;
  // One wrong piece refuses the whole string.
  EXPECT_NE(refusal("--threads=2 --max_isa=sse"), "");
}

TEST(Options, ComeFromTheEnvironment) {
  setenv("FUSEPLAN_FLAGS", "--threads=2 --cache=mem", 1);
  setenv("FUSEPLAN_MAX_ISA", "portable", 1);
  const Options options = Options::from_environment();
  EXPECT_EQ(options.threads, 2);
  EXPECT_EQ(options.cache, "mem");
  EXPECT_EQ(options.max_isa, cpu::IsaLimit::portable);
  setenv("FUSEPLAN_MAX_ISA", "z80", 1);
  EXPECT_THROW(Options::from_environment(), Error);
  unsetenv("FUSEPLAN_MAX_ISA");
  unsetenv("FUSEPLAN_FLAGS");
}

std::string refusal_with(const char* name, const char* value) {
  setenv(name, value, 1);
  std::string sentence;
  try {
    (void)Options::from_environment();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::BadOption);
    sentence = error.what();
  }
  unsetenv(name);
  return sentence;
}

TEST(Options, NameTheVariableThatIsWrong) {
  EXPECT_NE(refusal_with("FUSEPLAN_MAX_ISA", "sse").find("FUSEPLAN_MAX_ISA"), std::string::npos);
  EXPECT_NE(refusal_with("FUSEPLAN_THREADS", "").find("FUSEPLAN_THREADS"), std::string::npos);
  EXPECT_NE(refusal_with("FUSEPLAN_FLAGS", "--max_isa=sse").find("FUSEPLAN_FLAGS"),
            std::string::npos);
  for (const char* level : {"abc", "", "8", "99", "-5", "5x"})
    EXPECT_NE(refusal_with("FUSEPLAN_LOG_LEVEL", level).find("FUSEPLAN_LOG_LEVEL"),
              std::string::npos)
        << level;
  for (const char* level : {"0", "1", "7"})
    EXPECT_EQ(refusal_with("FUSEPLAN_LOG_LEVEL", level), "") << level;
}

}  // namespace
}  // namespace fuseplan
