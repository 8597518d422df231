// SPDX-License-Identifier: MIT

/// LeakSanitizer asks for this by name. LLVM's OpenMP runtime loses sight of a block for each of
/// its threads. Hidden with these is what tasks of a loop on such threads would leak, since it is
/// allocated below the same library.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions() {
  return "leak:libomp.so\n";
}

extern "C" [[gnu::visibility("default")]] const char* __lsan_default_options() {
  return "print_suppressions=0";
}
