// SPDX-License-Identifier: Apache-2.0
//
// thalweg/thalweg.hpp - everything a program needs.

#pragma once

#include "thalweg/backends.hpp"
#include "thalweg/base/log.hpp"
#include "thalweg/base/result.hpp"
#include "thalweg/base/virtual_clock.hpp"
#include "thalweg/buffer.hpp"
#include "thalweg/device.hpp"
#include "thalweg/event.hpp"
#include "thalweg/future.hpp"
#include "thalweg/host_array.hpp"
#include "thalweg/indirect.hpp"
#include "thalweg/kernel.hpp"
#include "thalweg/map.hpp"
#include "thalweg/span2d.hpp"
#include "thalweg/statistics.hpp"
#include "thalweg/stream.hpp"
#include "thalweg/stream_pool.hpp"
#include "thalweg/task.hpp"
#include "thalweg/timeline.hpp"
#include "thalweg/view2d.hpp"
#include "thalweg/waits.hpp"
