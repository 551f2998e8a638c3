// SPDX-License-Identifier: Apache-2.0
//
// The assembler puts the file into the read-only data. The build gives its path.

#include "default_image.hpp"

extern "C" {
extern const unsigned char thalweg_default_image_begin[];
extern const unsigned char thalweg_default_image_end[];
}

asm(R"(
  .pushsection .rodata
  .hidden thalweg_default_image_begin
  .hidden thalweg_default_image_end
  .global thalweg_default_image_begin
  .global thalweg_default_image_end
  .balign 16
thalweg_default_image_begin:
  .incbin ")" THALWEG_DEFAULT_IMAGE R"("
thalweg_default_image_end:
  .byte 0
  .popsection
)");

namespace thalweg::tool {

std::span<const std::uint8_t> default_image() noexcept {
  return {thalweg_default_image_begin, thalweg_default_image_end};
}

}  // namespace thalweg::tool
