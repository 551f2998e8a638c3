// SPDX-License-Identifier: Apache-2.0
//
// The first program: an array goes to a device, is scaled there, and comes back.

#include <thalweg/thalweg.hpp>

#include <cstdio>

int main() {
  using namespace thalweg;
  auto device = must(Device::open("cpu"));
  auto stream = must(Stream::create(device));
  auto scale = kernel("scale", [](Cell i, std::span<float> v, float by) { v[i.x] *= by; });
  auto v = must(stream.upload(std::vector<float>(1024, 2.0f)));
  must(stream.launch(scale, 1024, v, 3.0f));
  std::printf("%g\n", must(stream.read(v).get())[7]);  // 6
}
