// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline/stb.hpp - the stb libraries, with the two formats we read and nothing of stdio.

#pragma once

// NOLINTBEGIN
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_NO_STDIO
#define STBI_FAILURE_USERMSG
#define STBI_WRITE_NO_STDIO
// NOLINTEND

#include <stb/stb_image.h>
#include <stb/stb_image_write.h>
