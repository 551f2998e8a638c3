// SPDX-License-Identifier: Apache-2.0
//
// Finds a bug in the order of tasks, and shows that the repaired program has none.
//
// A library of somebody else's scales an array by itself: it enqueues its work on a raw queue, and
// thalweg does not learn of it. Another stream reads the array. On most days that works: the
// explorer tries the other days.
//
// A call that fails inside a program that is explored ends that run, and is a finding as well:
// must() throws there. Around explore() it ends the process.

#include <thalweg/explore.hpp>
#include <thalweg/thalweg.hpp>

#include <cstdio>
#include <vector>

namespace {

using namespace thalweg;
using Values = Array<float>;

// The other library. It knows queues and addresses, and nothing of streams and arrays.
void vendor_scale(NativeHandle queue, NativeBytes bytes, float by) {
  auto* const first = reinterpret_cast<float*>(bytes.address);
  const std::uint64_t count = bytes.size_bytes / sizeof(float);
  must(enqueue_raw(queue, "vendor_scale", [first, count, by] {
    for (std::uint64_t i = 0; i != count; ++i) first[i] *= by;
  }));
}

// Where the array lies, as a library of somebody else's is told once.
NativeBytes address_of(const Stream& stream, const Values& values) {
  NativeBytes found;
  must(stream.native({orders(values)}, [&found](NativeHandle, std::span<const NativeBytes> bytes) {
    found = bytes[0];
  }));
  must(stream.synchronize());
  return found;
}

// Wrong: the read waits for the upload, and nobody told it of the library's work.
void undeclared(ExploreRun& run) {
  const Stream compute = must(Stream::create(run.device()));
  const Stream copies = must(Stream::create(run.device()));
  const Values values = must(compute.upload(std::vector<float>{1, 2, 3}));
  const NativeBytes bytes = address_of(compute, values);
  vendor_scale(compute.raw(), bytes, 2);
  const std::vector<float> seen = must(copies.read(values).get());
  run.check(seen[0] == 2, "what was read is scaled");
}

// Right: the work is a task, which says what it touches.
void declared(ExploreRun& run) {
  const Stream compute = must(Stream::create(run.device()));
  const Stream copies = must(Stream::create(run.device()));
  const Values values = must(compute.upload(std::vector<float>{1, 2, 3}));
  must(
      compute.native({updates(values)}, [](NativeHandle queue, std::span<const NativeBytes> bytes) {
        vendor_scale(queue, bytes[0], 2);
      }));
  const std::vector<float> seen = must(copies.read(values).get());
  run.check(seen[0] == 2, "what was read is scaled");
}

}  // namespace

int main() {
  const Exploration wrong = must(explore({}, undeclared));
  std::printf("Undeclared work:\n%s\n", wrong.report().c_str());
  const Exploration right = must(explore({}, declared));
  std::printf("Declared:\n%s", right.report().c_str());
  return !wrong.findings.empty() && right.findings.empty() && right.complete ? 0 : 1;
}
