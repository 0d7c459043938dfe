// The program's two voices. Notes for people go to stderr, and a stderr that is closed or full is
// no second failure; results go to stdout, and one that is lost is an error. Used by comm, engine
// and engine/cli.
#pragma once

#include <string>

namespace annulus {

void note(const std::string& text);  // as it is: the caller ends its lines

// "annulus: MESSAGE", to stderr, in one line; red on a terminal.
void report_error(const std::string& message);

// A line, flushed at once: a log collector must see it now, and a full disk must not pass unseen.
// Throws UserError (storage).
void print_line(const std::string& line);

// First thing in main: descriptors 0 to 2 that are closed lead to /dev/null, so that no file,
// socket or device memory gets their numbers; a write beyond a file-size limit, or to a pipe that
// nobody reads, is an error, not a signal.
void keep_standard_streams();

}  // namespace annulus
