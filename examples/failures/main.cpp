// SPDX-License-Identifier: Apache-2.0
//
// A failure goes where the data goes, and nowhere else.
//
//   stream a   load x (throws)        x is bad
//   stream b   y += x  (skipped)      y is bad, because of the load, by way of this task
//   stream b   z *= 2                 nothing to do with it: done
//
// Whoever reads y is told of the load; writing y makes it good again.

#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "thalweg/thalweg.hpp"

using namespace thalweg;

int main() {
  const Device device = must(Device::open("cpu"));
  const Stream a = must(Stream::create(device, {.name = "a"}));
  const Stream b = must(Stream::create(device, {.name = "b"}));
  const auto x = must(Array<float>::create(a, 4));
  const auto y = must(b.upload(std::vector<float>(4, 1)));
  const auto z = must(b.upload(std::vector<float>(4, 3)));

  const auto load =
      kernel("load", [](Cell, Out<float>) { throw std::runtime_error("there is no file `x`"); });
  const auto add = kernel("add", [](Cell i, std::span<float> to, std::span<const float> from) {
    to[i.x] += from[i.x];
  });
  const auto twice = kernel("twice", [](Cell i, std::span<float> v) { v[i.x] *= 2; });

  // All of it is accepted: what goes wrong later is a failure of the bytes.
  must(a.launch(load, 1, x));
  must(b.launch(add, 4, y, x));
  must(b.launch(twice, 4, z));

  const bool z_good = must(b.read(z).get()) == std::vector<float>(4, 6);
  const Result<std::vector<float>> read = b.read(y).get();
  if (!read) std::printf("%s\n", read.error().to_string().c_str());
  std::printf("%zu failure lives\n", device.failures().size());

  must(a.fill(x, 0.0F));
  must(b.fill(y, 0.0F));
  const bool y_good = must(b.read(y).get()) == std::vector<float>(4, 0);
  must(device.synchronize());
  std::printf("%zu failures live\n", device.failures().size());
  return z_good && !read && y_good && device.failures().empty() ? 0 : 1;
}
