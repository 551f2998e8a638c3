// SPDX-License-Identifier: Apache-2.0

#include "input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "interrupt.hpp"
#include "text.hpp"

namespace thalweg::tool {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ > STDERR_FILENO) close(number_);
  }
  int number() const noexcept { return number_; }

 private:
  const int number_;
};

Error unreadable(const std::string& path, int error) {
  return Error(ErrorKind::not_found, fmt::format("'{}' cannot be read: {}.", input_name(path),
                                                 std::generic_category().message(error)));
}

Error interruption() { return Error(ErrorKind::cancelled, "Interrupted."); }

}  // namespace

std::string input_name(const std::string& path) {
  return path == "-" ? "stdin" : on_one_line(path);
}

Result<std::string> read_input(const std::string& path, std::size_t size_max) {
  const Descriptor file(path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return interrupted() ? interruption() : unreadable(path, errno);
  std::string text;
  char part[1 << 16];
  for (;;) {
    const ssize_t length = read(file.number(), part, sizeof(part));
    if (interrupted()) return interruption();
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return unreadable(path, errno);
    if (length == 0) return text;
    text.append(part, static_cast<std::size_t>(length));
    if (text.size() > size_max)
      return Error(ErrorKind::invalid_argument,
                   fmt::format("'{}' has more than {} bytes.", input_name(path), size_max));
  }
}

}  // namespace thalweg::tool
