# SPDX-License-Identifier: MIT
"""The driver's commands as a user types them: output, JSON and exit status."""
import json
import os
import pty
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree

from driver_case import CONV, DRIVER, HAS_ONEDNN, DriverCase

NORM = "f32:2x16x12x12:nhwc;norm(spatial,f32:1x16x1x1);activation(gelu_tanh)"
QUICK = ["--seconds", "0.001"]
FIELDS = {"problem", "device", "solver", "kernels", "compile_us", "cache", "fused_us", "unfused_us",
          "speedup", "gflops", "gbps", "roof_fraction", "max_rel_error", "verified"}


class Driver(DriverCase):
    def test_run_reports_every_field(self):
        for problem in (CONV, NORM):
            report = self.run_json("run", problem, *QUICK)
            self.assertLessEqual(FIELDS, report.keys())
            self.assertTrue(report["verified"])
            self.assertTrue(report["unfused_verified"])
            self.assertEqual(report["kernels"], 1)
            self.assertGreater(report["fused_us"], 0)
            self.assertLess(report["max_rel_error"], 1e-4)
            self.assertAlmostEqual(report["speedup"], report["unfused_us"] / report["fused_us"])

    def test_second_process_finds_the_kernel(self):
        cold = self.run_json("run", CONV, "--no-unfused", *QUICK)
        warm = self.run_json("run", CONV, "--no-unfused", *QUICK)
        self.assertEqual((cold["cache"], warm["cache"]), ("miss", "hit"))
        self.assertEqual(cold["solver"], warm["solver"])
        self.assertTrue(warm["verified"])
        other = self.run_json("run", CONV, "--no-unfused", "--options=--disable_pass=cse", *QUICK)
        self.assertEqual(other["cache"], "miss")
        checked = self.run_json("run", CONV, "--no-unfused", "--options=--verify_code=1", *QUICK)
        self.assertEqual(checked["cache"], "hit")

    def test_start_is_the_first_kernels(self):
        cold, warm, off = (json.loads(self.run_driver("start", CONV, *more))
                           for more in ((), (), ("--options=--cache=off",)))
        self.assertEqual([report["cache"] for report in (cold, warm, off)], ["miss", "hit", "miss"])
        for report in (cold, warm, off):
            self.assertEqual(report["solver"], cold["solver"])
            self.assertGreater(report["handle_us"], 0)
            self.assertGreater(report["plan_us"], 0)
            self.assertAlmostEqual(report["start_us"], report["handle_us"] + report["plan_us"])

    def test_cache_modes(self):
        self.run_driver("run", CONV, "--no-unfused", *QUICK)
        for mode, expected in (("ro", "hit"), ("mem", "miss"), ("off", "miss")):
            report = self.run_json("run", CONV, "--no-unfused", *QUICK, FUSEPLAN_CACHE=mode)
            self.assertEqual(report["cache"], expected, mode)

    def test_read_only_directory(self):
        self.run_driver("run", CONV, "--no-unfused", *QUICK)
        directory = self.environment["FUSEPLAN_CACHE_DIR"]
        os.chmod(directory, 0o500)
        try:
            for problem in (CONV, NORM):
                self.assertTrue(self.run_json("run", problem, *QUICK)["verified"])
        finally:
            os.chmod(directory, 0o700)

    def test_cache_commands(self):
        self.run_driver("run", CONV, NORM, "--no-unfused", *QUICK)
        statistics = self.run_json("cache", "stats")
        self.assertEqual(statistics["rows"], 2)
        self.assertTrue(statistics["location"].startswith(self.environment["FUSEPLAN_CACHE_DIR"]))
        self.assertEqual(len(self.run_json("cache", "list")), 2)
        self.assertEqual(self.run_json("cache", "verify"), {"checked": 2, "bad": 0, "deleted": 0})
        self.run_driver("cache", "clear")
        self.assertEqual(self.run_json("cache", "stats")["rows"], 0)

    def test_cache_problems_are_told(self):
        self.run_driver("run", CONV, "--no-unfused", *QUICK)
        for mode in ("ro", "off"):
            status = int(mode == "ro")
            self.run_driver("cache", "clear", status=status, FUSEPLAN_CACHE=mode)
        with open(os.path.join(self.environment["FUSEPLAN_CACHE_DIR"], "kernels-v1.db"), "r+b") as file:
            file.write(b"x" * 5000)
        text = self.run_driver("cache", "verify", status=1, output="stderr")
        self.assertIn("set aside", text)
        self.assertEqual(self.run_json("cache", "verify")["bad"], 0)

    def test_directories_with_odd_names(self):
        folder = os.path.join(self.folder.name, 'a "b\\ c')
        quoted = folder.replace("\\", "\\\\").replace('"', '\\"')
        stats = self.run_json("cache", "stats", f'--options=--cache_dir="{quoted}"')
        self.assertEqual(stats["location"], os.path.join(folder, "kernels-v1.db"))
        # No UTF-8, which JSON would have to be.
        folder = os.path.join(self.folder.name, "d\udcffx")
        stats = self.run_json("cache", "stats", FUSEPLAN_CACHE_DIR=folder)
        self.assertIn("d\ufffdx", stats["location"])

    @unittest.skipUnless(shutil.which("objcopy"), "needs objcopy")
    def test_a_library_without_build_id_keeps_kernels_in_memory(self):
        linked = subprocess.run(["ldd", DRIVER], capture_output=True, text=True, check=True).stdout
        library = re.search(r"(libfuseplan\.so\S*) => (\S+)", linked)
        if library is None:
            self.skipTest("the driver has the library in it")
        subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", library.group(2),
                        os.path.join(self.folder.name, library.group(1))], check=True)
        text = self.run_driver("run", CONV, "--no-unfused", *QUICK, output="stderr",
                               LD_LIBRARY_PATH=self.folder.name, FUSEPLAN_LOG_LEVEL="4")
        self.assertEqual(text.count("no build-id"), 1)
        self.assertFalse(os.path.exists(self.environment["FUSEPLAN_CACHE_DIR"]))

    def test_levels_types_and_layouts(self):
        here = os.path.dirname(os.path.abspath(__file__))
        with open(os.path.join(here, "../../problems/oddities.csv"), encoding="utf-8") as file:
            rows = len(file.read().splitlines()) - 1
        for level in ("amx", "avx512", "avx2", "portable"):
            for dtype in ("f32", "f16", "bf16"):
                for layout in ("nchw", "nhwc"):
                    reports = self.run_json("run", "--list", "oddities.csv", "--dtype", dtype,
                                            "--layout", layout, "--no-unfused", "-i", "1",
                                            f"--options=--max_isa={level}")
                    self.assertEqual(len(reports), rows)
                    self.assertTrue(all(report["verified"] for report in reports))
                    if level == "portable":
                        self.assertEqual({r["solver"] for r in reports}, {"cpu_portable"})

    def test_two_threads(self):
        reports = self.run_json("run", "--list", "smallest.csv", "--threads", "2", "-i", "1")
        self.assertGreater(len(reports), 1)
        self.assertTrue(all(report["verified"] for report in reports))

    def test_miopen_command_lines(self):
        for mode in range(7):
            for layout in ("NCHW", "NHWC"):
                report = self.run_json("CBAInfer", "-F", str(mode), "-n", "2", "-c", "8", "-H",
                                       "10", "-W", "11", "-k", "12", "-y", "3", "-x", "3", "-p",
                                       "1", "-q", "1", "-u", "2", "-v", "1", "-M", "1", "-m", "3",
                                       "-t", "1", "-V", "1", "-i", "3", "--in_layout", layout)
                self.assertTrue(report["verified"], report)
        report = self.run_json("CBAInfer", "-H", "7", "-W", "8", "-u", "2", "-v", "2", "-z", "same",
                               "-i", "1", "-M", "1")
        self.assertTrue(report["problem"].startswith("f32:32x3x7x8"))
        self.assertIn("pad_hi=1x1", report["problem"])
        self.assertTrue(report["verified"])
        report = self.run_json("CBAInferfp16", "-c", "8", "-g", "4", "-k", "12", "-l", "2", "-j",
                               "2", "-m", "8", "-A", "0.3", "-i", "2")
        self.assertIn("groups=4", report["problem"])
        self.assertTrue(report["verified"])

    def test_lists_and_chains(self):
        reports = self.run_json("run", "--list", "miopen-docs-na.csv", "--batch", "1", "-i", "1",
                                "--chain", "scale_shift;add;activation(silu)")
        self.assertEqual(len(reports), 8)
        self.assertTrue(all(report["verified"] for report in reports))
        self.assertGreater(reports[0]["published_speedup"], 1)

    def test_bench(self):
        svg, report = (os.path.join(self.folder.name, name) for name in ("chart.svg", "bench.json"))
        text = self.run_driver("bench", "--peer", "unfused", "--list", "oddities.csv", "--rows",
                               "prime,k1", "--layout", "nchw,nhwc", "--time", "0.001",
                               "--activation", "gelu_tanh", "--json", report, "--svg", svg)
        with open(report, encoding="utf-8") as file:
            runs = json.load(file)["runs"]
        self.assertEqual([run["layout"] for run in runs], ["nchw", "nhwc"])
        for run in runs:
            self.assertIn("gelu_tanh", run["chain"])
            self.assertGreater(len(run["rows"]), 1)
            for row in run["rows"]:
                peer = row["peers"][0]
                self.assertTrue(row["verified"] and peer["agrees"])
                self.assertAlmostEqual(peer["ratio"], peer["us"] / row["us"])
                self.assertGreater(row["peak_gflops"], 0)
            self.assertIn(f"{run['summaries'][0]['mean_ratio']:.3f}x", text)
        root = xml.etree.ElementTree.parse(svg).getroot()
        self.assertTrue(root.tag.endswith("svg"))
        words = " ".join(root.itertext())
        self.assertIn("prime", words)
        self.assertIn("geometric mean", words)

    def test_bench_of_bytes_op_by_op(self):
        report = os.path.join(self.folder.name, "bench.json")
        self.run_driver("bench", "--peer", "unfused", "--list", "smallest.csv,mobilenet_v2.csv",
                        "--rows", "smallest,b14,b15_dw", "--layout", "nchw,nhwc", "--time", "0.001",
                        "--dtype", "u8", "--chain", "scale_shift;add;activation(relu)",
                        "--json", report)
        with open(report, encoding="utf-8") as file:
            rows = [row for run in json.load(file)["runs"] for row in run["rows"]]
        self.assertGreater(len(rows), 3)
        for row in rows:
            self.assertTrue(row["verified"] and row["peers"][0]["agrees"], row["name"])

    def test_bench_training(self):
        for direction, chain in (("forward", "batchnorm training + relu"),
                                 ("backward", "relu backward + batchnorm backward")):
            text = self.run_driver("bench", "--peer", "onednn" if HAS_ONEDNN else "unfused",
                                   "--list", "miopen-docs-na.csv", "--rows", "na1", "--batch", "2",
                                   "--layout", "nchw,nhwc", "--time", "0.001",
                                   "--training", direction)
            self.assertEqual(text.count(chain), 2)
            self.assertEqual(text.count(" right "), 2)

    def test_bench_replaces_only_files_of_their_own(self):
        """A pipe gets the JSON once, when all has been measured; a link stays one."""
        pipe, link, target = (os.path.join(self.folder.name, name)
                              for name in ("pipe", "link", "target"))
        command = ("bench", "--list", "smallest.csv", "--rows", "1x1,3x3", "--batch", "1", "--peer",
                   "unfused", "--time", "0.001", "--json")
        os.mkfifo(pipe)
        with subprocess.Popen(["timeout", "60", "cat", pipe], stdout=subprocess.PIPE,
                              text=True) as reader:
            self.run_driver(*command, pipe)
            run, = json.loads(reader.communicate()[0])["runs"]
        self.assertEqual(len(run["rows"]), 2)
        os.symlink(target, link)
        self.run_driver(*command, link)
        self.assertTrue(os.path.islink(link))
        with open(target, encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["runs"][0]["rows"]), 2)

    def test_bench_mistakes(self):
        oddities = ["bench", "--list", "oddities.csv", "--time", "0.001"]
        prime = [*oddities, "--rows", "prime"]
        self.run_driver(*prime, "--peer", "nobody", status=2)
        self.run_driver("bench", "--peer", "unfused", status=2)
        self.run_driver(*oddities, "--peer", "unfused", "--rows", "no such row", status=1)
        if HAS_ONEDNN:
            self.assertIn("oneDNN 3", self.run_driver(*prime, "--peer", "onednn"))
        else:
            refused = self.run_driver(*prime, "--peer", "onednn", status=1, output="stderr")
            self.assertIn("FUSEPLAN_ONEDNN_DIR", refused)

    def test_explain(self):
        self.assertIn("fused by", self.run_driver("explain", CONV))
        refused = self.run_driver("explain", CONV, "--options=--only_solver=cpu_depthwise",
                                  status=1)
        self.assertIn("not fused", refused)
        self.assertIn("cpu_depthwise", refused)

    def test_support_passes_and_dump(self):
        rows = json.loads(self.run_driver("support", "--format", "json"))
        self.assertIn("cpu_portable", {row["solver"] for row in rows})
        self.assertIn("| solver |", self.run_driver("support", "--format", "md"))
        self.assertIn("fold_batchnorm", self.run_driver("passes"))
        self.assertIn("rewrites", self.run_driver("passes", CONV))
        dump = self.run_driver("dump", CONV, "-o", "kernel.o")
        self.assertIn("fma", dump)
        with open(os.path.join(self.folder.name, "kernel.o"), "rb") as file:
            self.assertEqual(file.read(4), b"\x7fELF")

    def test_tune(self):
        def tune(*arguments, **keywords):
            return self.run_json("tune", CONV, "--threads", "1", "--budget", "60", *arguments,
                                 **keywords)[0]
        dry = tune("--dry-run")
        self.assertEqual((dry["timed"], dry["source"]), (0, "model"))
        self.assertFalse(tune("--dry-run")["searched"])
        first = tune()
        self.assertTrue(first["searched"])
        self.assertGreater(first["timed"], 1)
        self.assertEqual(first["source"], "tuned")
        second = tune()
        self.assertFalse(second["searched"])
        self.assertEqual(second["candidate"], first["candidate"])
        self.assertTrue(tune("--again")["searched"])
        self.assertIn("tuned", self.run_driver("explain", CONV, "--threads", "1"))
        self.run_driver("tune", status=2)

    def test_a_terminal_sees_a_bar_of_progress(self):
        here, there = pty.openpty()
        subprocess.run([DRIVER, "tune", CONV, CONV.replace("24", "40"), "--threads", "1",
                        "--budget", "20"], stdout=subprocess.DEVNULL, stderr=there, timeout=300,
                       cwd=self.folder.name, check=True, env=self.environment)
        os.close(there)
        text = b""
        try:
            while more := os.read(here, 4096):
                text += more
        except OSError:  # how a terminal ends that nobody writes to
            pass
        os.close(here)
        self.assertIn(b"\r[" + 12 * b"=" + 12 * b" " + b"] 1/2 ", text)
        self.assertIn(b"\r[" + 24 * b"=" + b"] 2/2 ", text)
        plain = self.run_driver("tune", CONV, "--dry-run", output="stderr")
        self.assertIn("[1/1]", plain)

    def test_winners_travel(self):
        winner = self.run_json("tune", CONV, "--dry-run")[0]["candidate"]
        path = os.path.join(self.folder.name, "winners.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"# remark\n{CONV.split(';bias', 1)[0]}* {winner}  # 1 us\n")
        text = self.run_driver("tune", "--import", path, CONV)
        self.assertIn("0 of 1 lines apply", text)  # the text is not the canonical one
        canonical = self.run_json("tune", CONV, "--dry-run")[0]["problem"]
        for pattern in (canonical, canonical.split(";bias", 1)[0] + "*"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"{pattern} {winner}\n")
            self.assertIn("1 winners would be stored",
                          self.run_driver("tune", "--import", path, CONV, "--dry-run"))
            self.assertIn("1 winners stored", self.run_driver("tune", "--import", path, CONV))
            self.assertEqual(self.run_json("tune", CONV, "--dry-run")[0]["source"], "tuned")
            self.run_driver("cache", "clear")
        for mode in ("ro", "mem", "off"):
            self.assertIn("0 winners stored, 1 refused",
                          self.run_driver("tune", "--import", path, CONV, status=1,
                                          FUSEPLAN_CACHE=mode), mode)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{canonical} cpu_direct:77x7\n")
        self.assertIn("1 refused", self.run_driver("tune", "--import", path, status=1))
        with open(path, "w", encoding="utf-8") as file:
            file.write("one two three\n")
        self.run_driver("tune", "--import", path, status=1)

    def refusal(self, *arguments, status=2):
        return self.run_driver(*arguments, status=status, output="stderr")

    def test_numbers_are_what_they_can_be(self):
        whole, seconds = "not in range 1 to 1073741824", "not a finite number of seconds above 0"
        run, bench = ("run", CONV), ("bench", "--list", "oddities.csv")
        listed = ("run", "--list", "oddities.csv")
        for command, option, values, expected in (
                (run, "--iterations", ("-5", "0", "1.5"), whole),
                (run, "--seconds", ("-1", "0", "nan", "inf", "soon"), seconds),
                (bench, "--time", ("-1", "0", "nan"), seconds),
                (listed, "--batch", ("0", "-3"), whole), (("tune", CONV), "--batch", ("0",), whole),
                (bench, "--batch", ("0", "4,-3"), whole), (("demo",), "--batch", ("0",), whole),
                (("CBAInfer",), "--batchsize", ("0", "-1"), whole),
                (("CBAInferfp16",), "--conv_stride_h", ("0",), whole),
                (("CBAInfer",), "--iter", ("-1",), "not in range 0 to 1073741824"),
                (("CBAInfer",), "--pad_h", ("-1",), "not in range 0 to 1073741824")):
            for value in values:
                text = self.refusal(*command, f"{option}={value}")
                self.assertIn(f"{option}: Value {value.split(',')[-1]} ", text)
                self.assertIn(expected, text)

    def test_problems_that_do_not_fit(self):
        for convolution, expected in (
                ("f32:4x4x9x9", "does not fit into axis 0 of length 8 with padding 0 and 0"),
                ("f32:4x4x3x3,stride=0x1", "stride of axis 0 is 0, expected 1"),
                ("f32:4x4x3x3,stride=1", "a number for each of the filter's axes"),
                ("f32:4x0x3x3", "both must be positive"), ("f32:4", "expected weights such as")):
            text = self.refusal("run", f"f32:1x4x8x8;conv({convolution});activation(relu)", status=1)
            self.assertIn(expected, text)
        text = self.refusal("run", "f32:1x0x8x8;activation(relu)", status=1)
        self.assertIn("both must be positive", text)
        text = self.refusal("run", "f32:1x4x8x8:s1,2;activation(relu)", status=1)
        self.assertIn("a stride for each length", text)
        text = self.refusal("CBAInfer", "-y", "40", status=1)
        self.assertIn("filter of length 40 (dilated: 40) does not fit", text)

    def test_empty_lists(self):
        path = os.path.join(self.folder.name, "empty.csv")
        with open(path, "w", encoding="utf-8"):
            pass
        self.assertIn("empty.csv is empty, expected", self.refusal("run", "--list", path, status=1))
        for unreadable in ("missing.csv", self.folder.name):
            self.assertIn("cannot read", self.refusal("run", "--list", unreadable, status=1))

    def test_words_that_are_no_command(self):
        self.assertIn('"bogus" is no command, expected one of stats, list, verify, clear',
                      self.refusal("cache", "bogus"))
        self.assertIn('"bogus" is no command, expected one of run, bench,', self.refusal("bogus"))
        self.assertIn("A command is missing, expected one of stats,", self.refusal("cache"))

    def test_mistakes(self):
        self.run_driver("run", status=2)
        self.run_driver("run", CONV, "--layout", "chwn", status=2)
        self.run_driver("run", CONV, "--layout", "nhwc", status=2)
        self.run_driver("CBAInfer", "-r", "1", status=2)
        self.run_driver("nonsense", status=2)
        self.run_driver("run", "f32:1x8x8x8:nchw;activation(reul)", status=1)
        self.run_driver("run", CONV, "--device", "cuda:0", status=1)
        self.run_driver("run", CONV, "--options=--max_isa=avx3", status=1)
        self.run_driver("run", CONV, status=1, FUSEPLAN_MAX_ISA="sse9")
        self.run_driver("run", "--list", "missing.csv", status=1)


if __name__ == "__main__":
    unittest.main(verbosity=1)
