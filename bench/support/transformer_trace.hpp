// SPDX-License-Identifier: Apache-2.0
//
// support/transformer_trace.hpp - what training a transformer reserves and gives back.
//
// Weights and the state of the optimiser once. Then for each step a pass forwards, which keeps
// activations and gives temporaries back at once; a pass backwards with gradients of the
// activations, workspaces, and gradients of the weights; and the update, which drops those. The
// same options give the same trace on every machine.

#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

namespace thalweg::bench {

struct TraceOptions {
  std::uint64_t layers = 48;
  std::uint64_t steps = 20;
  std::uint64_t width = 1600;
  std::uint64_t heads = 25;
  std::uint64_t batch = 8;
  std::uint64_t length = 1024;  // Tokens a sequence; with `variable` the most.
  std::uint64_t streams = 1;
  bool variable = false;  // Another length in each step.
  std::uint64_t seed = 1;
};

// A block is reserved, or given back. Blocks have numbers from 0 up.
struct TraceStep {
  std::uint32_t block = 0;
  std::uint32_t stream = 0;
  std::uint64_t size_bytes = 0;
  bool taken = false;
};

std::vector<TraceStep> transformer_trace(const TraceOptions& options);

// As RMM's logging adaptor writes it: Thread,Time,Action,Pointer,Size,Stream.
void print_csv(const std::vector<TraceStep>& trace, std::FILE* file);

}  // namespace thalweg::bench
