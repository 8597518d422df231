// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/cpu/matrix/plan.hpp"

namespace fuseplan::cpu {

/// Output pixels of one image, group and plane, or of several images, whose input is staged
/// together.
struct MatrixWindow {
  std::int64_t image = 0, images = 1, group = 0, plane = 0;
  std::int64_t row = 0, rows = 0, column = 0, columns = 0;
  bool operator==(const MatrixWindow&) const = default;
};

/// The units of a launch in the order they are walked. A unit is a window with one tile of output
/// channels; a window's units follow one another, so that its input is staged once. Where all
/// weights stay near, so do the windows of all groups over the same pixels: those lie in the same
/// lines of memory.
class MatrixSchedule {
 public:
  /// `weights_are_raw`: windows stay whole, so that each tile of channels is packed once.
  MatrixSchedule(const MatrixPlan& plan, int threads, bool weights_are_raw = false);

  int parts() const { return parts_; }
  /// First unit of a part; parts are nearly equal in products. first(parts()) is the end.
  std::int64_t first(int part) const;
  std::int64_t windows() const { return planes() * windows_per_plane() * groups_together_; }
  std::int64_t units() const { return windows() * plan_.tiles_of_channels; }
  MatrixWindow window(std::int64_t unit) const;
  std::int64_t channel_tile(std::int64_t unit) const { return unit % plan_.tiles_of_channels; }

 private:
  void cut(std::int64_t rows, std::int64_t columns);
  void cut_images(std::int64_t images);
  /// Planes of images that share windows are one, and so are those of groups that lie together.
  std::int64_t planes() const;
  /// Of each group.
  std::int64_t windows_per_plane() const { return image_windows_ * row_windows_ * column_windows_; }
  void avoid_shared_windows();
  std::int64_t strips() const;  ///< in which a plane's columns are dealt to windows
  MatrixWindow window_of_plane(std::int64_t index) const;  ///< of the first plane

  const MatrixPlan& plan_;
  std::int64_t groups_together_ = 1;
  std::int64_t images_ = 1, image_windows_ = 1;
  std::int64_t rows_ = 0, row_windows_ = 0;
  std::int64_t columns_ = 0, column_windows_ = 0;
  int parts_ = 1;
};

}  // namespace fuseplan::cpu
