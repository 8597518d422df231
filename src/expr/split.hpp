// SPDX-License-Identifier: MIT
#pragma once

#include "expr/chain.hpp"

namespace fuseplan {

/// Cuts the chain's expression where the rate changes. Equal results become one root. Constants
/// stay where they are used; every other slower value, even a bare parameter, becomes a root of the
/// part it belongs to, so that conversion and padding of parameters happen in one place.
SplitChain split(const Chain& chain);

}  // namespace fuseplan
