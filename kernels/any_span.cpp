// See any_span.h.
#include "kernels/any_span.h"

#include <fmt/format.h>

#include "kernels/check.h"

namespace annulus {

void require_element(Element element, std::initializer_list<AnyInput> arrays, const char* caller) {
  for (const AnyInput& array : arrays)
    if (array.element != element)
      throw DeviceError(fmt::format("{}: an array holds {}, the plan is for {}", caller,
                                    name_of(array.element), name_of(element)));
}

}  // namespace annulus
