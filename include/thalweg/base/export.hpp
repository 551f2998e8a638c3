// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/export.hpp - marks what a shared library shows.

#pragma once

#if defined(THALWEG_SHARED) || defined(THALWEG_BUILDING)
#define THALWEG_EXPORT [[gnu::visibility("default")]]
#else
#define THALWEG_EXPORT
#endif
