// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as text of an XML document.

#include "explore/xml.hpp"

#include <gtest/gtest.h>

#include <string>

namespace thalweg::test {
namespace {

const std::string kBroken = "\xef\xbf\xbd";  // U+FFFD

TEST(Xml, WhatHasAMeaningIsEscaped) {
  EXPECT_EQ(xml::escaped("a<b>&\"c'"), "a&lt;b&gt;&amp;&quot;c&#39;");
  EXPECT_EQ(xml::escaped(""), "");
}

TEST(Xml, WhatIsNoCharacterIsReplaced) {
  EXPECT_EQ(xml::escaped("\t\n\x01"), "\t\n" + kBroken);
  EXPECT_EQ(xml::escaped("\x80"
                         "a"),
            kBroken + "a");
  EXPECT_EQ(xml::escaped("\xc3"), kBroken);
  EXPECT_EQ(xml::escaped("\xc0\xaf"), kBroken + kBroken);                // Longer than needed.
  EXPECT_EQ(xml::escaped("\xed\xa0\x80"), kBroken + kBroken + kBroken);  // A surrogate.
  EXPECT_EQ(xml::escaped("\xef\xbf\xbf"), kBroken + kBroken + kBroken);  // U+FFFF
  EXPECT_EQ(xml::escaped("\xf4\x90\x80\x80"), kBroken + kBroken + kBroken + kBroken);
  EXPECT_EQ(xml::escaped("\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\x8a"),
            "\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\x8a");
}

TEST(Xml, CharactersAreCountedAndCutWhole) {
  EXPECT_EQ(xml::count("a\xc3\xa9\xff"), 3u);
  EXPECT_EQ(xml::first("a\xc3\xa9z", 2), "a\xc3\xa9");
  EXPECT_EQ(xml::first("a", 5), "a");
  EXPECT_EQ(xml::shortened("abc", 3), "abc");
  EXPECT_EQ(xml::shortened("a\xc3\xa9zz", 3), "a\xc3\xa9\xe2\x80\xa6");
}

}  // namespace
}  // namespace thalweg::test
