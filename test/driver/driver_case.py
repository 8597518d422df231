# SPDX-License-Identifier: MIT
"""Runs the driver as a user does, in a folder and with a cache of the test's own."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HAS_ONEDNN = sys.argv.pop() == "with-onednn"
FAKE_CUDNN = sys.argv.pop()
EMULATOR = sys.argv.pop()
DRIVER = os.path.abspath(sys.argv.pop())
CONV = ("f32:1x16x12x12:nchw;conv(f32:24x16x3x3,pad=1x1);bias(f32:1x24x1x1);"
        "norm(spatial,f32:1x24x1x1);activation(relu)")


class DriverCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith("FUSEPLAN_")}
        self.environment["FUSEPLAN_CACHE_DIR"] = os.path.join(self.folder.name, "cache")
        # Beside other tests threads of one measurement would wait for each other; --threads decides.
        self.environment["OMP_NUM_THREADS"] = "1"

    def tearDown(self):
        self.folder.cleanup()

    def run_driver(self, *arguments, status=0, output="stdout", **environment):
        result = subprocess.run([DRIVER, *arguments], capture_output=True, text=True, timeout=300,
                                cwd=self.folder.name, check=False,
                                env={**self.environment, **environment})
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return getattr(result, output)

    def run_json(self, *arguments, **keywords):
        return json.loads(self.run_driver(*arguments, "--json", **keywords))
