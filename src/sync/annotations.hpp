// SPDX-License-Identifier: Apache-2.0
//
// sync/annotations.hpp - Clang's thread safety attributes under short names.

#pragma once

#if defined(__clang__)
#define THALWEG_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define THALWEG_THREAD_ATTRIBUTE(x)
#endif

#define THALWEG_CAPABILITY(name) THALWEG_THREAD_ATTRIBUTE(capability(name))
#define THALWEG_SCOPED_CAPABILITY THALWEG_THREAD_ATTRIBUTE(scoped_lockable)
#define THALWEG_GUARDED_BY(lock) THALWEG_THREAD_ATTRIBUTE(guarded_by(lock))
#define THALWEG_REQUIRES(...) THALWEG_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define THALWEG_ACQUIRE(...) THALWEG_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define THALWEG_RELEASE(...) THALWEG_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define THALWEG_UNCHECKED THALWEG_THREAD_ATTRIBUTE(no_thread_safety_analysis)
