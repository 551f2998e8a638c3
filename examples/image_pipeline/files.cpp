// SPDX-License-Identifier: Apache-2.0

#include "image_pipeline/files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <utility>

#include "image_pipeline/stb.hpp"

namespace thalweg::examples {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::array<std::uint8_t, 8> kPngSignature{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

Error unreadable(std::string_view name, std::string_view reason) {
  return Error(ErrorKind::not_found,
               "'" + std::string(name) + "' cannot be read: " + std::string(reason) + ".");
}

Error damaged(std::string_view name, std::string_view reason) {
  return Error(ErrorKind::invalid_argument,
               "'" + std::string(name) +
                   "' is not a PNG or JPEG picture, or is damaged: " + std::string(reason) + ".");
}

std::uint32_t big_endian(Bytes four) {
  return std::uint32_t{four[0]} << 24 | std::uint32_t{four[1]} << 16 | std::uint32_t{four[2]} << 8 |
         four[3];
}

bool is_png(Bytes file) {
  return file.size() >= kPngSignature.size() &&
         std::equal(kPngSignature.begin(), kPngSignature.end(), file.begin());
}

bool is_jpeg(Bytes file) {
  return file.size() >= 3 && file[0] == 0xff && file[1] == 0xd8 && file[2] == 0xff;
}

// Whether the Huffman tables that begin at `segment`, with its length, have at most 256 codes each.
bool huffman_tables_fit(Bytes segment) {
  constexpr std::size_t kCounts = 16;
  if (segment.size() < 2) return false;
  auto left = std::int64_t{segment[0]} * 256 + segment[1] - 2;
  Bytes rest = segment.subspan(2);
  while (left > 0) {
    if (rest.size() < 1 + kCounts) return false;
    const std::uint8_t kind = rest[0];
    if (kind >> 4 > 1 || (kind & 15) > 3) return true;  // stb refuses it by itself.
    std::size_t codes = 0;
    for (const std::uint8_t count : rest.subspan(1, kCounts)) codes += count;
    if (codes > 256 || codes > rest.size() - 1 - kCounts) return false;
    rest = rest.subspan(1 + kCounts + codes);
    left -= static_cast<std::int64_t>(1 + kCounts + codes);
  }
  return true;
}

// Older versions of stb write behind their own tables when a JPEG's Huffman table claims too many
// codes. Wherever stb reads such a table, 0xff 0xc4 stands before it: each place with these bytes
// is looked at, leading comments and the like apart, in which they may stand for anything.
Result<void> check_jpeg_tables(Bytes file, std::string_view name) {
  std::size_t at = 2;
  while (file.size() - at >= 4 && file[at] == 0xff &&
         ((file[at + 1] >= 0xe0 && file[at + 1] <= 0xef) || file[at + 1] == 0xfe)) {
    const std::size_t length = std::size_t{file[at + 2]} * 256 + file[at + 3];
    if (length < 2 || length > file.size() - at - 2) break;
    at += 2 + length;
  }
  for (; at + 2 <= file.size(); ++at)
    if (file[at] == 0xff && file[at + 1] == 0xc4 && !huffman_tables_fit(file.subspan(at + 2)))
      return damaged(name, "a table in it has too many codes");
  return {};
}

std::uint32_t crc32(Bytes bytes) {
  static constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      table[i] = i;
      for (int bit = 0; bit < 8; ++bit)
        table[i] = (table[i] >> 1) ^ ((table[i] & 1) != 0 ? 0xedb88320u : 0u);
    }
    return table;
  }();
  std::uint32_t sum = ~0u;
  for (const std::uint8_t byte : bytes) sum = kTable[(sum ^ byte) & 0xff] ^ (sum >> 8);
  return ~sum;
}

// stb does not look at checksums, and a flipped bit would go unnoticed.
Result<void> check_png_chunks(Bytes file, std::string_view name) {
  constexpr std::size_t kAround = 12;  // Length, kind and checksum.
  Bytes rest = file.subspan(kPngSignature.size());
  while (rest.size() >= kAround) {
    const std::size_t length = big_endian(rest);
    if (length > rest.size() - kAround) break;
    const Bytes kind_and_data = rest.subspan(4, 4 + length);
    if (crc32(kind_and_data) != big_endian(rest.subspan(8 + length)))
      return damaged(name, "a checksum does not match");
    if (std::equal(kind_and_data.begin(), kind_and_data.begin() + 4, "IEND")) return {};
    rest = rest.subspan(kAround + length);
  }
  return damaged(name, "it ends early");
}

Result<ImageSize> claimed_size(Bytes file, std::string_view name) {
  if (file.empty()) return damaged(name, "it is empty");
  if (is_png(file)) {
    // stb refuses many sizes with few words; ours are clearer.
    constexpr std::size_t kHeaderEnd = 24;
    if (file.size() < kHeaderEnd) return damaged(name, "it ends early");
    return ImageSize{big_endian(file.subspan(16)), big_endian(file.subspan(20))};
  }
  if (!is_jpeg(file)) return damaged(name, "it starts like neither");
  THALWEG_TRY(check_jpeg_tables(file, name));
  int width = 0;
  int height = 0;
  int channels = 0;
  // The reason stb would give is of the last format it tried.
  if (stbi_info_from_memory(file.data(), static_cast<int>(file.size()), &width, &height,
                            &channels) == 0)
    return damaged(name, "its header is not whole");
  return ImageSize{static_cast<std::uint64_t>(width), static_cast<std::uint64_t>(height)};
}

}  // namespace

Result<std::vector<std::uint8_t>> read_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    return unreadable(path, error ? error.message() : "there is no such file");
  if (std::filesystem::is_directory(status)) return unreadable(path, "it is a directory");
  if (!std::filesystem::is_regular_file(status)) return unreadable(path, "it is not a file");

  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return unreadable(path, "it cannot be opened");
  const std::streamoff size = file.tellg();
  if (size < 0) return unreadable(path, "its size is not known");
  if (std::cmp_greater(size, kFileBytesMax))
    return unreadable(path, "it has " + std::to_string(size) + " bytes, and the limit is " +
                                std::to_string(kFileBytesMax));
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
  file.seekg(0);
  if (size > 0) file.read(reinterpret_cast<char*>(bytes.data()), size);
  if (!file) return unreadable(path, "reading stops early");
  return bytes;
}

Result<ImageSize> image_size(Bytes file, std::string_view name) {
  THALWEG_TRY_ASSIGN(const ImageSize size, claimed_size(file, name));
  if (size.width == 0 || size.height == 0) return damaged(name, "it has no pixels");
  if (size.width > kPixelsMax / size.height)
    return Error(ErrorKind::invalid_argument,
                 "'" + std::string(name) + "' is too large: " + std::to_string(size.width) + " x " +
                     std::to_string(size.height) + " pixels, and the limit is " +
                     std::to_string(kPixelsMax) + " pixels.");
  return size;
}

Result<ColorImage> decode(Bytes file, std::string_view name) {
  THALWEG_TRY(image_size(file, name));
  if (is_png(file)) THALWEG_TRY(check_png_chunks(file, name));
  int width = 0;
  int height = 0;
  int channels = 0;
  const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> pixels(
      stbi_load_from_memory(file.data(), static_cast<int>(file.size()), &width, &height, &channels,
                            3),
      &stbi_image_free);
  // For a JPEG, stb may give the reason why it is no PNG.
  if (!pixels)
    return damaged(name, is_png(file) ? stbi_failure_reason() : "it ends early or makes no sense");
  const auto columns = static_cast<std::uint32_t>(width);
  const auto rows = static_cast<std::uint32_t>(height);
  const std::size_t bytes = std::size_t{columns} * rows * 3;
  return ColorImage{columns, rows, {pixels.get(), pixels.get() + bytes}};
}

Result<std::vector<std::uint8_t>> encode_png(const GreyImage& image) {
  std::vector<std::uint8_t> file;
  const auto append = [](void* to, void* data, int size) {
    const auto* const bytes = static_cast<const std::uint8_t*>(data);
    static_cast<std::vector<std::uint8_t>*>(to)->assign(bytes, bytes + size);
  };
  const int width = static_cast<int>(image.width);
  if (stbi_write_png_to_func(append, &file, width, static_cast<int>(image.height), 1,
                             image.grey.data(), width) == 0)
    return Error(ErrorKind::out_of_memory, "The picture cannot be encoded as PNG.");
  return file;
}

}  // namespace thalweg::examples
