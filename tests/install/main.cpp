// SPDX-License-Identifier: Apache-2.0
//
// What a first program needs of an installed thalweg: headers, symbols, and a device that computes.

#include <cstdio>
#include <span>
#include <vector>

#include <thalweg/thalweg.hpp>

int main() {
  using namespace thalweg;
  auto device = must(Device::open("cpu"));
  auto stream = must(Stream::create(device));
  auto scale = kernel("scale", [](Cell i, std::span<float> v, float by) { v[i.x] *= by; });
  auto v = must(stream.upload(std::vector<float>(1024, 2.0f)));
  must(stream.launch(scale, 1024, v, 3.0f));
  const float seventh = must(stream.read(v).get())[7];
  std::printf("%g\n", seventh);
  return seventh == 6.0f ? 0 : 1;
}
