// SPDX-License-Identifier: Apache-2.0

#include "base/thrown.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <typeinfo>

#include "thalweg/base/error.hpp"

namespace thalweg {
namespace {

std::string type_name(const std::type_info& type) {
  int status = 0;
  char* const plain = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string text = status == 0 ? plain : type.name();
  std::free(plain);
  return text;
}

}  // namespace

std::string thrown_words() {
  try {
    throw;
  } catch (const std::exception& thrown) {
    const char* const text = thrown.what();
    return fmt::format("{}: {}", type_name(typeid(thrown)), text != nullptr ? text : "no text");
  } catch (const Error& error) {
    return fmt::format("thalweg::Error: {}: {}", name(error.kind()), error.message());
  } catch (...) {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    if (type == nullptr) return "something that is no std::exception";
    return fmt::format("{}, which is no std::exception", type_name(*type));
  }
}

}  // namespace thalweg
