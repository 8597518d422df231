// SPDX-License-Identifier: MIT
#pragma once

#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/container/static_vector.hpp>
#include <cstdint>

namespace fuseplan {

template <typename T, std::size_t N>
using SmallVector = boost::container::small_vector<T, N>;
template <typename T, std::size_t N>
using StaticVector = boost::container::static_vector<T, N>;
template <typename K, typename V, std::size_t N>
using SmallMap = boost::container::small_flat_map<K, V, N>;
template <typename K, typename V>
using FlatMap = boost::container::flat_map<K, V>;

/// Highest tensor rank: N, C, D, H, W.
inline constexpr int kMaxRank = 5;

/// Lengths, strides or paddings of one tensor, in N, C, [D,] H, W order.
using Dims = StaticVector<std::int64_t, kMaxRank>;

}  // namespace fuseplan
