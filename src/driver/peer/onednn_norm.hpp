// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "driver/peer/onednn_call.hpp"

namespace fuseplan::driver {

/// Batchnorm inference by the primitive of that name, in the layout of `from` and `to`.
void add_norm(OnednnWay& way, const test::BatchNorm& norm, const dnnl::memory& from,
              const dnnl::memory& to, bool fused_relu = false, const PostOps& post_ops = {});

/// One link of a chain by a primitive of its own, the others behind it as its post-ops.
void add_links(OnednnWay& way, const Chain& chain, const dnnl::memory& from,
               const dnnl::memory& to);

/// Ways of a problem without convolution.
PeerWays onednn_norm_ways(Case& problem);
/// Makes what the first of them runs.
void create_onednn_norm(Case& problem);

}  // namespace fuseplan::driver
