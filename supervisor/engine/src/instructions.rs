//! The text an agent is given (spec `agents-and-runtimes` 6).
