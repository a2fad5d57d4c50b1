//! YAML text as a tree that remembers where everything stood, so that every error can name line and column.
