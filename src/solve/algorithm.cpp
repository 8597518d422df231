// SPDX-License-Identifier: MIT
#include "solve/algorithm.hpp"

namespace fuseplan {

const char* name_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::none:
      return "none";
    case Algorithm::gemm:
      return "gemm";
    case Algorithm::direct:
      return "direct";
    case Algorithm::fft:
      return "fft";
    case Algorithm::winograd:
      return "winograd";
    case Algorithm::implicit_gemm:
      return "implicit_gemm";
  }
  return nullptr;
}

}  // namespace fuseplan
