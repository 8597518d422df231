/* SPDX-License-Identifier: MIT */
/* The header as strict C99, and the address of every function it declares: one that is declared and
 * not exported does not link. */
#include <fuseplan/fuseplan.h>
#include <stdio.h>

typedef void (*Function)(void);

static const Function functions[] = {
#define FUSEPLAN_DECLARED(name) (Function) name,
#include "declared_functions.inc"
#undef FUSEPLAN_DECLARED
};

int main(void) {
  const size_t count = sizeof functions / sizeof functions[0];
  size_t i;
  for (i = 0; i < count; ++i) {
    if (functions[i] == NULL) return 1;
  }
  printf("%u functions\n", (unsigned)count);
  return count > 80 ? 0 : 1;
}
