// Text from files and folder names as a terminal and an XML document can take it. Called by
// engine/runs and engine/k8s for whatever they show.
#pragma once

#include <string>
#include <string_view>

namespace annulus {

// `text` as UTF-8 without control characters; each byte or character that is not fit becomes
// U+FFFD.
std::string terminal_text(std::string_view text);

// At most `most` characters of it, the last of them an ellipsis where some are left out.
std::string shortened(const std::string& text, std::size_t most);

std::size_t character_count(std::string_view utf8);

}  // namespace annulus
