// SPDX-License-Identifier: Apache-2.0

#include "output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "interrupt.hpp"

namespace thalweg::tool {
namespace {

namespace fs = std::filesystem;

Error refusal(const std::string& path, const std::string& reason) {
  return Error(ErrorKind::invalid_argument, "'" + path + "' cannot be written: " + reason + ".");
}

std::string words(int error) { return std::generic_category().message(error); }

// Beside the target, so that a rename moves nothing.
std::string temporary_name(const fs::path& target, int attempt) {
  const fs::path name = ".thalweg-" + std::to_string(getpid()) + "-" + std::to_string(attempt);
  return (target.parent_path() / name).string();
}

}  // namespace

OutputFile::OutputFile(std::string path, std::string temporary, int descriptor) noexcept
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile::~OutputFile() { discard(); }

Result<OutputFile> OutputFile::open(const std::string& path) {
  if (path.empty()) return refusal(path, "the name is empty");
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return refusal(path, "it is a directory");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return refusal(path, words(errno));
    return OutputFile(path, "", descriptor);
  }
  if (fs::exists(status) && access(path.c_str(), W_OK) != 0) return refusal(path, words(errno));

  fs::path target = fs::weakly_canonical(path, error);
  if (error) return refusal(path, error.message());
  if (!fs::path(path).has_filename()) return refusal(path, "the name is that of a folder");
  for (int attempt = 0;; ++attempt) {
    const std::string temporary = temporary_name(target, attempt);
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno == EEXIST && attempt < 100) continue;
    if (descriptor < 0) return refusal(path, words(errno));
    OutputFile file(path, temporary, descriptor);
    file.target_ = target.string();
    remove_when_killed(temporary);
    // A name that is too long shows only where it is used.
    struct stat unused;
    if (lstat(file.target_.c_str(), &unused) != 0 && errno != ENOENT)
      return refusal(path, words(errno));
    return file;
  }
}

Result<void> OutputFile::commit(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR && !interrupted()) continue;
    if (written < 0) return refusal(path_, words(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  // Some file systems report a full disk only here.
  if (!temporary_.empty() && fsync(descriptor_) != 0) return refusal(path_, words(errno));
  if (close(std::exchange(descriptor_, -1)) != 0) return refusal(path_, words(errno));
  if (temporary_.empty()) return {};
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) return refusal(path_, words(errno));
  remove_when_killed("");
  temporary_.clear();
  return {};
}

void OutputFile::discard() noexcept {
  if (descriptor_ >= 0) close(descriptor_);
  if (temporary_.empty()) return;
  unlink(temporary_.c_str());
  remove_when_killed("");
}

}  // namespace thalweg::tool
