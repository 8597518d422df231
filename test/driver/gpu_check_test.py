#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gpu_check_test.py <driver> <emulator>: scripts/gpu-check on a machine without a GPU."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

EMULATOR = sys.argv.pop()
DRIVER = sys.argv.pop()
SCRIPT = os.path.join(os.path.dirname(__file__), "../../scripts/gpu-check")


class GpuCheck(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith("FUSEPLAN_")}

    def test_gpu_check_without_a_gpu(self):
        build = os.path.dirname(os.path.dirname(DRIVER))
        result = subprocess.run(
            [SCRIPT, "--build", build, "--out", os.path.join(self.folder.name, "out")],
            capture_output=True, text=True, timeout=60, check=False,
            env={**self.environment, "FUSEPLAN_LIB_CUDA": "/nowhere/libcuda.so"})
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("no GPU to check", result.stderr)
        self.assertIn("/nowhere/libcuda.so: cannot open", result.stderr)

    def dry_run(self, build):
        out = os.path.join(self.folder.name, "dry")
        result = subprocess.run([SCRIPT, "--emulated", "--build", build, "--out", out],
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
        for wanted in ("device", "kernels", "emulated_results", "example_residual_block", "memcheck",
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
