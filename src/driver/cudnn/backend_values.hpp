// SPDX-License-Identifier: MIT
#pragma once

namespace fuseplan::driver {

// Values of the enumerations of cuDNN 9's graph API, as far as they are used here. They are part of
// its binary interface.

enum class CudnnObjectKind : int {
  pointwise = 0,
  convolution = 1,
  engine = 2,
  engine_config = 3,
  heuristics = 4,
  plan = 5,
  knob_choice = 7,
  convolution_forward = 10,
  pointwise_operation = 13,
  operation_graph = 15,
  variant_pack = 16,
  tensor = 17,
  device = 38
};

enum class CudnnAttribute : int {
  pointwise_mode = 0,
  pointwise_precision = 1,
  relu_lower_clip = 3,
  relu_upper_clip = 4,
  relu_lower_slope = 5,
  elu_alpha = 6,
  softplus_beta = 7,
  swish_beta = 8,
  convolution_precision = 100,
  convolution_mode = 101,
  convolution_dilations = 102,
  convolution_strides = 103,
  convolution_post_paddings = 104,
  convolution_pre_paddings = 105,
  convolution_axes = 106,
  heuristics_mode = 200,
  heuristics_graph = 201,
  heuristics_results = 202,
  heuristics_device = 204,
  config_engine = 300,
  config_knobs = 302,
  plan_handle = 400,
  plan_config = 401,
  plan_workspace = 402,
  plan_json = 405,
  plan_device = 407,
  knob_type = 600,
  knob_value = 601,
  forward_alpha = 700,
  forward_beta = 701,
  forward_convolution = 702,
  forward_w = 703,
  forward_x = 704,
  forward_y = 705,
  operation_pointwise = 750,
  operation_x = 751,
  operation_b = 752,
  operation_y = 753,
  graph_handle = 800,
  graph_operations = 801,
  tensor_alignment = 900,
  tensor_type = 901,
  tensor_lens = 902,
  tensor_strides = 903,
  tensor_id = 906,
  tensor_is_virtual = 907,
  pack_ids = 1000,
  pack_pointers = 1001,
  pack_workspace = 1003,
  engine_index = 1301,
  engine_numerics = 1303,
  engine_behaviour = 1305,
  device_json = 2702
};

/// What an attribute's elements are.
enum class CudnnElement : int {
  handle = 0,
  data_type = 1,
  boolean = 2,
  int64 = 3,
  float32 = 4,
  float64 = 5,
  pointer = 6,
  convolution_mode = 7,
  heuristics_mode = 8,
  knob_type = 9,
  numerical_note = 11,
  pointwise_mode = 14,
  descriptor = 15,
  behaviour_note = 19,
  character = 24
};

enum class CudnnPointwise : int {
  add = 0,
  mul = 1,
  abs = 10,
  identity = 21,
  relu = 100,
  tanh = 101,
  sigmoid = 102,
  elu = 103,
  gelu = 104,
  softplus = 105,
  swish = 106,
  gelu_tanh = 107
};

enum class CudnnHeuristics : int { instant = 0, fallback = 2, a = 3 };

/// What an engine says of its numbers and of its making.
enum class CudnnNumericalNote : int { tensor_core = 0, rounds_inputs = 1 };
enum class CudnnBehaviourNote : int { compiled_at_run_time = 0 };

}  // namespace fuseplan::driver
