// SPDX-License-Identifier: MIT

/// AddressSanitizer asks for this by name. Its leak checker wants to know where the thread-local
/// variables of opened libraries lie, here those of the stand-in, and takes a block for one of an
/// old C library when its address ends in 010 (hexadecimal): it then reads what it takes for
/// addresses out of the allocator's header in front of it. GCC 12's does so; such variables own
/// nothing that outlives them, and need no search.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options() {
  return "intercept_tls_get_addr=0";
}
