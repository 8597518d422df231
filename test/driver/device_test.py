# SPDX-License-Identifier: MIT
"""The driver's commands on a GPU, which the tests' emulator stands in for, and scripts/gpu-check."""
import json
import os
import subprocess
import unittest

from driver_case import CONV, DRIVER, EMULATOR, FAKE_CUDNN, DriverCase


class Device(DriverCase):
    def on_device(self, *arguments, **keywords):
        """The same commands on a GPU, which the tests' emulator stands in for."""
        return self.run_driver(*arguments, "--device", "cuda:0", FUSEPLAN_LIB_CUDA=EMULATOR,
                               FUSEPLAN_LIB_NVRTC=EMULATOR, **keywords)

    def test_device(self):
        facts = json.loads(self.on_device("device"))
        self.assertEqual((facts["device"], facts["arch"][:4]), ("Emulated device", "sm_9"))
        self.assertGreater(facts["copy_gbps"], 0)
        self.assertGreater(facts["launch_waited_us"], 0)
        self.assertIn("gpu_conv", self.on_device("support"))
        small = "f16:2x8x5x5:nhwc;conv(f16:8x8x1x1:nhwc);bias(f32:1x8x1x1);activation(relu)"
        cold, warm = (json.loads(self.on_device("run", small, "--json", "-i", "1", *more))
                      for more in ((), ("--no-unfused",)))
        for report in (cold, warm):
            self.assertTrue(report["verified"])
            self.assertTrue(report["solver"].startswith("gpu_"))
            self.assertGreater(report["fused_us"], 0)
            self.assertGreater(report["copy_gbps"], 0)
        self.assertGreater(cold["unfused_us"], 0)
        self.assertEqual((cold["cache"], warm["cache"]), ("miss", "hit"))
        tuned = json.loads(self.on_device("tune", small, "--json", "--budget", "1"))
        self.assertEqual((tuned[0]["source"], tuned[0]["searched"]), ("tuned", True))

    def test_device_bench(self):
        self.on_device("bench", "--list", "smallest.csv", "--rows", "1x1", "--dtype", "f16",
                       "--batch", "2", "--peer", "cudnn,unfused", "--time", "0.001", "--json",
                       "bench.json", FUSEPLAN_LIB_CUDNN="/nowhere/libcudnn.so")
        with open(os.path.join(self.folder.name, "bench.json"), encoding="utf-8") as file:
            run, = json.load(file)["runs"]
        row, = run["rows"]
        self.assertTrue(row["verified"])
        self.assertGreater(row["us"], 0)
        self.assertGreater(row["first_call_us"], 0)
        absent, unfused = row["peers"]
        self.assertIn("peer absent: /nowhere/libcudnn.so", absent["refusal"])
        self.assertTrue(unfused["agrees"])
        self.assertGreater(unfused["us"], 0)

    def device_row(self, *arguments, tensor=None, **keywords):
        """What the bench says of one row and of cuDNN's ways, which a library of the tests' computes.

        `tensor`: of a row without a convolution."""
        rows = ("--list", "smallest.csv", "--rows", "1x1", "--batch", "2")
        if tensor is not None:
            with open(os.path.join(self.folder.name, "one.csv"), "w", encoding="utf-8") as file:
                file.write(f"name,n,c,h,w\none,{tensor}\n")
            rows = ("--list", "one.csv")
        said = self.on_device("bench", *rows, "--peer", "cudnn", "--time", "0.001", "--json",
                              "bench.json", *arguments,
                              **{"FUSEPLAN_LIB_CUDNN": FAKE_CUDNN, **keywords})
        with open(os.path.join(self.folder.name, "bench.json"), encoding="utf-8") as file:
            run, = json.load(file)["runs"]
        return run["rows"][0], run["rows"][0]["peers"][0], said

    def test_device_bench_against_graphs(self):
        row, peer, said = self.device_row("--dtype", "f16")
        self.assertEqual(peer["peer"], "cuDNN 9.19.0")
        self.assertTrue(row["verified"] and peer["agrees"], said)
        ways = {way["way"]: way for way in peer["ways"]}
        self.assertEqual([(name, way["role"]) for name, way in ways.items()],
                         [("graph, fused", "contender"), ("graph, bn in weights", "folded")])
        for way in ways.values():
            self.assertGreater(way["us"], 0)
            self.assertGreater(way["plan"]["build_us"], 0)
            self.assertGreater(way["plan"]["first_call_us"], 0)
            self.assertGreater(way["plan"]["load_us"], 0)
        self.assertTrue(ways["graph, fused"]["plan"]["first_in_process"])
        self.assertFalse(ways["graph, bn in weights"]["plan"]["first_in_process"])
        self.assertIn("compiled at run time, workspace 0 KiB; the fastest of 4 tried, heuristic A",
                      ways["graph, fused"]["implementation"])
        self.assertEqual(peer["refused"], [{"way": "op by op", "reason": f"{FAKE_CUDNN} lacks "
                                            "cudnnCreateFilterDescriptor"}])
        self.assertIn("(the process's first), loaded again in", said)
        self.assertIn("cuDNN 9.19.0, op by op: refused: ", said)

    def test_device_bench_against_graphs_in_f32(self):
        row, peer, said = self.device_row()
        self.assertTrue(row["verified"] and peer["agrees"], said)
        roles = {way["way"]: way["role"] for way in peer["ways"]}
        self.assertEqual(roles["graph, fused"], "contender")
        self.assertEqual(roles["graph, fused in tf32"], "beyond")
        row, peer, said = self.device_row("--options=--tf32=1")
        self.assertTrue(row["verified"] and peer["agrees"], said)
        self.assertEqual(row["solver"], "gpu_hopper")
        roles = {way["way"]: way["role"] for way in peer["ways"]}
        self.assertEqual(roles["graph, fused in tf32"], "contender")

    def test_device_bench_against_refused_graphs(self):
        _, peer, said = self.device_row("--dtype", "f16", "--layout", "nchw")
        self.assertTrue(peer["agrees"], said)
        self.assertEqual({way["way"]: way["role"] for way in peer["ways"]},
                         {"transposed, graph, fused": "contender", "graph, bn in weights": "folded"})
        self.assertIn({"way": "graph, fused", "reason": "cuDNN has no engine for the graph"},
                      peer["refused"])
        self.assertIn("graph, fused: refused: cuDNN has no engine for the graph", said)
        _, peer, said = self.device_row("--dtype", "f16", "--activation", "hardswish")
        self.assertIn("graph, fused: cuDNN has no pointwise mode for hardswish", peer["refusal"])
        _, peer, said = self.device_row("--dtype", "f16", FUSEPLAN_FAKE_CUDNN="8907")
        self.assertIn("is cuDNN 8.9.7: its graph API is used from 9.0 on", peer["refusal"])
        self.assertIn("lacks cudnnCreateFilterDescriptor", peer["refusal"])
        self.assertIn("PEER ABSENT", said)
        _, peer, said = self.device_row("--dtype", "f16", FUSEPLAN_LIB_CUDNN="libm.so.6")
        self.assertIn("lacks cudnnGetVersion", peer["refusal"])

    def test_device_bench_against_single_functions(self):
        """Of cuDNN 8, which has no others, and of 9, in each type and layout."""
        whole = {"FUSEPLAN_LIB_CUDNN": FAKE_CUDNN.replace("_cudnn", "_cudnn_whole")}
        eight = {**whole, "FUSEPLAN_FAKE_CUDNN": "8907"}
        ways_of = {"f16": {"op by op": "contender", "conv + bias + RELU": "folded"}}
        ways_of["bf16"] = ways_of["f16"]
        ways_of["f32"] = {**ways_of["f16"], "op by op in tf32": "beyond",
                          "conv + bias + RELU in tf32": "beyond"}
        for layout in "nchw", "nhwc":
            for dtype, ways in ways_of.items():
                row, peer, said = self.device_row("--dtype", dtype, "--layout", layout, **eight)
                self.assertEqual(peer["peer"], "cuDNN 8.9.7")
                self.assertTrue(row["verified"] and peer["agrees"], said)
                self.assertEqual({way["way"]: way["role"] for way in peer["ways"]}, ways)
                self.assertEqual([refused["way"] for refused in peer["refused"]], ["graph"])
                self.assertIn("algorithm 4, math ", peer["ways"][0]["implementation"])
        row, peer, said = self.device_row("--dtype", "f16", **whole)
        self.assertTrue(row["verified"] and peer["agrees"], said)
        self.assertEqual({way["way"] for way in peer["ways"]},
                         {"graph, fused", "graph, bn in weights", *ways_of["f16"]})
        for chain, refusal in (("bias;norm;activation(relu)", None), ("activation(relu)", None),
                               ("bias;activation(relu)", "asked for a bias behind a convolution"),
                               ("activation(relu);norm", "the ops are in no order it fuses"),
                               ("activation(tanh)", "cuDNN is not asked for activation")):
            _, peer, said = self.device_row("--dtype", "f16", "--chain", chain, tensor="2,8,4,4",
                                            **eight)
            self.assertTrue(peer.get("agrees", refusal), said)
            self.assertIn(refusal or "", peer.get("refusal", ""))

    def test_device_that_is_not_there(self):
        for command in (("run", CONV), ("tune", CONV), ("device",), ("support",),
                        ("bench", "--list", "smallest.csv")):
            said = self.run_driver(*command, "--device", "cuda:0", status=1, output="stderr",
                                   FUSEPLAN_LIB_CUDA="/nowhere/libcuda.so")
            self.assertIn("the CUDA driver could not be loaded", said)
            self.assertIn("/nowhere/libcuda.so: cannot open", said)

    def test_gpu_check_without_a_gpu(self):
        script = os.path.join(os.path.dirname(__file__), "../../scripts/gpu-check")
        build = os.path.dirname(os.path.dirname(DRIVER))
        result = subprocess.run(
            [script, "--build", build, "--out", os.path.join(self.folder.name, "out")],
            capture_output=True, text=True, timeout=60, check=False,
            env={**self.environment, "FUSEPLAN_LIB_CUDA": "/nowhere/libcuda.so"})
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("no GPU to check", result.stderr)
        self.assertIn("/nowhere/libcuda.so: cannot open", result.stderr)

    def chosen_on(self, arch):
        """The tests that gpu-check would run on a device of that architecture."""
        with open(os.path.join(self.folder.name, "device.json"), "w", encoding="utf-8") as file:
            json.dump({"arch": arch}, file, indent=1)
        program = os.path.join(os.path.dirname(DRIVER), "emulator_tests")
        steps = os.path.join(os.path.dirname(__file__), "../../scripts/lib/gpu_steps.sh")
        listed = subprocess.run(
            ["bash", "-c", '. "$1" && out=$2 && choose_suites && '
             '"$3" --gtest_list_tests --gtest_filter="$on_any_device"', "_", steps,
             self.folder.name, program],
            capture_output=True, text=True, timeout=60, check=True, env=self.environment).stdout
        suite, tests = "", set()
        for line in listed.splitlines():
            if line.startswith("  "):
                tests.add(suite + line.split()[0])
            else:
                suite = line.split()[0]
        return tests

    def test_gpu_check_leaves_out_what_the_device_lacks(self):
        ampere, hopper, blackwell = (self.chosen_on(arch) for arch in ("sm_80", "sm_90", "sm_100"))
        self.assertEqual({test.split(".")[0] for test in hopper - blackwell}, {"DeviceHopper"})
        clusters = blackwell - ampere
        self.assertIn("Ways/DeviceNorm.EveryForm/cluster", clusters)
        self.assertIn("DeviceSplitOrder.AnyOrderOfBlocks", clusters)
        self.assertTrue(any(test.startswith("All/DeviceSplit.") for test in clusters))
        self.assertTrue(all("Split" in test or test.endswith("/cluster") for test in clusters))
        self.assertIn("Ways/DeviceNorm.EveryForm/chunks", ampere)

    def dry_run(self, build):
        script = os.path.join(os.path.dirname(__file__), "../../scripts/gpu-check")
        out = os.path.join(self.folder.name, "dry")
        result = subprocess.run([script, "--emulated", "--build", build, "--out", out],
                                capture_output=True, text=True, timeout=550, check=False,
                                env=self.environment)
        with open(os.path.join(out, "gpu-check.json"), encoding="utf-8") as file:
            return result, json.load(file)

    def test_gpu_check_dry_run(self):
        """All of gpu-check, the emulator in the place of a GPU, and no doubt about that."""
        result, report = self.dry_run(os.path.dirname(os.path.dirname(DRIVER)))
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stderr.splitlines()
        self.assertIn("DRY RUN WITHOUT A GPU", lines[0])
        self.assertIn("DRY RUN WITHOUT A GPU", lines[-1])
        self.assertIs(report["emulated"], True)
        self.assertEqual({step["result"] for step in report["steps"]}, {"ok"})
        steps = [step["step"] for step in report["steps"]]
        for step in steps:
            self.assertTrue(any(line.startswith("[no GPU] " + step) for line in lines), step)
        for wanted in ("device", "kernels", "emulated_results", "example_warm_cache", "memcheck",
                       "latency_warm", "bench_vgg16_bf16_64", "bench_resnet50_nchw_f16_256"):
            self.assertIn(wanted, steps)
        self.assertEqual(len(report["bench"]), 3)
        for runs in report["bench"].values():
            self.assertTrue(all(row["verified"] for row in runs["runs"][0]["rows"]))

    def test_gpu_check_dry_run_without_programs(self):
        """Steps whose programs are missing or fail are failures, of the whole run too."""
        build = os.path.join(self.folder.name, "build")
        os.makedirs(os.path.join(build, "bin"))
        os.symlink(os.path.dirname(EMULATOR), os.path.join(build, "lib"))
        os.symlink(DRIVER, os.path.join(build, "bin", "fuseplan-driver"))
        result, report = self.dry_run(build)
        self.assertEqual(result.returncode, 1, result.stderr)
        outcomes = {step["step"]: step["result"] for step in report["steps"]}
        self.assertEqual(outcomes["device"], "ok")
        self.assertEqual(outcomes["kernels"], "the filter chooses 0")
        self.assertEqual(outcomes["example_residual_block"], "failed with 127")
        self.assertEqual(outcomes["memcheck"], "failed with 127")


if __name__ == "__main__":
    unittest.main(verbosity=1)
