//! The order of changes inside a phase: duplicates, unknown references and cycles are refused
//! (spec `batch-manifest-and-settings` 2.3).
